// SPDX-License-Identifier: BSD-3-Clause
//
// events.cpp - counting MPI calls and messages: the hot path of every source. Runs on the thread
// that makes the call; see source.h.
#include "recorder/recorder.hpp"
#include "recorder/source.h"

using perfield::Activity;
using perfield::recorder;
using perfield::Shard;
using perfield::this_shard;

extern "C" {

perfield_entered perfield_call_enter(perfield_call call, const void* caller,
                                     const void* frame) noexcept {
  auto& r = recorder();
  const bool follow = caller && r.sites.following();
  if (!follow && r.state() != Activity::active) return {0, 0};
  Shard* s = r.shard();
  if (!s || s->own_work) return {0, 0};
  if (s->inside_call) {
    const uint8_t open_class = kTimeClassOfCall.of[s->open_call.load(std::memory_order_relaxed)];
    if (!(follow || !is_mpi_class(open_class)) || frame < s->call_frame) return {0, 0};
    s->forget_call();  // a handler left it by an exception or longjmp: its frame is gone
    s->faults.add(1);
  }
  uint64_t now = r.clock.ticks();
  const uint64_t after = follow ? r.hit_site(*s, call, caller, frame, now) : 0;
  if (r.state() != Activity::active) return {0, after};
  s->enter_call(call, frame, now);
  return {now, after};
}

void perfield_call_leave(perfield_call call, uint64_t entered, uint64_t bytes_out,
                         uint64_t bytes_in) noexcept {
  Shard* s = this_shard;
  if (!s) return;
  uint64_t now = recorder().clock.ticks();
  s->leave_call(call, entered, now, bytes_out, bytes_in);
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

void perfield_source_count(perfield_call call, uint64_t count, uint64_t ns, uint64_t bytes_out,
                           uint64_t bytes_in) noexcept {
  auto& r = recorder();
  if (r.state() != Activity::active) return;
  Shard* s = r.shard();
  if (!s || s->own_work || (s->inside_call && count)) return;
  const uint64_t ticks = ns ? r.clock.ticks_of_ns(ns) : 0;
  s->count_call(call, ticks, bytes_out, bytes_in, count);
  if (ticks) s->pass_inside(kTimeClassOfCall.of[call], ticks);
}

int perfield_source_counter(const char* name) noexcept { return recorder().counters.define(name); }

void perfield_source_counter_stands(int counter, uint64_t value) noexcept {
  auto& r = recorder();
  if (Shard* s = r.shard()) r.counter_stands(*s, counter, value);
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
