// SPDX-License-Identifier: BSD-3-Clause
//
// touched.cpp - threads touch each row of their tables once in a pass, while another thread closes
// step after step without a gap. After each pass, the steps must hold exactly that. So a row whose
// mark is lost is found. Prints "exact", or the first row that is wrong. For test_races.py.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "format/decode.hpp"
#include "recorder/recorder.hpp"
#include "recorder/step_entry.hpp"

using namespace perfield;

namespace {

constexpr int kThreads = 2, kPasses = 100;
constexpr uint32_t kRegions = 2000, kPeers = 1500;
constexpr perfield_call kCalls[] = {PERFIELD_CALL_send, PERFIELD_CALL_isend};

perfield_quantity inside, of_rank;
std::atomic<int> pass{0}, done{0};

void touch_all(ThreadProfile& s) {
  for (uint32_t i = 0; i < kRegions; ++i) {
    const uint32_t region = 1 + i * 7 % kRegions;
    s.enter_region(region, region, true, monotonic_ns());
    s.add(inside, 3);
    s.add(of_rank, 5);
    s.leave_region(region, monotonic_ns());
  }
  for (const perfield_call call : kCalls)
    for (uint32_t i = 0; i < kPeers; ++i) {
      const uint64_t begin = monotonic_ns();
      s.enter_call(call, nullptr, nullptr, begin);
      s.messages.count(s, call, int32_t(i * 7 % kPeers), 8);
      s.exit_call(call, begin, monotonic_ns(), 0, 0);
    }
}

void work(ThreadProfile& s) {
  for (int mine = 1; mine <= kPasses; ++mine) {
    while (pass < mine) std::this_thread::yield();
    touch_all(s);
    ++done;
  }
}

// What the entries of steps hold, over all threads. Amounts inside regions are not among it: what
// comes between the end of a step and the begin of the next belongs to none.
struct Sums {
  std::vector<uint64_t> regions = std::vector<uint64_t>(kRegions + 1);
  std::vector<uint64_t> messages = std::vector<uint64_t>(2 * kPeers), calls = {0, 0};
  uint64_t amounts = 0;

  void add(const StepView& step) {
    for (const RegionRow row : step.regions) regions[row.id] += row.count;
    for (const MessageRow row : step.messages)
      messages[uint32_t(row.peer) + (row.call == kCalls[1] ? kPeers : 0)] += row.count;
    for (const CallRow row : step.calls) calls[row.call == kCalls[1]] += row.count;
    for (const QuantityRow row : step.quantities)
      if (row.region == kOfRank) amounts += row.value;
  }
};

int wrong_in(const char* what, const std::vector<uint64_t>& rows, uint32_t first, uint64_t truth) {
  for (uint32_t i = first; i < rows.size(); ++i) {
    if (rows[i] == truth) continue;
    std::printf("%s of row %u: %llu, true is %llu\n", what, i,
                static_cast<unsigned long long>(rows[i]), static_cast<unsigned long long>(truth));
    return 1;
  }
  return 0;
}

int wrong_after(uint64_t passes, const Sums& sums) {
  const uint64_t all = passes * kThreads;
  return wrong_in("count", sums.regions, 1, all) || wrong_in("messages", sums.messages, 0, all) ||
         wrong_in("calls", sums.calls, 0, all * kPeers) ||
         wrong_in("amount of the rank", {sums.amounts}, 0, 5 * all * kRegions);
}

}  // namespace

int main() {
  auto* r = new Recorder;
  r->start(kPeers, true, 1e9, 0);
  for (uint32_t i = 1; i <= kRegions; ++i)
    r->regions.define(("region " + std::to_string(i)).c_str(), "", 0);
  const auto define = [&](const char* name, perfield_scope scope) {
    return r->define_quantity(name, "1", scope, PERFIELD_STEPS_SUM, PERFIELD_THREADS_SUM, "");
  };
  inside = define("inside", PERFIELD_PER_REGION);
  of_rank = define("of rank", PERFIELD_PER_RANK);
  std::vector<unsigned char> entry;
  Sums sums;
  const auto write = [&] {
    StepView step;
    entry.resize(step_body_room(*r).all);
    const size_t bytes = encode_step(*r, StepBody{}, entry.data(), entry.size());
    if (!view_step(entry.data(), bytes, &step)) abort();
    sums.add(step);
  };
  r->open(monotonic_ns());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([s = r->add_profile()] { work(*s); });
  int wrong = 0;
  for (uint64_t passes = 1; passes <= kPasses && !wrong; ++passes) {
    pass = int(passes);
    for (uint64_t closed = 0, last = 0; !last; ++closed) {
      last = done == int(passes) * kThreads;
      const uint64_t now = monotonic_ns();
      r->collect(now);
      if (last || closed % 8 == 0) write();
      r->open(now);
    }
    wrong = wrong_after(passes, sums);
  }
  pass = kPasses;
  for (std::thread& thread : threads) thread.join();
  if (!wrong) std::puts("exact");
  return wrong;
}
