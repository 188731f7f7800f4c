// SPDX-License-Identifier: BSD-3-Clause
//
// totals.hpp - what the closing lines are made of: sums over ranks, steps and pairs, filled
// entry by entry. Memory is bounded by the bytes read; of pairs the first kMostPairs are kept.
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

// The rank of whose time something takes the largest share; -1: none of anybody's.
struct LargestShare {
  int32_t rank = -1;
  double share = 0;
};

struct RegionTotals {
  uint64_t time_ns = 0, waiting_ns = 0;
};

struct StepTotals {    // of one index in one group
  uint32_t ranks = 0;  // whose compute time is known
  int32_t slowest = -1;
  double most_compute_ns = 0, compute_ns = 0;
  double longest_ns = 0;  // one of the steps that the entry adds up
};

struct PairTotals {
  uint64_t count = 0, bytes = 0, empty = 0;
};

// Sums over the steps, or over what lies before the first and after the last of them.
struct Totals {
  std::map<int32_t, RankSums> ranks;
  std::unordered_map<uint64_t, StepTotals> steps;
  std::unordered_map<uint64_t, PairTotals> pairs;
  PairTotals messages;                                 // all that was sent, to whomever
  PairTotals unknown;                                  // of them, where nobody knows to whom
  std::unordered_map<uint64_t, uint64_t> waits;        // ns, by who waits and for whom
  std::unordered_map<uint64_t, RegionTotals> regions;  // by rank and its id of the region
  uint64_t n_steps = 0;                                // most that one rank closed
  uint64_t n_unmeasured = 0;                           // of them

  // is_blind: MPI was not seen there, so compute time is not known either.
  // quantities: what those of the rank are, by its ids.
  void add(int32_t rank, uint64_t index, uint64_t group, bool is_blind, const StepView& step,
           const std::vector<KnownQuantity>& quantities);

  RankSums of_all_ranks() const;
  // Of what takes so many nanoseconds of a rank's time.
  LargestShare largest_share(const std::function<double(const RankSums&)>& ns) const;
};

struct RunTotals {
  Totals steps, outside;
  std::map<int32_t, uint64_t> memory;                        // perfield's own, by rank, newest
  std::map<int32_t, uint64_t> group;                         // by rank: number of its group
  std::map<int32_t, uint64_t> closed;                        // by rank: steps closed
  std::map<int32_t, bool> blind;                             // by rank: MPI is none of its sources
  std::map<std::string, uint64_t> groups;                    // name -> number
  std::unordered_map<uint64_t, std::string> region_names;    // as Totals::regions
  std::map<int32_t, std::vector<KnownQuantity>> quantities;  // by rank and its id
  std::map<std::string, bool> hosts;
  int64_t size = 0;  // of the world
  uint64_t faults = 0, overflowed = 0, n_damaged = 0, n_strangers = 0;
  uint64_t stream_bytes = 0, mesh_bytes = 0, bytes_read = 0;

  void add(const EntryHeader& header, const unsigned char* body, const StepView* step);
  // Ranks of a world of several that perfield measured without seeing their MPI calls.
  uint64_t n_blind() const;
};

inline constexpr size_t kMostPairs = size_t{1} << 18;

// Reads the newest max_bytes of all stream files of the run, and the first bytes of each.
// Returns "" or the sentence that says why not.
std::string read_totals(const std::string& run_path, uint64_t max_bytes, RunTotals* totals);

}  // namespace perfield
