// SPDX-License-Identifier: BSD-3-Clause
//
// path_table.hpp - what a thread counted on each path of regions (see Paths), and so in each
// region: a region's own numbers are sums over its paths. A path's value at a moment is its
// completed time plus the open part of its present entries. Steps are differences of such values,
// so errors never add up.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "format/entry.hpp"
#include "recorder/counter.hpp"
#include "recorder/dirty_rows.hpp"
#include "recorder/paths.hpp"
#include "recorder/region_stack.hpp"
#include "recorder/step_rows.hpp"
#include "recorder/thread_state.hpp"

namespace perfield {

// Entries of a path, their times, and what was not inside regions further in. One cache line.
struct alignas(64) PathCounters {
  MonotonicCounter count, inclusive, self;
  // RegionStackEntry::region of an entry that counts for the region itself, once the slow path has
  // found that it does; 0: take the slow path. Other threads reset it when the region is armed.
  std::atomic<uint64_t> fast_region{0};
  // Predictions, as programs do the same again and again: the path that is entered first inside
  // this one, and the one that is entered next beside it. Own thread only.
  uint32_t first_inside = 0, next_beside = 0;
};

// Ticks of an inclusive time that were spent in calls.
struct TicksInCalls {
  uint64_t mpi, files;
};

class PathTable {
 public:
  struct RegionValues {
    uint64_t count, inclusive, self;
  };
  struct Values {
    uint64_t count, inclusive, self;
    TicksInCalls in_calls;
  };
  // What the threads of a rank have together.
  struct OfRank {
    void place(Arena& arena, uint32_t max_regions, uint32_t max_paths) noexcept;

    Bits regions, paths;                  // those with something pending in any thread
    Bits defined_regions, defined_paths;  // those whose definition is in the stream
    Bits sampled_paths;                   // that samples name since definitions were last written
    // [max_regions], for adding up the threads: unused ones have no threads, or are 0.
    RegionRow* region_rows;
    uint32_t* only_path;  // the only path of a region that has something pending, or kSeveral
  };

  void place(Arena& arena, Paths& of_rank, uint32_t max_regions) noexcept;

  // --- count: by the thread itself; regions count in `rows`, see ThreadProfile -------------------
  void add_in_calls(uint32_t path, TicksInCalls ticks) noexcept {
    in_calls_[path].mpi.add(ticks.mpi);
    in_calls_[path].files.add(ticks.files);
  }
  // After counting in a row.
  void mark(ThreadState& thread, uint32_t path) noexcept {
    mark_dirty(dirty, path, thread.dirty,
               known->is_other(path) ? DirtyTable::other_paths : DirtyTable::paths);
  }

  // --- collect, encode, bytes: by the closing thread ---------------------------------------------
  // n_regions: asked for after the marks of the tables were taken.
  void collect(OfRank& all, uint64_t dirty_tables, uint32_t n_regions) noexcept;
  // The open part of present entries, and their count: entering a region marks nothing.
  void collect_open(OfRank& all, const ThreadState& thread, const RegionStack& stack,
                    uint64_t now) noexcept;
  void collect_in_calls(OfRank& all, uint32_t path, TicksInCalls ticks) noexcept {
    if (add_pending(path, {0, 0, 0, ticks})) note(all, path);
  }
  // Time since the last closing belongs to no step. Counts do: their marks stay.
  void skip(uint64_t dirty_tables, uint32_t n_regions) noexcept;
  static void encode_regions(StepRows& rows) noexcept;
  static void encode_paths(StepRows& rows) noexcept;
  // Bytes of an entry that all rows of the rank may take.
  static size_t room(Recorder& recorder) noexcept;
  uint64_t bytes(uint32_t n_regions) const noexcept;

  // Writes the definitions of the regions that must precede the next step: one for each region with
  // its first row there. Regions that were never entered or are not selected have none. Calls
  // write(id, JSON text without the id), which returns whether it will be in the stream; else it is
  // due again.
  static void define_regions(
      Recorder& recorder, const std::function<bool(uint32_t id, const std::string& json)>& write);
  // The same for paths and those around them, which come first: all rows at once.
  static void define_paths(
      Recorder& recorder,
      const std::function<bool(const std::vector<PathDefinition>& rows)>& write);

  PathCounters* rows;    // [known->n_rows()]
  unsigned char* dirty;  // of these rows
  Paths* known = nullptr;

 private:
  static constexpr uint32_t kSeveral = ~uint32_t(0);
  struct CountersInCalls {
    MonotonicCounter mpi, files;
  };

  static void encode_path(StepRows& rows, uint32_t path, uint32_t* n) noexcept;
  // Return whether there was anything to add.
  bool add_pending(uint32_t region, const RegionValues& more) noexcept;
  bool add_pending(uint32_t path, const Values& more) noexcept;
  void note(OfRank& all, uint32_t path) noexcept {
    pending_rows_.add(path);
    all.paths.add(path);
  }
  // Adds to the path and to its region. Notes the region, not the path.
  bool add_both(OfRank& all, uint32_t path, bool is_outermost, const Values& more) noexcept;

  CountersInCalls* in_calls_;  // of the same rows
  // Closing thread only: what is pending of each row and region, and where there is anything.
  Values* pending_;
  RegionValues* pending_regions_;
  Bits pending_rows_, pending_region_rows_;
};

}  // namespace perfield
