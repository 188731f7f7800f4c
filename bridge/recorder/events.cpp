// SPDX-License-Identifier: BSD-3-Clause
//
// events.cpp - counting MPI calls and messages: the hot path of every source. Runs on the thread
// that makes the call; see events.h.
#include "recorder/events.h"

#include "recorder/recorder.hpp"

using perfield::Activity;
using perfield::recorder;
using perfield::Shard;
using perfield::this_shard;

extern "C" {

uint64_t perfield_call_enter() noexcept {
  auto& r = recorder();
  if (r.state() != Activity::active) return 0;
  Shard* s = r.shard();
  if (!s || s->own_work || s->inside_call) return 0;
  s->inside_call = 1;
  return r.clock.ticks();
}

void perfield_call_leave(perfield_call call, uint64_t entered, uint64_t bytes_out,
                         uint64_t bytes_in) noexcept {
  Shard* s = this_shard;
  if (!s) return;
  s->inside_call = 0;
  uint64_t now = recorder().clock.ticks();
  s->count_call(call, now > entered ? now - entered : 0, bytes_out, bytes_in);
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
  if (s && s->count_messages)
    s->count_message(perfield::kWaitedCall, peer, recorder().clock.ticks() - entered);
}

void perfield_own_begin() noexcept {
  if (Shard* s = recorder().shard()) ++s->own_work;
}

void perfield_own_end() noexcept {
  Shard* s = this_shard;
  if (s && s->own_work) --s->own_work;
}

}  // extern "C"
