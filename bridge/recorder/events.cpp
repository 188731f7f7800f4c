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
using perfield::MessageTable;
using perfield::recorder;
using perfield::this_profile;
using perfield::ThreadProfile;

namespace {

// This thread's profile if what the thread does now is counted; else nullptr.
inline ThreadProfile* counting_profile() noexcept {
  auto* r = perfield::the_recorder;
  if (__builtin_expect(!r || r->state() != Activity::active, 0)) return nullptr;
  ThreadProfile* s = this_profile ? this_profile : r->profile();
  return s && !s->own_work ? s : nullptr;
}

// Whether the thread is inside a call. Forgets one that an exception or longjmp has left.
inline bool is_inside_call(ThreadProfile& s, const void* frame) noexcept {
  if (!s.is_inside_call()) return false;
  if (!s.left_behind(frame)) return true;
  s.forget_call();
  return false;
}

// Entering a call before the thread has counted anything, where the processor's counter is no
// clock, or where the call may not count. A function of its own, so that the fast paths stay short.
[[gnu::noinline]] perfield_entered enter_slow(perfield_call call, const void* caller,
                                              const void* frame) noexcept {
  auto& r = recorder();
  const bool follow = caller && r.sites.following();
  if (!follow && r.state() != Activity::active) return {0, 0};
  ThreadProfile* s = r.profile();
  if (!s || s->own_work || is_inside_call(*s, frame)) return {0, 0};
  uint64_t now = r.clock.ticks();
  const uint64_t after = follow ? r.hit_site(*s, call, caller, frame, now) : 0;
  if (r.state() != Activity::active) return {0, after};
  s->enter_call(call, caller, frame, now);
  return {now, after};
}

// Entering a call that counts while call sites are followed.
[[gnu::noinline]] perfield_entered enter_followed(ThreadProfile& s, perfield_call call,
                                                  const void* caller, const void* frame) noexcept {
  auto& r = *perfield::the_recorder;
  uint64_t now = perfield::read_counter();
  const uint64_t after = r.hit_site(s, call, caller, frame, now);
  if (__builtin_expect(r.state() != Activity::active, 0)) return {0, after};
  s.enter_call(call, caller, frame, now);
  return {now, after};
}

// Entering a call inside another one, where the call site is followed, or where that may not count.
[[gnu::noinline]] perfield_entered enter_elsewhere(ThreadProfile& s, perfield_call call,
                                                   const void* caller, const void* frame) noexcept {
  if (s.is_inside_call()) {  // as where MPI's Fortran functions call those of C
    if (!s.left_behind(frame)) return {0, 0};
  } else if (s.activity->calls.load(std::memory_order_relaxed) == Activity::followed && caller &&
             !s.own_work) {
    const perfield::CallSites& sites = perfield::the_recorder->sites;
    if (sites.follows(call)) return enter_followed(s, call, caller, frame);
    ++s.sites.n_calls;
    const uint64_t now = perfield::read_counter();
    if (__builtin_expect(perfield::the_recorder->state() == Activity::active, 1)) {
      s.enter_call(call, caller, frame, now);
      return {now, sites.closes_window(now) ? perfield::kCloseWindow : perfield::kNothing};
    }
  }
  return enter_slow(call, caller, frame);
}

[[gnu::noinline]] uint64_t read_slow_clock() noexcept { return perfield::monotonic_ns(); }

// A function of its own, so that the fast path needs no room on the stack.
[[gnu::noinline]] void exit_slow(perfield_call call, uint64_t entered, uint64_t exited,
                                 uint64_t bytes_out, uint64_t bytes_in) noexcept {
  ThreadProfile* s = this_profile;
  if (!exited) exited = s->activity->by_counter ? perfield::read_counter() : read_slow_clock();
  s->exit_call(call, entered, exited, bytes_out, bytes_in);
}

[[gnu::noinline]] void unanswered_slow(perfield_call call, uint64_t entered) noexcept {
  const uint64_t before = this_profile->polled;
  const uint64_t exited = this_profile->activity->ticks();
  exit_slow(call, entered, exited, 0, 0);
  this_profile->polled = before + perfield::growth(exited, entered);
}

// The row of a send that this thread began in this period; else 0.
inline uint32_t row_of_token(const ThreadProfile& s, uint32_t token, perfield_call call,
                             int32_t peer) noexcept {
  return s.messages.row_of_token(token, call, peer, s.activity->short_period(), s.number);
}

uint32_t log_event(ThreadProfile& s, const perfield::LoggedEvent& event) noexcept {
  return perfield::the_recorder->log.add(s, event);
}

// The end of a send of a logged step, of another period or of another thread. Where its begin
// counts in this thread's rows, so does its end.
[[gnu::noinline]] uint64_t send_complete_slow(perfield_call call, int32_t peer, uint32_t token,
                                              uint64_t wait_begin, uint64_t wait_end) noexcept {
  ThreadProfile* s = this_profile;
  if (!s || !token || s->activity->state.load(std::memory_order_relaxed) != Activity::active)
    return wait_end;
  if (!wait_end) wait_end = s->activity->ticks();
  bool own = false;
  uint32_t row = 0;
  if (token & perfield::kTokenOfRow)
    row = row_of_token(*s, token, call, peer);
  else if (perfield::the_recorder->log.end_send(*s, token, wait_begin, wait_end, &own) && own)
    row = s->messages.row_of(*s, call, peer);
  if (row) {
    s->messages.rows[row].add_awaited(wait_begin, wait_end);
    s->messages.in_one_call[row].add(wait_begin);
    s->messages.rows[row].open.add(uint32_t(-1));
  }
  return wait_end;
}

// A send of a new peer, or of a logged step.
[[gnu::noinline]] uint32_t send_slow(perfield_call call, int32_t peer, uint64_t bytes,
                                     uint64_t begun, perfield_message_id id) noexcept {
  ThreadProfile& s = *this_profile;
  if (!s.activity->counts_messages()) return 0;
  const uint32_t row = s.messages.row_of(s, call, peer);
  s.messages.add(s.messages.rows[row], row, bytes, begun, id, s.activity->short_period());
  s.messages.rows[row].open.add(1);
  s.messages.mark(s, row);
  if (!s.activity->logs()) return MessageTable::token_of(row, s.activity->short_period(), s.number);
  return log_event(
      s, {begun, 0, 0, bytes, id.channel, id.number, peer, call, uint8_t(EventKind::send), 0});
}

[[gnu::noinline]] uint64_t send_blocking_slow(perfield_call call, int32_t peer, uint64_t bytes,
                                              uint64_t begun, uint64_t wait_end,
                                              perfield_message_id id) noexcept {
  const uint32_t token = perfield_msg_send(call, peer, bytes, begun, id);
  return perfield_msg_send_complete(call, peer, token, begun, wait_end);
}

[[gnu::noinline]] uint64_t recv_complete_slow(const perfield_msg_recv* received) noexcept {
  ThreadProfile& s = *this_profile;
  const perfield_msg_recv& a = *received;
  if (!s.activity->counts_messages()) return a.wait_end;
  const uint64_t wait_end = a.wait_end ? a.wait_end : s.activity->ticks();
  const uint32_t row = s.messages.row_of(s, PERFIELD_CALL_recv, a.peer);
  s.messages.rows[row].add_awaited(a.wait_begin, wait_end);
  s.messages.add(s.messages.rows[row], row, a.bytes, a.posted, a.id, s.activity->short_period());
  s.messages.mark(s, row);
  if (a.flags & PERFIELD_RECV_BLOCKING)
    s.messages.count_wait(s, a.peer, wait_end - a.wait_begin);
  else
    s.messages.in_one_call[row].add(a.wait_begin);
  if (!s.activity->logs()) return wait_end;
  const unsigned flags = a.flags & PERFIELD_RECV_WILDCARD ? unsigned{perfield::kEventWildcard} : 0;
  log_event(s, {a.posted, a.wait_begin, wait_end, a.bytes, a.id.channel, a.id.number, a.peer,
                PERFIELD_CALL_recv, uint8_t(unsigned(EventKind::receive) | flags << 2), 0});
  return wait_end;
}

[[gnu::noinline]] uint64_t wait_slow(ThreadProfile& s, int32_t peer, uint64_t begin,
                                     uint64_t end) noexcept {
  s.messages.count_wait(s, peer, end - begin);
  return end;
}

[[gnu::noinline]] void log_collective(ThreadProfile& s, const perfield_collective& d,
                                      uint64_t wait_end) noexcept {
  const unsigned flags = d.flags & PERFIELD_COLLECTIVE_ROOT ? unsigned{perfield::kEventRoot} : 0;
  log_event(s, {d.begun, d.wait_begin, wait_end, std::max(d.bytes_out, d.bytes_in), d.communicator,
                d.number, -1, d.call, uint8_t(unsigned(EventKind::collective) | flags << 2), 0});
}

[[gnu::noinline]] void log_synchronisation(ThreadProfile& s, const perfield_synchronisation& d,
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
  ThreadProfile* s = this_profile;
  if (__builtin_expect(s == nullptr, 0)) return enter_slow(call, caller, frame);
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
  if (this_profile) exit_slow(call, entered, exited, bytes_out, bytes_in);
}

void perfield_call_exit(perfield_call call, uint64_t entered, uint64_t exited) noexcept {
  ThreadProfile* s = this_profile;
  if (!s) return;
  if (s->is_in_region_or_other_clock()) return exit_slow(call, entered, exited, 0, 0);
  s->exit_call(call, entered, exited ? exited : perfield::read_counter());
}

void perfield_call_unanswered(perfield_call call, uint64_t entered) noexcept {
  ThreadProfile* s = this_profile;
  if (!s) return;
  if (s->is_in_region_or_other_clock()) return unanswered_slow(call, entered);
  const uint64_t exited = perfield::read_counter(), before = s->polled;
  s->exit_call(call, entered, exited);
  s->polled = before + perfield::growth(exited, entered);
}

uint64_t perfield_polled() noexcept { return this_profile ? this_profile->polled : 0; }

void perfield_call_moved(perfield_call call, uint64_t bytes_out, uint64_t bytes_in) noexcept {
  if (ThreadProfile* s = counting_profile()) s->calls.count(*s, call, 0, bytes_out, bytes_in, 0);
}

void perfield_message(perfield_call call, int32_t peer, uint64_t bytes) noexcept {
  ThreadProfile* s = this_profile;
  if (s && s->activity->counts_messages()) s->messages.count(*s, call, peer, bytes);
}

uint32_t perfield_msg_send(perfield_call call, int32_t peer, uint64_t bytes, uint64_t begun,
                           perfield_message_id id) noexcept {
  ThreadProfile* s = this_profile;
  if (!s) return 0;
  const Activity& activity = *s->activity;
  const uint32_t row = s->messages.predicted_row(call, peer);
  if (__builtin_expect(row == 0 || activity.messages.load(std::memory_order_relaxed), 0))
    return send_slow(call, peer, bytes, begun, id);
  Message& m = s->messages.rows[row];
  const uint32_t period = activity.short_period();
  s->messages.add(m, row, bytes, begun, id, period);
  m.open.add(1);
  s->messages.mark(*s, row);
  return MessageTable::token_of(row, period, s->number);
}

uint64_t perfield_msg_send_complete(perfield_call call, int32_t peer, uint32_t token,
                                    uint64_t wait_begin, uint64_t wait_end) noexcept {
  ThreadProfile* s = this_profile;
  const uint32_t row = s ? row_of_token(*s, token, call, peer) : 0;
  if (__builtin_expect(row == 0 || s->activity->messages.load(std::memory_order_relaxed) ||
                           s->activity->state.load(std::memory_order_relaxed) != Activity::active,
                       0))
    return send_complete_slow(call, peer, token, wait_begin, wait_end);
  if (!wait_end) wait_end = perfield::read_counter();
  Message& m = s->messages.rows[row];
  m.add_awaited(wait_begin, wait_end);
  m.open.add(uint32_t(-1));
  s->messages.in_one_call[row].add(wait_begin);
  return wait_end;
}

uint64_t perfield_msg_send_blocking(perfield_call call, int32_t peer, uint64_t bytes,
                                    uint64_t begun, uint64_t wait_end,
                                    perfield_message_id id) noexcept {
  ThreadProfile* s = this_profile;
  if (!s) return wait_end;
  const Activity& activity = *s->activity;
  const uint32_t row = s->messages.predicted_row(call, peer);
  if (__builtin_expect(row == 0 || activity.messages.load(std::memory_order_relaxed), 0))
    return send_blocking_slow(call, peer, bytes, begun, wait_end, id);
  if (!wait_end) wait_end = perfield::read_counter();
  Message& m = s->messages.rows[row];
  m.add_awaited(begun, wait_end);
  s->messages.add(m, row, bytes, begun, id, activity.short_period());
  s->messages.mark(*s, row);
  return wait_end;
}

uint64_t perfield_msg_recv_complete(const perfield_msg_recv* received) noexcept {
  ThreadProfile* s = this_profile;
  const perfield_msg_recv& a = *received;
  if (!s) return a.wait_end;
  // Nearly always, one look finds both rows.
  const Activity& activity = *s->activity;
  const uint32_t row = s->messages.predicted_row(PERFIELD_CALL_recv, a.peer);
  if (__builtin_expect(row == 0 || activity.messages.load(std::memory_order_relaxed), 0))
    return recv_complete_slow(received);
  Message& m = s->messages.rows[row];
  const uint64_t wait_begin = a.wait_begin;
  const uint64_t wait_end = a.wait_end ? a.wait_end : perfield::read_counter();
  m.add_awaited(wait_begin, wait_end);
  s->messages.add(m, row, a.bytes, a.posted, a.id, activity.short_period());
  if (a.flags & PERFIELD_RECV_BLOCKING) {
    if (__builtin_expect(!MessageTable::waits_beside(m), 0)) {
      s->messages.mark(*s, row);
      return wait_slow(*s, a.peer, wait_begin, wait_end);
    }
    (&m)[1].add_wait(wait_end - wait_begin);
    s->messages.mark(*s, row + 1);
    s->messages.mark(*s, row);
    return wait_end;
  }
  s->messages.mark(*s, row);
  s->messages.in_one_call[row].add(wait_begin);
  return wait_end;
}

uint64_t perfield_call_of_all() noexcept {
  static_assert(PERFIELD_AFTER_ASKS == perfield::kAskOfAll);
  ThreadProfile* s = this_profile;
  return s ? perfield::the_recorder->sites.met_by_all(*s) : 0;
}

uint64_t perfield_collective_done(const perfield_collective* done) noexcept {
  ThreadProfile* s = this_profile;
  if (!s || !s->activity->counts_messages()) return done->wait_end;
  const uint64_t wait_end = done->wait_end ? done->wait_end : s->activity->ticks();
  s->collectives.count(*s, *done, wait_end);
  if (__builtin_expect(s->activity->logs(), 0)) log_collective(*s, *done, wait_end);
  return wait_end;
}

uint64_t perfield_synchronised(const perfield_synchronisation* done) noexcept {
  ThreadProfile* s = this_profile;
  const perfield_synchronisation& d = *done;
  if (!s || !s->activity->counts_messages()) return d.exited;
  const bool has_row = perfield::synchronises(d.call), is_logged = s->activity->logs();
  if (!has_row && !is_logged) return d.exited;
  const uint64_t exited = d.exited ? d.exited : s->activity->ticks();
  if (has_row) {
    const uint32_t row = s->messages.row_of(*s, d.call, d.peer);
    s->messages.rows[row].add_awaited(d.entered, exited);
    s->messages.rows[row].add(0, d.entered, d.id, s->activity->short_period());
    s->messages.mark(*s, row);
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
  if (ThreadProfile* s = counting_profile()) s->add(quantity, amount);
}

void perfield_quantity_set(perfield_quantity quantity, uint64_t value) noexcept {
  ThreadProfile* s = perfield::is_quantity(quantity) ? counting_profile() : nullptr;
  if (s) s->quantities.set(*s, s->stack, quantity, value);
}

void perfield_quantity_reading(perfield_quantity quantity, uint64_t value) noexcept {
  ThreadProfile* s = perfield::is_quantity(quantity) ? recorder().profile() : nullptr;
  if (s) s->quantities.read(*s, s->stack, quantity, value);
}

uint64_t perfield_source_ticks_of_ns(uint64_t ns) noexcept {
  return ns ? recorder().clock.ticks_of_ns(ns) : 0;
}

uint64_t perfield_operation_enter(const perfield_operation* operation, const void* frame) noexcept {
  ThreadProfile* s = counting_profile();
  if (!s || is_inside_call(*s, frame)) return 0;
  const uint64_t now = recorder().clock.ticks();
  s->enter_operation(operation, frame, now);
  return now;
}

void perfield_operation_leave(const perfield_operation* operation, uint64_t entered,
                              uint64_t bytes) noexcept {
  ThreadProfile* s = this_profile;
  if (!s) return;
  s->leave_operation(*operation, entered, recorder().clock.ticks(), bytes);
}

void perfield_operation_count(const perfield_operation* operation, uint64_t bytes) noexcept {
  ThreadProfile* s = counting_profile();
  if (s && !s->is_inside_call()) s->count_operation(*operation, bytes);
}

int perfield_source_armed() noexcept {
  const ThreadProfile* s = this_profile;
  return s && s->pipeline_armed;
}

uint64_t perfield_source_ticks() noexcept { return recorder().clock.ticks(); }

const std::atomic<uint32_t>* perfield_source_state() noexcept { return &recorder().state_word(); }

void perfield_own_begin() noexcept {
  if (ThreadProfile* s = recorder().profile()) s->set_own_work(s->own_work + 1, s->pipeline_armed);
}

void perfield_own_end() noexcept {
  ThreadProfile* s = this_profile;
  if (s && s->own_work) s->set_own_work(s->own_work - 1, s->pipeline_armed);
}

int perfield_own_work() noexcept {
  const ThreadProfile* s = this_profile;
  return s && s->own_work;
}

}  // extern "C"
