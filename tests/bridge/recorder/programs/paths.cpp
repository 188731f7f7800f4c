// SPDX-License-Identifier: BSD-3-Clause
//
// paths.cpp - `paths MAX_PATHS`: a random program enters regions inside one another, also in
// recursions and in pauses, and calls MPI there. It counts by itself what each path has in each
// step, and compares that with the step's entry: exactly, other paths included. Prints "exact". For
// test_races.py.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "format/decode.hpp"
#include "recorder/fast_path.hpp"
#include "recorder/recorder.hpp"
#include "recorder/step_entry.hpp"

using namespace perfield;

namespace {

constexpr uint32_t kRegions = 6;
constexpr size_t kDeepest = 9;

using Path = std::vector<uint32_t>;  // regions, the outermost first
struct Values {
  uint64_t count = 0, inclusive = 0, self = 0, mpi = 0;
  bool operator==(const Values& other) const {
    return count == other.count && inclusive == other.inclusive && self == other.self &&
           mpi == other.mpi;
  }
  bool is_empty() const { return !(count | inclusive | self | mpi); }
};

// What the program knows of itself: time by time, where it was.
struct Truth {
  Path now;
  std::map<Path, Values> of;
  bool counts = true;

  void spend(uint64_t ticks, bool in_mpi) {
    if (!counts) return;
    for (size_t n = 1; n <= now.size(); ++n) {
      Values& values = of[Path(now.begin(), now.begin() + int(n))];
      values.inclusive += ticks;
      if (n == now.size()) values.self += ticks;
      if (in_mpi) values.mpi += ticks;
    }
  }
  void enter(uint32_t region) {
    now.push_back(region);
    if (counts) ++of[now].count;
  }
};

struct Program {
  std::unique_ptr<Recorder> recorder{new Recorder};
  ThreadProfile* profile;
  std::map<uint32_t, Path> known;  // by number
  std::vector<unsigned char> entry;
  uint64_t now = 1;
  Truth truth;

  explicit Program(uint32_t max_paths) {
    recorder->paths.configure(max_paths);
    recorder->start(16, true, 1e9, 0);
    for (uint32_t i = 1; i <= kRegions; ++i)
      recorder->regions.define(("region " + std::to_string(i)).c_str(), "", 0);
    profile = recorder->add_profile();
    recorder->open(now);
  }

  void spend(uint64_t ticks) {
    now += ticks;
    truth.spend(ticks, false);
  }
  void call(uint64_t ticks) {
    if (!truth.counts) return;
    profile->enter_call(PERFIELD_CALL_recv, nullptr, nullptr, now);
    const uint64_t begin = now;
    now += ticks;
    truth.spend(ticks, true);
    profile->exit_call(PERFIELD_CALL_recv, begin, now, 0, 0);
  }
  void enter(uint32_t region) {
    const GivenTicks clock{now};
    truth.enter(region);
    if (profile->enter_fast(region, clock) || profile->enter_corrected(region, clock) ||
        profile->enter_unmeasured(region))
      return;
    profile->enter_region(region, region, true, now);
    recorder->allow_fast_path(*profile, region);
  }
  void leave() {
    const uint32_t region = truth.now.back();
    truth.now.pop_back();
    if (!profile->leave_fast(region, GivenTicks{now}) && !profile->leave_unmeasured(region))
      profile->leave_region(region, now);
  }

  // Ends a step and compares it. Returns what is wrong, "" if nothing.
  std::string close() {
    if (truth.counts) recorder->collect(now);
    PathTable::define_paths(*recorder, [this](const std::vector<PathDefinition>& rows) {
      for (const PathDefinition& row : rows) {
        Path path = row.outer ? known.at(row.outer) : Path{};
        path.push_back(row.region);
        known[row.path] = path;
      }
      return true;
    });
    StepView step;
    entry.resize(step_body_room(*recorder).all);
    if (!view_step(entry.data(), encode_step(*recorder, StepBody{}, entry.data(), entry.size()),
                   &step))
      return "no entry";
    const std::string wrong = compare(step);
    truth.of.clear();
    return wrong;
  }

  std::string compare(const StepView& step) {
    std::map<uint32_t, Values> regions, mpi;
    for (const QuantityRow row : step.quantities) mpi[row.region].mpi += row.value;
    for (const RegionRow row : step.regions)
      regions[row.id] = {row.count, row.inclusive_sum_ns, row.self_sum_ns, mpi[row.id].mpi};
    std::map<Path, Values> expected;
    std::map<uint32_t, Values> others;
    std::map<uint32_t, int> rows_of;
    for (const PathRow row : step.paths) {
      const Values values = {row.count, row.inclusive_sum_ns, row.self_sum_ns, row.mpi_ns};
      ++rows_of[row.region];
      if (!row.path)
        others[row.region] = values;
      else
        expected[known.at(row.path)] = values.is_empty() ? regions[row.region] : values;
    }
    for (const auto& [region, values] : regions)
      if (!rows_of.count(region)) expected[{region}] = values;
    // What is on no known path is on other paths of its region: there the sums are exact.
    std::map<uint32_t, Values> left;
    for (const auto& [path, values] : truth.of) {
      if (values.is_empty()) continue;
      const auto found = expected.find(path);
      if (found != expected.end()) {
        if (!(found->second == values)) return "a path differs";
        expected.erase(found);
        continue;
      }
      Values& rest = left[path.back()];
      rest.count += values.count;
      rest.self += values.self;
    }
    if (!expected.empty()) return "a path that was not there";
    if (left.size() != others.size()) return "other paths of wrong regions";
    for (const auto& [region, rest] : left)
      if (others[region].count != rest.count || others[region].self != rest.self)
        return "other paths differ";
    return "";
  }
};

}  // namespace

int main(int, char** argv) {
  Program program(uint32_t(atoi(argv[1])));
  std::mt19937 random(11);
  const auto any = [&](uint32_t below) { return random() % below; };
  for (int step = 0; step < 300; ++step) {
    for (int n = 0; n < 150; ++n) {
      program.spend(1 + any(50));
      if (any(5) == 0) program.call(1 + any(20));
      const size_t depth = program.truth.now.size();
      if (depth < kDeepest && (depth == 0 || any(2)))
        program.enter(1 + any(any(3) ? 2 : kRegions));
      else
        program.leave();
    }
    const std::string wrong = program.close();
    if (!wrong.empty()) {
      std::printf("step %d: %s\n", step, wrong.c_str());
      return 1;
    }
    program.truth.counts = any(6) > 0;
    program.truth.counts ? program.recorder->open(program.now) : program.recorder->close();
  }
  if (program.recorder->paths.is_full() != (atoi(argv[1]) < 1000)) {
    std::puts("not as many paths as expected");
    return 1;
  }
  std::puts("exact");
}
