// SPDX-License-Identifier: BSD-3-Clause
//
// events.cpp - counting MPI calls, messages and quantities: the hot path of every source. Runs on
// the thread that makes the call; see source.h.
#include <algorithm>

#include "recorder/recorder.hpp"
#include "recorder/source.h"

using perfield::Activity;
using perfield::EventKind;
using perfield::Message;
using perfield::recorder;
using perfield::Shard;
using perfield::this_shard;

namespace {

// This thread's shard if what the thread does now is counted; else nullptr.
inline Shard* counting_shard() noexcept {
  auto* r = perfield::the_recorder;
  if (__builtin_expect(!r || r->state() != Activity::active, 0)) return nullptr;
  Shard* s = this_shard ? this_shard : r->shard();
  return s && !s->own_work ? s : nullptr;
}

// Whether the thread is inside a call. Forgets one that an exception or longjmp has left.
inline bool is_inside_call(Shard& s, const void* frame) noexcept {
  if (!s.is_inside_call()) return false;
  if (!s.left_behind(frame)) return true;
  s.forget_call();
  return false;
}

// Entering a call before the thread has counted anything, where the processor's counter is no
// clock, or where the call may not count. Apart from the usual cases, which so stay short.
[[gnu::noinline]] perfield_entered enter_unusual(perfield_call call, const void* caller,
                                                 const void* frame) noexcept {
  auto& r = recorder();
  const bool follow = caller && r.sites.following();
  if (!follow && r.state() != Activity::active) return {0, 0};
  Shard* s = r.shard();
  if (!s || s->own_work || is_inside_call(*s, frame)) return {0, 0};
  uint64_t now = r.clock.ticks();
  const uint64_t after = follow ? r.hit_site(*s, call, caller, frame, now) : 0;
  if (r.state() != Activity::active) return {0, after};
  s->enter_call(call, caller, frame, now);
  return {now, after};
}

// Entering a call that counts while call sites are followed.
[[gnu::noinline]] perfield_entered enter_followed(Shard& s, perfield_call call, const void* caller,
                                                  const void* frame) noexcept {
  auto& r = *perfield::the_recorder;
  uint64_t now = perfield::read_counter();
  const uint64_t after = r.hit_site(s, call, caller, frame, now);
  if (__builtin_expect(r.state() != Activity::active, 0)) return {0, after};
  s.enter_call(call, caller, frame, now);
  return {now, after};
}

// Entering a call inside another one, where the call site is followed, or where that may not count.
[[gnu::noinline]] perfield_entered enter_elsewhere(Shard& s, perfield_call call, const void* caller,
                                                   const void* frame) noexcept {
  if (s.is_inside_call()) {  // as where MPI's Fortran functions call those of C
    if (!s.left_behind(frame)) return {0, 0};
  } else if (s.activity->calls.load(std::memory_order_relaxed) == Activity::followed && caller &&
             !s.own_work) {
    return enter_followed(s, call, caller, frame);
  }
  return enter_unusual(call, caller, frame);
}

[[gnu::noinline]] uint64_t read_slow_clock() noexcept { return perfield::monotonic_ns(); }

// Apart from the usual case, which so needs no room on the stack.
[[gnu::noinline]] void leave_inside(perfield_call call, uint64_t entered, uint64_t exited,
                                    uint64_t bytes_out, uint64_t bytes_in) noexcept {
  Shard* s = this_shard;
  if (!exited) exited = s->activity->by_counter ? perfield::read_counter() : read_slow_clock();
  s->leave_call(call, entered, exited, bytes_out, bytes_in);
}

[[gnu::noinline]] void unanswered_unusual(perfield_call call, uint64_t entered) noexcept {
  const uint64_t before = this_shard->polled;
  const uint64_t exited = this_shard->activity->ticks();
  leave_inside(call, entered, exited, 0, 0);
  this_shard->polled = before + perfield::growth(exited, entered);
}

uint32_t log_event(Shard& s, const perfield::LoggedEvent& event) noexcept {
  return perfield::the_recorder->log.add(s, event);
}

// The end of a send of a logged step, of another period or of another thread. Where its begin
// counts in this thread's rows, so does its end.
[[gnu::noinline]] uint64_t ended_unusual(perfield_call call, int32_t peer, uint32_t token,
                                         uint64_t wait_begin, uint64_t wait_end) noexcept {
  Shard* s = this_shard;
  if (!s || !token || s->activity->state.load(std::memory_order_relaxed) != Activity::active)
    return wait_end;
  if (!wait_end) wait_end = s->activity->ticks();
  bool own = false;
  uint32_t row = 0;
  if (token & perfield::kTokenOfRow)
    row = s->row_of(token, call, peer);
  else if (perfield::the_recorder->log.end_send(*s, token, wait_begin, wait_end, &own) && own)
    row = s->row_of_message(call, peer);
  if (row) {
    s->messages[row].add_awaited(wait_begin, wait_end);
    s->in_one_call[row].add(wait_begin);
    s->messages[row].open.add(uint32_t(-1));
  }
  return wait_end;
}

// A send of a new peer, or of a logged step.
[[gnu::noinline]] uint32_t begin_unusual(perfield_call call, int32_t peer, uint64_t bytes,
                                         uint64_t begun, perfield_message_id id) noexcept {
  Shard& s = *this_shard;
  if (!s.activity->counts_messages()) return 0;
  const uint32_t row = s.row_of_message(call, peer);
  s.add_message(s.messages[row], row, bytes, begun, id, s.activity->short_period());
  s.messages[row].open.add(1);
  s.touched_message(row);
  if (!s.activity->logs()) return s.token_of(row, s.activity->short_period());
  return log_event(
      s, {begun, 0, 0, bytes, id.channel, id.number, peer, call, uint8_t(EventKind::send), 0});
}

[[gnu::noinline]] uint64_t sent_unusual(perfield_call call, int32_t peer, uint64_t bytes,
                                        uint64_t begun, uint64_t wait_end,
                                        perfield_message_id id) noexcept {
  const uint32_t token = perfield_msg_send(call, peer, bytes, begun, id);
  return perfield_msg_send_complete(call, peer, token, begun, wait_end);
}

[[gnu::noinline]] uint64_t arrived_unusual(const perfield_msg_recv* received) noexcept {
  Shard& s = *this_shard;
  const perfield_msg_recv& a = *received;
  if (!s.activity->counts_messages()) return a.wait_end;
  const uint64_t wait_end = a.wait_end ? a.wait_end : s.activity->ticks();
  const uint32_t row = s.row_of_message(PERFIELD_CALL_recv, a.peer);
  s.messages[row].add_awaited(a.wait_begin, wait_end);
  s.add_message(s.messages[row], row, a.bytes, a.posted, a.id, s.activity->short_period());
  s.touched_message(row);
  if (a.flags & PERFIELD_RECV_BLOCKING)
    s.count_wait(a.peer, wait_end - a.wait_begin);
  else
    s.in_one_call[row].add(a.wait_begin);
  if (!s.activity->logs()) return wait_end;
  const unsigned flags = a.flags & PERFIELD_RECV_WILDCARD ? unsigned{perfield::kEventWildcard} : 0;
  log_event(s, {a.posted, a.wait_begin, wait_end, a.bytes, a.id.channel, a.id.number, a.peer,
                PERFIELD_CALL_recv, uint8_t(unsigned(EventKind::receive) | flags << 2), 0});
  return wait_end;
}

[[gnu::noinline]] uint64_t awaited_beside_others(Shard& s, int32_t peer, uint64_t begin,
                                                 uint64_t end) noexcept {
  s.count_wait(peer, end - begin);
  return end;
}

[[gnu::noinline]] void log_collective(Shard& s, const perfield_collective& d,
                                      uint64_t wait_end) noexcept {
  const unsigned flags = d.flags & PERFIELD_COLLECTIVE_ROOT ? unsigned{perfield::kEventRoot} : 0;
  log_event(s, {d.begun, d.wait_begin, wait_end, std::max(d.bytes_out, d.bytes_in), d.communicator,
                d.number, -1, d.call, uint8_t(unsigned(EventKind::collective) | flags << 2), 0});
}

[[gnu::noinline]] void log_synchronisation(Shard& s, const perfield_synchronisation& d,
                                           uint64_t exited) noexcept {
  const unsigned flags =
      d.flags & PERFIELD_LOCK_EXCLUSIVE ? unsigned{perfield::kEventExclusive} : 0;
  log_event(s, {d.entered, d.entered, exited, 0, d.id.channel, d.id.number, d.peer, d.call,
                uint8_t(unsigned(EventKind::synchronisation) | flags << 2), 0});
}

}  // namespace

