// SPDX-License-Identifier: BSD-3-Clause
//
// events.cpp - counting MPI calls, messages and quantities: the hot path of every source. Runs on
// the thread that makes the call; see source.h.
#include "recorder/recorder.hpp"
#include "recorder/source.h"

using perfield::Activity;
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
  if (!s.inside_call) return false;
  if (!s.left_behind(frame)) return true;
  s.forget_call();
  return false;
}

}  // namespace

extern "C" {

perfield_entered perfield_call_enter(perfield_call call, const void* caller,
                                     const void* frame) noexcept {
  auto& r = recorder();
  const bool follow = caller && r.sites.following();
  if (!follow && r.state() != Activity::active) return {0, 0};
  Shard* s = r.shard();
  if (!s || s->own_work) return {0, 0};
  if (is_inside_call(*s, frame)) return {0, 0};
  uint64_t now = r.clock.ticks();
  const uint64_t after = follow ? r.hit_site(*s, call, caller, frame, now) : 0;
  if (r.state() != Activity::active) return {0, after};
  s->enter_call(call, caller, frame, now);
  return {now, after};
}

void perfield_call_leave(perfield_call call, uint64_t entered, uint64_t bytes_out,
                         uint64_t bytes_in) noexcept {
  Shard* s = this_shard;
  if (!s) return;
  uint64_t now = perfield::the_recorder->clock.ticks();
  s->leave_call(call, entered, now, bytes_out, bytes_in);
}

void perfield_call_moved(perfield_call call, uint64_t bytes_out, uint64_t bytes_in) noexcept {
  if (Shard* s = counting_shard()) s->count_call(call, 0, bytes_out, bytes_in, 0);
}

void perfield_message(perfield_call call, int32_t peer, uint64_t bytes) noexcept {
  Shard* s = this_shard;
  if (s && s->count_messages) s->count_message(call, peer, bytes);
}

void perfield_received(int32_t peer, uint64_t bytes) noexcept {
  perfield_message(PERFIELD_CALL_recv, peer, bytes);
}

void perfield_waited(int32_t peer, uint64_t entered) noexcept {
  Shard* s = this_shard;
  if (s && s->count_messages) s->count_wait(peer, recorder().clock.ticks() - entered);
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

void perfield_quantity_stands(perfield_quantity quantity, uint64_t value) noexcept {
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
  if (s && !s->inside_call) s->count_operation(*operation, bytes);
}

int perfield_source_armed() noexcept {
  const Shard* s = this_shard;
  return s && s->pipeline_armed;
}

uint64_t perfield_source_ticks() noexcept { return recorder().clock.ticks(); }

const std::atomic<uint32_t>* perfield_source_state() noexcept { return &recorder().state_word(); }

void perfield_own_begin() noexcept {
  if (Shard* s = recorder().shard()) ++s->own_work;
}

void perfield_own_end() noexcept {
  Shard* s = this_shard;
  if (s && s->own_work) --s->own_work;
}

}  // extern "C"
