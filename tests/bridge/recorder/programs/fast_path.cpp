// SPDX-License-Identifier: BSD-3-Clause
//
// fast_path.cpp - a random program enters and leaves regions: nested, recursive, deeper than
// the stack, with ends that do not match, pauses, steps that close inside them, quantities, and
// regions that are armed meanwhile. One recorder takes the short way where it can, the other one
// never. Each step of both must have the same entry, byte by byte. Prints "the same". For
// test_races.py.
#include "recorder/fast_path.hpp"

#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "recorder/recorder.hpp"
#include "recorder/step_entry.hpp"

using namespace perfield;

namespace {

constexpr uint32_t kRegions = 12;

struct Side {
  bool short_way;
  std::unique_ptr<Recorder> recorder{new Recorder};
  ThreadProfile* profile = nullptr;
  perfield_quantity amount = 0;
  std::vector<unsigned char> entry;
  uint64_t shortened = 0;

  explicit Side(bool takes_short_way) : short_way(takes_short_way) {
    recorder->start(16, true, 1e9, 0);
    for (uint32_t i = 1; i <= kRegions; ++i)
      recorder->regions.define(("region " + std::to_string(i)).c_str(), "", 0);
    amount = recorder->define_quantity("amount", "1", PERFIELD_PER_REGION, PERFIELD_STEPS_SUM,
                                       PERFIELD_THREADS_SUM, "");
    profile = recorder->add_profile();
  }

  void enter(uint32_t region, uint64_t now) {
    const bool in_time = recorder->state() == Activity::active;
    const GivenTicks clock{now};
    if (short_way &&
        (in_time ? profile->enter_fast(region, clock) || profile->enter_corrected(region, clock)
                 : profile->enter_unmeasured(region))) {
      ++shortened;
      return;
    }
    const bool counts = !recorder->regions[region].armed_only;
    profile->enter_region(region, region, counts, now);
    if (counts) recorder->allow_fast_path(*profile, region);
  }

  void leave(uint32_t region, uint64_t now) {
    const bool in_time = recorder->state() == Activity::active;
    if (short_way && (in_time ? profile->leave_fast(region, GivenTicks{now})
                              : profile->leave_unmeasured(region)))
      ++shortened;
    else
      profile->leave_region(region, now);
  }

  size_t close(uint64_t now) {
    if (recorder->state() == Activity::active) recorder->collect(now);
    entry.resize(step_body_room(*recorder).all);
    return encode_step(*recorder, StepBody{}, entry.data(), entry.size());
  }
};

}  // namespace

int main() {
  Side sides[] = {Side(true), Side(false)};
  std::mt19937 random(7);
  const auto any = [&](uint32_t below) { return random() % below; };
  std::vector<uint32_t> open;
  uint64_t now = 1, events = 0;
  for (Side& side : sides) side.recorder->open(now);
  for (int step = 0; step < 400; ++step) {
    const bool deepens = any(40) == 0;
    for (int n = deepens ? 700 : 200; n > 0; --n, ++events) {
      now += any(50);
      // Mostly the same paths again, for which there is room.
      const uint32_t region = 1 + (any(30) ? uint32_t(open.size()) * 5 % kRegions : any(kRegions));
      const bool enters = open.empty() || any(10) < (deepens ? 9u : open.size() > 20 ? 1u : 6u);
      const bool matches = any(60) > 0;
      const uint32_t left = open.empty() || !matches ? region : open.back();
      for (Side& side : sides) enters ? side.enter(region, now) : side.leave(left, now);
      if (enters) {
        open.push_back(region);
      } else {
        for (size_t at = open.size(); at-- > 0;)
          if (open[at] == left) {
            open.resize(at);
            break;
          }
      }
      const uint64_t amount = any(4) ? 0 : any(100);
      for (Side& side : sides)
        if (side.recorder->state() == Activity::active) side.profile->add(side.amount, amount);
    }
    if (step == 300)
      for (Side& side : sides) side.recorder->forbid_fast_path(3);
    const bool pauses = any(5) == 0;
    const size_t bytes[] = {sides[0].close(now), sides[1].close(now)};
    if (bytes[0] != bytes[1] || memcmp(sides[0].entry.data(), sides[1].entry.data(), bytes[0])) {
      std::printf("step %d differs\n", step);
      return 1;
    }
    now += any(50);
    for (Side& side : sides) pauses ? side.recorder->close() : side.recorder->open(now);
  }
  if (sides[0].shortened < events / 2) {
    std::printf("only %llu of %llu events took the short way\n",
                static_cast<unsigned long long>(sides[0].shortened),
                static_cast<unsigned long long>(events));
    return 1;
  }
  std::puts("the same");
}
