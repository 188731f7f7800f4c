// SPDX-License-Identifier: BSD-3-Clause
//
// messages.cpp - see messages.hpp. Everything counts for the open MPI call of the thread.
#include "sources/scorep/messages.hpp"

#include <atomic>

#include "recorder/source.h"
#include "sources/scorep/advice.hpp"
#include "sources/scorep/calls.hpp"
#include "sources/scorep/thread.hpp"

namespace perfield::scorep {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

// --- peers --------------------------------------------------------------------------------------
std::atomic<Handle> world{0};  // 0: not known
std::atomic<bool> is_initializing{false};

int32_t peer_of(int rank, Handle communicator) noexcept {
  const Handle known = world.load(relaxed);
  if (known && communicator == known) return rank;
  advise_wrappers();
  return kPeerUnknown;
}

// --- what the open call of the thread did -------------------------------------------------------
bool counts(Location* location) noexcept {
  return open_call.is_open && open_call.stamp && is_own(location);
}

void count_sent(perfield_call otherwise, int32_t peer, uint64_t bytes) noexcept {
  perfield_message(kMessageCalls.has[open_call.kind] ? open_call.kind : otherwise, peer, bytes);
}

void send(Location* location, uint64_t, int target, Handle communicator, uint32_t, uint64_t bytes) {
  if (counts(location)) count_sent(PERFIELD_CALL_send, peer_of(target, communicator), bytes);
}

void isend(Location* location, uint64_t, int target, Handle communicator, uint32_t, uint64_t bytes,
           uint64_t) {
  if (counts(location)) count_sent(PERFIELD_CALL_isend, peer_of(target, communicator), bytes);
}

void receive(Location* location, uint64_t, int source, Handle communicator, uint32_t,
             uint64_t bytes) {
  if (counts(location)) perfield_message(PERFIELD_CALL_recv, peer_of(source, communicator), bytes);
}

// Comes when the request is complete, inside a call that waits or tests.
void ireceive(Location* location, uint64_t, int source, Handle communicator, uint32_t,
              uint64_t bytes, uint64_t) {
  if (counts(location)) perfield_message(PERFIELD_CALL_recv, peer_of(source, communicator), bytes);
}

// Score-P reports copies to and from devices by the same events, at any time.
void transfer(Location* location, uint64_t bytes) noexcept {
  if (!counts(location) || !kMessageCalls.has[open_call.kind] ||
      kTimeClassOfCall.of[open_call.kind] != PERFIELD_CLASS_onesided)
    return;
  advise_wrappers();
  perfield_message(open_call.kind, kPeerUnknown, bytes);
}

void put_or_get(Location* location, uint64_t, Handle, uint32_t, uint64_t bytes, uint64_t) {
  transfer(location, bytes);
}

void change(Location* location, uint64_t, Handle, uint32_t, uint32_t, uint64_t bytes_sent, uint64_t,
            uint64_t) {
  transfer(location, bytes_sent);
}

// --- collectives --------------------------------------------------------------------------------
void end_collective(Location* location, uint64_t, Handle communicator, int, uint32_t,
                    uint64_t bytes_sent, uint64_t bytes_received) {
  if (is_initializing.load(relaxed) && is_initializing.exchange(false))
    world.store(communicator, relaxed);  // the collective that ends MPI_Init
  if (!counts(location)) return;
  open_call.bytes_out += bytes_sent;
  open_call.bytes_in += bytes_received;
}

// The non-blocking form of each of Score-P's collective types, in Score-P's order.
constexpr perfield_call kNonBlocking[] = {
    PERFIELD_CALL_ibarrier,   PERFIELD_CALL_ibcast,          PERFIELD_CALL_igather,
    PERFIELD_CALL_igatherv,   PERFIELD_CALL_iscatter,        PERFIELD_CALL_iscatterv,
    PERFIELD_CALL_iallgather, PERFIELD_CALL_iallgatherv,     PERFIELD_CALL_ialltoall,
    PERFIELD_CALL_ialltoallv, PERFIELD_CALL_ialltoallw,      PERFIELD_CALL_iallreduce,
    PERFIELD_CALL_ireduce,    PERFIELD_CALL_ireduce_scatter, PERFIELD_CALL_ireduce_scatter_block,
    PERFIELD_CALL_iscan,      PERFIELD_CALL_iexscan};

// Comes inside a call that waits or tests; the collective call itself was counted before.
void complete_collective(Location* location, uint64_t, Handle, int, uint32_t type,
                         uint64_t bytes_sent, uint64_t bytes_received, uint64_t) {
  if (counts(location) && type < sizeof kNonBlocking / sizeof *kNonBlocking)
    perfield_call_moved(kNonBlocking[type], bytes_sent, bytes_received);
}

}  // namespace

void initializing() noexcept { is_initializing.store(true, relaxed); }

void initialized() noexcept {
  if (is_initializing.load(relaxed)) is_initializing.store(false, relaxed);
}

void set_message_events(Event* events) noexcept {
  set(events, kMpiSend, send);
  set(events, kMpiReceive, receive);
  set(events, kMpiCollectiveEnd, end_collective);
  set(events, kMpiIsend, isend);
  set(events, kMpiIreceive, ireceive);
  set(events, kRmaPut, put_or_get);
  set(events, kRmaGet, put_or_get);
  set(events, kRmaAtomic, change);
  set(events, kMpiCollectiveComplete, complete_collective);
}

}  // namespace perfield::scorep