extern "C" {

perfield_entered perfield_call_enter(perfield_call call, const void* caller,
                                     const void* frame) noexcept {
  Shard* s = this_shard;
  if (__builtin_expect(s == nullptr, 0)) return enter_unusual(call, caller, frame);
  if (__builtin_expect(s->call_since.load(std::memory_order_relaxed) | s->own_work |
                           s->activity->calls.load(std::memory_order_relaxed),
                       0))
    return enter_elsewhere(*s, call, caller, frame);
  const uint64_t now = perfield::read_counter();
  s->enter_call(call, caller, frame, now);
  return {now, 0};
}

void perfield_call_exit_bytes(perfield_call call, uint64_t entered, uint64_t exited,
                              uint64_t bytes_out, uint64_t bytes_in) noexcept {
  if (this_shard) leave_inside(call, entered, exited, bytes_out, bytes_in);
}

void perfield_call_exit(perfield_call call, uint64_t entered, uint64_t exited) noexcept {
  Shard* s = this_shard;
  if (!s) return;
  if (s->is_in_region()) return leave_inside(call, entered, exited, 0, 0);
  if (!exited) {
    if (!s->activity->by_counter) return leave_inside(call, entered, exited, 0, 0);
    exited = perfield::read_counter();
  }
  s->leave_call(call, entered, exited);
}

void perfield_call_unanswered(perfield_call call, uint64_t entered) noexcept {
  Shard* s = this_shard;
  if (!s) return;
  if (s->is_in_region() || !s->activity->by_counter) return unanswered_unusual(call, entered);
  const uint64_t exited = perfield::read_counter(), before = s->polled;
  s->leave_call(call, entered, exited);
  s->polled = before + perfield::growth(exited, entered);
}

uint64_t perfield_polled() noexcept { return this_shard ? this_shard->polled : 0; }

void perfield_call_moved(perfield_call call, uint64_t bytes_out, uint64_t bytes_in) noexcept {
  if (Shard* s = counting_shard()) s->count_call(call, 0, bytes_out, bytes_in, 0);
}

void perfield_message(perfield_call call, int32_t peer, uint64_t bytes) noexcept {
  Shard* s = this_shard;
  if (s && s->activity->counts_messages()) s->count_message(call, peer, bytes);
}

uint32_t perfield_msg_send(perfield_call call, int32_t peer, uint64_t bytes, uint64_t begun,
                           perfield_message_id id) noexcept {
  Shard* s = this_shard;
  if (!s) return 0;
  const Activity& activity = *s->activity;
  const uint32_t row = s->usual_row(call, peer);
  if (__builtin_expect(row == 0 || activity.messages.load(std::memory_order_relaxed), 0))
    return begin_unusual(call, peer, bytes, begun, id);
  Message& m = s->messages[row];
  const uint32_t period = activity.short_period();
  s->add_message(m, row, bytes, begun, id, period);
  m.open.add(1);
  s->touched_message(row);
  return s->token_of(row, period);
}

uint64_t perfield_msg_send_complete(perfield_call call, int32_t peer, uint32_t token,
                                    uint64_t wait_begin, uint64_t wait_end) noexcept {
  Shard* s = this_shard;
  const uint32_t row = s ? s->row_of(token, call, peer) : 0;
  if (__builtin_expect(row == 0 || s->activity->messages.load(std::memory_order_relaxed) ||
                           s->activity->state.load(std::memory_order_relaxed) != Activity::active,
                       0))
    return ended_unusual(call, peer, token, wait_begin, wait_end);
  if (!wait_end) wait_end = perfield::read_counter();
  Message& m = s->messages[row];
  m.add_awaited(wait_begin, wait_end);
  m.open.add(uint32_t(-1));
  s->in_one_call[row].add(wait_begin);
  return wait_end;
}

uint64_t perfield_msg_send_blocking(perfield_call call, int32_t peer, uint64_t bytes,
                                    uint64_t begun, uint64_t wait_end,
                                    perfield_message_id id) noexcept {
  Shard* s = this_shard;
  if (!s) return wait_end;
  const Activity& activity = *s->activity;
  const uint32_t row = s->usual_row(call, peer);
  if (__builtin_expect(row == 0 || activity.messages.load(std::memory_order_relaxed), 0))
    return sent_unusual(call, peer, bytes, begun, wait_end, id);
  if (!wait_end) wait_end = perfield::read_counter();
  Message& m = s->messages[row];
  m.add_awaited(begun, wait_end);
  s->add_message(m, row, bytes, begun, id, activity.short_period());
  s->touched_message(row);
  return wait_end;
}

uint64_t perfield_msg_recv_complete(const perfield_msg_recv* received) noexcept {
  Shard* s = this_shard;
  const perfield_msg_recv& a = *received;
  if (!s) return a.wait_end;
  // Nearly always, one look finds both rows.
  const Activity& activity = *s->activity;
  const uint32_t row = s->usual_row(PERFIELD_CALL_recv, a.peer);
  if (__builtin_expect(row == 0 || activity.messages.load(std::memory_order_relaxed), 0))
    return arrived_unusual(received);
  Message& m = s->messages[row];
  const uint64_t wait_begin = a.wait_begin;
  const uint64_t wait_end = a.wait_end ? a.wait_end : perfield::read_counter();
  m.add_awaited(wait_begin, wait_end);
  s->add_message(m, row, a.bytes, a.posted, a.id, activity.short_period());
  if (a.flags & PERFIELD_RECV_BLOCKING) {
    if (__builtin_expect(!Shard::waits_beside(m), 0)) {
      s->touched_message(row);
      return awaited_beside_others(*s, a.peer, wait_begin, wait_end);
    }
    (&m)[1].add_wait(wait_end - wait_begin);
    s->touched_message(row + 1);
    s->touched_message(row);
    return wait_end;
  }
  s->touched_message(row);
  s->in_one_call[row].add(wait_begin);
  return wait_end;
}

uint64_t perfield_collective_done(const perfield_collective* done) noexcept {
  Shard* s = this_shard;
  if (!s || !s->activity->counts_messages()) return done->wait_end;
  const uint64_t wait_end = done->wait_end ? done->wait_end : s->activity->ticks();
  s->count_collective(*done, wait_end);
  if (__builtin_expect(s->activity->logs(), 0)) log_collective(*s, *done, wait_end);
  return wait_end;
}

uint64_t perfield_synchronised(const perfield_synchronisation* done) noexcept {
  Shard* s = this_shard;
  const perfield_synchronisation& d = *done;
  if (!s || !s->activity->counts_messages()) return d.exited;
  const bool has_row = perfield::synchronises(d.call), is_logged = s->activity->logs();
  if (!has_row && !is_logged) return d.exited;
  const uint64_t exited = d.exited ? d.exited : s->activity->ticks();
  if (has_row) {
    const uint32_t row = s->row_of_message(d.call, d.peer);
    s->messages[row].add_awaited(d.entered, exited);
    s->messages[row].add(0, d.entered, d.id, s->activity->short_period());
    s->touched_message(row);
  }
  if (__builtin_expect(is_logged, 0)) log_synchronisation(*s, d, exited);
  return exited;
}

perfield_quantity perfield_quantity_define(const char* name, const char* unit, perfield_scope scope,
                                           perfield_over_steps steps, perfield_over_threads threads,
                                           const char* help) noexcept {
  return recorder().define_quantity(name, unit, scope, steps, threads, help);
}

void perfield_quantity_add(perfield_quantity quantity, uint64_t amount) noexcept {
  if (!perfield::is_quantity(quantity)) return;
  if (Shard* s = counting_shard()) s->add(quantity, amount);
}

void perfield_quantity_set(perfield_quantity quantity, uint64_t value) noexcept {
  Shard* s = perfield::is_quantity(quantity) ? counting_shard() : nullptr;
  if (s) s->set(quantity, value);
}

void perfield_quantity_reading(perfield_quantity quantity, uint64_t value) noexcept {
  Shard* s = perfield::is_quantity(quantity) ? recorder().shard() : nullptr;
  if (s) s->stands(quantity, value);
}

uint64_t perfield_source_ticks_of_ns(uint64_t ns) noexcept {
  return ns ? recorder().clock.ticks_of_ns(ns) : 0;
}

uint64_t perfield_operation_enter(const perfield_operation* operation, const void* frame) noexcept {
  Shard* s = counting_shard();
  if (!s || is_inside_call(*s, frame)) return 0;
  const uint64_t now = recorder().clock.ticks();
  s->enter_operation(operation, frame, now);
  return now;
}

void perfield_operation_leave(const perfield_operation* operation, uint64_t entered,
                              uint64_t bytes) noexcept {
  Shard* s = this_shard;
  if (!s) return;
  s->leave_operation(*operation, entered, recorder().clock.ticks(), bytes);
}

void perfield_operation_count(const perfield_operation* operation, uint64_t bytes) noexcept {
  Shard* s = counting_shard();
  if (s && !s->is_inside_call()) s->count_operation(*operation, bytes);
}

int perfield_source_armed() noexcept {
  const Shard* s = this_shard;
  return s && s->pipeline_armed;
}

uint64_t perfield_source_ticks() noexcept { return recorder().clock.ticks(); }

const std::atomic<uint32_t>* perfield_source_state() noexcept { return &recorder().state_word(); }

void perfield_own_begin() noexcept {
  if (Shard* s = recorder().shard()) s->set_unusual(s->own_work + 1, s->pipeline_armed);
}

void perfield_own_end() noexcept {
  Shard* s = this_shard;
  if (s && s->own_work) s->set_unusual(s->own_work - 1, s->pipeline_armed);
}

int perfield_own_work() noexcept {
  const Shard* s = this_shard;
  return s && s->own_work;
}

}  // extern "C"
