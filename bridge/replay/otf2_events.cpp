// SPDX-License-Identifier: BSD-3-Clause
//
// otf2_events.cpp - see otf2_events.hpp. An exception must not cross the C library. When memory
// runs out, reading is interrupted, and the library reports that.
#include "replay/otf2_events.hpp"

#include "replay/follower.hpp"

namespace perfield {
namespace {

using Follow = Follower*;

template <class Event>
int guarded(Event event) noexcept {
  constexpr int success = 0, interrupt = 1;  // OTF2_CALLBACK_SUCCESS, ..._INTERRUPT
  try {
    event();
    return success;
  } catch (...) {
    return interrupt;
  }
}

// The arguments of each event after location, time, userData and attributes.
int enter(uint64_t location, uint64_t time, Follow f, void*, uint32_t region) noexcept {
  return guarded([&] { f->enter(location, time, region); });
}
int leave(uint64_t location, uint64_t time, Follow f, void*, uint32_t region) noexcept {
  return guarded([&] { f->leave(location, time, region); });
}
int enter_context(uint64_t location, uint64_t time, Follow f, void*, uint32_t context,
                  uint32_t) noexcept {
  return guarded([&] { f->enter_context(location, time, context); });
}
int leave_context(uint64_t location, uint64_t time, Follow f, void*, uint32_t context) noexcept {
  return guarded([&] { f->leave_context(location, time, context); });
}

int send(uint64_t location, uint64_t time, Follow f, void*, uint32_t receiver, uint32_t comm,
         uint32_t, uint64_t bytes) noexcept {
  return guarded([&] { f->sent(location, time, PERFIELD_CALL_send, comm, receiver, bytes); });
}
int isend(uint64_t location, uint64_t time, Follow f, void*, uint32_t receiver, uint32_t comm,
          uint32_t, uint64_t bytes, uint64_t) noexcept {
  return guarded([&] { f->sent(location, time, PERFIELD_CALL_isend, comm, receiver, bytes); });
}
int receive(uint64_t location, uint64_t time, Follow f, void*, uint32_t sender, uint32_t comm,
            uint32_t, uint64_t bytes) noexcept {
  return guarded([&] { f->received(location, time, comm, sender, bytes); });
}
int ireceive(uint64_t location, uint64_t time, Follow f, void*, uint32_t sender, uint32_t comm,
             uint32_t, uint64_t bytes, uint64_t) noexcept {
  return guarded([&] { f->received(location, time, comm, sender, bytes); });
}

int collective(uint64_t location, uint64_t time, Follow f, void*, uint8_t, uint32_t, uint32_t,
               uint64_t sent, uint64_t received) noexcept {
  return guarded([&] { f->collective(location, time, sent, received); });
}
int start_collective(uint64_t location, uint64_t time, Follow f, void*, uint64_t request) noexcept {
  return guarded([&] { f->start_collective(location, time, request); });
}
int end_collective(uint64_t location, uint64_t time, Follow f, void*, uint8_t, uint32_t, uint32_t,
                   uint64_t sent, uint64_t received, uint64_t request) noexcept {
  return guarded([&] { f->end_collective(location, time, sent, received, request); });
}

int put_or_get(uint64_t location, uint64_t time, Follow f, void*, uint32_t window, uint32_t remote,
               uint64_t bytes, uint64_t) noexcept {
  return guarded([&] { f->transfer(location, time, window, remote, bytes); });
}
int change(uint64_t location, uint64_t time, Follow f, void*, uint32_t window, uint32_t remote,
           uint8_t, uint64_t sent, uint64_t, uint64_t) noexcept {
  return guarded([&] { f->transfer(location, time, window, remote, sent); });
}

int begin_file(uint64_t location, uint64_t time, Follow f, void*, uint32_t handle, uint8_t mode,
               uint32_t, uint64_t, uint64_t matching) noexcept {
  return guarded([&] { f->begin_file(location, time, handle, mode, matching); });
}
int issue_file(uint64_t location, uint64_t time, Follow f, void*, uint32_t handle,
               uint64_t matching) noexcept {
  return guarded([&] { f->issue_file(location, time, handle, matching); });
}
int end_file(uint64_t location, uint64_t time, Follow f, void*, uint32_t handle, uint64_t bytes,
             uint64_t matching) noexcept {
  return guarded([&] { f->end_file(location, time, handle, bytes, matching); });
}
int cancel_file(uint64_t location, uint64_t time, Follow f, void*, uint32_t handle,
                uint64_t matching) noexcept {
  return guarded([&] { f->end_file(location, time, handle, 0, matching); });
}

int record(uint64_t location, uint64_t time, Follow f, void*, uint8_t mode) noexcept {
  constexpr uint8_t off = 2;
  return guarded([&] { f->record(location, time, mode != off); });
}
int flush(uint64_t location, uint64_t time, Follow f, void*, uint64_t until) noexcept {
  return guarded([&] { f->flush(location, time, until); });
}
int metric(uint64_t location, uint64_t time, Follow f, void*, uint32_t metric, uint8_t n,
           const uint8_t*, const uint64_t* values) noexcept {
  return guarded([&] { f->metric(location, time, metric, values, n); });
}
int program(uint64_t location, uint64_t time, Follow f, void*, uint32_t name, uint32_t n,
            const uint32_t* arguments) noexcept {
  return guarded([&] { f->program(location, time, name, arguments, n); });
}

template <class Function>
Otf2Event event(const char* name, Function* function) noexcept {
  return {name, reinterpret_cast<Otf2Callback>(function)};
}

}  // namespace

Otf2Events otf2_events() noexcept {
  static const Otf2Event events[] = {
      event("Enter", enter),
      event("Leave", leave),
      event("CallingContextEnter", enter_context),
      event("CallingContextLeave", leave_context),
      event("MpiSend", send),
      event("MpiIsend", isend),
      event("MpiRecv", receive),
      event("MpiIrecv", ireceive),  // when it is complete
      event("MpiCollectiveEnd", collective),
      event("NonBlockingCollectiveRequest", start_collective),
      event("NonBlockingCollectiveComplete", end_collective),
      event("RmaPut", put_or_get),
      event("RmaGet", put_or_get),
      event("RmaAtomic", change),
      event("IoOperationBegin", begin_file),
      event("IoOperationIssued", issue_file),
      event("IoOperationComplete", end_file),
      event("IoOperationCancelled", cancel_file),
      event("MeasurementOnOff", record),
      event("BufferFlush", flush),
      event("Metric", metric),
      event("ProgramBegin", program),
  };
  return {events, int(sizeof events / sizeof *events)};
}

}  // namespace perfield
