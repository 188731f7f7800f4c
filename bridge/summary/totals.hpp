// SPDX-License-Identifier: BSD-3-Clause
//
// totals.hpp - the data of the closing lines: sums over ranks, steps and pairs, filled entry by
// entry. Memory is bounded by the bytes read; only the first kMostPairs pairs are kept.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "fields/columns.hpp"
#include "format/decode.hpp"
#include "format/known_quantities.hpp"

namespace perfield {

// The rank in which something takes the largest share of the time; -1: none.
struct LargestShare {
  int32_t rank = -1;
  double share = 0;
};

struct RegionTotals {
  uint64_t time_ns = 0, waiting_ns = 0;
};

struct StepTotals {    // one index in one group
  uint32_t ranks = 0;  // those with known compute time
  int32_t slowest = -1;
  double most_compute_ns = 0, compute_ns = 0;
  double longest_ns = 0;  // one of the steps that the entry covers
};

struct PairTotals {
  uint64_t count = 0, bytes = 0, empty = 0;
};

// Sums over the steps, or over setup and teardown.
struct Totals {
  std::map<int32_t, RankSums> ranks;
  std::unordered_map<uint64_t, StepTotals> steps;
  std::unordered_map<uint64_t, PairTotals> pairs;
  PairTotals messages;                           // everything sent, to any rank
  PairTotals unknown;                            // the part with unknown receiver
  std::unordered_map<uint64_t, uint64_t> waits;  // ns, by waiting rank and the rank it waits for
  std::unordered_map<uint64_t, RegionTotals> regions;  // by rank and its region id
  uint64_t n_steps = 0;                                // the most that one rank closed
  uint64_t n_unmeasured = 0;                           // of these steps

  // is_blind: MPI was not seen there, so compute time is not known either. quantities: those of the
  // rank, by its ids.
  void add(int32_t rank, uint64_t index, uint64_t group, bool is_blind, const StepView& step,
           const std::vector<KnownQuantity>& quantities);

  RankSums of_all_ranks() const;
  // ns: gives the nanoseconds of a rank's time to compare.
  LargestShare largest_share(const std::function<double(const RankSums&)>& ns) const;
};

struct RunTotals {
  Totals steps, outside;
  std::map<int32_t, uint64_t> memory;                      // perfield's own, by rank, newest
  std::map<int32_t, uint64_t> group;                       // by rank: number of its group
  std::map<int32_t, uint64_t> closed;                      // by rank: steps closed
  std::map<int32_t, uint64_t> closed_at_end;               // the same, as the ended ranks say
  bool steps_by_clock = false;                             // step_seconds
  std::map<int32_t, bool> blind;                           // by rank: MPI is not among its sources
  std::map<std::string, uint64_t> groups;                  // name -> number
  std::unordered_map<uint64_t, std::string> region_names;  // keys as in Totals::regions
  std::map<int32_t, std::vector<KnownQuantity>> quantities;  // by rank and its id
  std::map<std::string, bool> hosts;
  int64_t size = 0;  // of the world
  uint64_t faults = 0, overflowed = 0, n_damaged = 0, n_strangers = 0;
  uint64_t stream_bytes = 0, mesh_bytes = 0, bytes_read = 0;

  void add(const EntryHeader& header, const unsigned char* body, const StepView* step);
  // Ranks of a world of several ranks whose MPI calls perfield did not see.
  uint64_t n_blind() const;
};

inline constexpr size_t kMostPairs = size_t{1} << 18;

// Reads the newest max_bytes of all stream files of the run, and the first bytes of each. Returns
// "", or a sentence that says why it cannot.
std::string read_totals(const std::string& run_path, uint64_t max_bytes, RunTotals* totals);

}  // namespace perfield
