// SPDX-License-Identifier: BSD-3-Clause
//
// open_calls.cpp - threads make calls of all lengths inside a region, and one leaves calls by a
// jump, while another thread closes step after step without a gap. They measure their calls
// themselves. Prints what is wrong with the sums of the steps; "exact" if nothing is. For
// test_races.py.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "recorder/recorder.hpp"

using perfield::monotonic_ns;
using perfield::Recorder;
using perfield::ThreadProfile;

namespace {

constexpr int kThreads = 3;
constexpr uint64_t kNanoseconds = 1500000000;
constexpr perfield_call kCalls[] = {PERFIELD_CALL_allreduce, PERFIELD_CALL_recv,
                                    PERFIELD_CALL_wait};

perfield_operation reading;
uint32_t region;

struct Truth {
  uint64_t calls = 0, ticks = 0, operations = 0, operation_ticks = 0, in_region = 0;
};

void work(ThreadProfile& s, Truth& truth, const std::atomic<bool>& done) {
  const void* frame = __builtin_frame_address(0);
  const auto caller = reinterpret_cast<const void*>(&work);
  for (uint64_t i = 1; !done; ++i) {
    if (i % 16 == 1) s.enter_region(region, region, true, monotonic_ns());
    const bool is_operation = i % 5 == 0;
    const perfield_call call = kCalls[i % 3];
    const uint64_t begin = monotonic_ns();
    if (is_operation)
      s.enter_operation(&reading, frame, begin);
    else
      s.enter_call(call, caller, frame, begin);
    const uint64_t until = begin + (i % 64 == 0 ? 2000000 : i % 7 * 500);
    uint64_t end = begin;
    while (end <= until) end = monotonic_ns();
    if (is_operation) {
      s.leave_operation(reading, begin, end, 10);
      truth.operation_ticks += end - begin;
      ++truth.operations;
    } else {
      s.exit_call(call, begin, end, 0, 0);
      truth.ticks += end - begin;
      ++truth.calls;
    }
    if (i % 16 == 0) s.leave_region(region, monotonic_ns());
  }
}

// One call is left by a jump, the next one is not.
void leave(ThreadProfile& s, Truth& truth, const std::atomic<bool>& done) {
  const void* frame = __builtin_frame_address(0);
  while (!done) {
    s.enter_call(PERFIELD_CALL_send, nullptr, frame, monotonic_ns());
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    if (!s.left_behind(frame)) abort();
    s.forget_call();
    const uint64_t begin = monotonic_ns();
    s.enter_call(PERFIELD_CALL_bcast, nullptr, frame, begin);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    const uint64_t end = monotonic_ns();
    s.exit_call(PERFIELD_CALL_bcast, begin, end, 0, 0);
    truth.ticks += end - begin;
    ++truth.calls;
  }
}

// A step may take more than a call has, if it closes between the call's last look at the clock and
// its end; the next call of that kind makes up for it. That is this one.
void settle(ThreadProfile& s, Truth& truth) {
  constexpr uint64_t length = 100000000;
  const uint64_t begin = monotonic_ns();
  for (const perfield_call call : kCalls) {
    s.enter_call(call, nullptr, nullptr, begin);
    s.exit_call(call, begin, begin + length, 0, 0);
    truth.ticks += length;
    ++truth.calls;
  }
  s.enter_operation(&reading, nullptr, begin);
  s.leave_operation(reading, begin, begin + length, 10);
  truth.operation_ticks += length;
}

int compare(const char* what, uint64_t found, uint64_t truth, uint64_t tolerance = 0) {
  if (found + tolerance >= truth && found <= truth + tolerance) return 0;
  std::printf("%s: %llu, true is %llu\n", what, static_cast<unsigned long long>(found),
              static_cast<unsigned long long>(truth));
  return 1;
}

}  // namespace

int main() {
  auto* r = new Recorder;
  r->start(100, true, 1e9, 0);
  region = r->regions.define("all", "", 0);
  const auto define = [&](const char* name, perfield_scope scope) {
    return r->define_quantity(name, "ticks", scope, PERFIELD_STEPS_SUM, PERFIELD_THREADS_SUM, "");
  };
  reading = {0, 0, define("reading", PERFIELD_PER_RANK), define("inside", PERFIELD_PER_REGION)};
  r->open(monotonic_ns());

  std::atomic<bool> done{false};
  Truth truths[kThreads + 1];
  std::vector<std::thread> threads;
  for (int t = 0; t <= kThreads; ++t) {
    ThreadProfile* s = r->add_profile();
    threads.emplace_back([&, s, t] { (t < kThreads ? work : leave)(*s, truths[t], done); });
  }
  const uint64_t begin = monotonic_ns();
  for (uint64_t now = begin; now < begin + kNanoseconds;) {
    now = monotonic_ns();
    r->collect(now);
    r->open(now);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) settle(r->profile_at(t), truths[t]);
  r->collect(monotonic_ns());

  int wrong = 0;
  for (int t = 0; t <= kThreads; ++t) {
    ThreadProfile& s = r->profile_at(t);
    uint64_t ticks = 0, calls = 0, in_region = 0;
    for (int c = 0; c < PERFIELD_CALL_LIMIT; ++c) {
      if (c == PERFIELD_CALL_send) continue;  // never exited: what closings saw of them
      ticks += s.calls.pending_of(perfield_call(c)).ticks;
      calls += s.calls.pending_of(perfield_call(c)).count;
    }
    for (int q = 0; q < r->quantities.size(); ++q)
      if (auto* found = s.quantities.find_pending(region, uint16_t(q))) in_region += found->value;
    const uint64_t inside = truths[t].ticks + truths[t].operation_ticks;
    wrong += compare("time of calls", ticks, truths[t].ticks, t < kThreads ? 0 : ticks / 100);
    wrong += compare("calls", calls, truths[t].calls);
    const auto time = uint16_t(perfield::number_of(reading.time));
    wrong += compare("time of operations", s.quantities.pending(r->pending.quantities, time).value,
                     truths[t].operation_ticks);
    if (in_region > inside) wrong += compare("time of calls inside the region", in_region, inside);
  }
  if (!wrong) std::puts("exact");
  return wrong != 0;
}
