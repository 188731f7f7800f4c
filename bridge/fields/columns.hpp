// SPDX-License-Identifier: BSD-3-Clause
//
// columns.hpp - the kernel that turns step entries into fields: one column per field, one number
// per rank. What is known of the whole run only is an argument, so that absent (NaN) and 0 stay
// apart. Used by the program that asks of itself, by the closing lines and by Python.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/calls.h"
#include "format/decode.hpp"

namespace perfield {

// Whether calls of that class may wait for other ranks: all of MPI but MPI-IO and `other`.
constexpr bool may_wait(uint16_t time_class) {
  return is_mpi_class(time_class) && time_class != PERFIELD_CLASS_io &&
         time_class != PERFIELD_CLASS_other;
}

// Whether messages by that call are the rank's own: sent, put or fetched; others have arrived.
bool sends(uint16_t call);
bool fetches(uint16_t call);
// "" for numbers that calls.def does not have.
const char* call_name(uint16_t call);

struct MessageSums {
  double count = 0, bytes = 0;
};
struct DeviceSums {
  double count = 0, ns = 0, bytes = 0;
};

// What the step entries of one rank add up to, regions aside. Sums are whole numbers.
struct RankSums {
  double rank = 0;
  bool is_alone = false;     // in its world
  bool has_mpi = false;      // watched; calls or messages of MPI in the entries say so, too
  bool has_files = false;    // likewise, other than by MPI
  bool has_kernels = false;  // of devices
  bool has_copies = false;
  bool is_imported = false;  // figures of the process are not known

  double measured_ns = 0, perfield_ns = 0, cpu_user_ns = 0, cpu_system_ns = 0;
  double voluntary_switches = 0, involuntary_switches = 0, minor_faults = 0, major_faults = 0;
  double io_read_bytes = 0, io_write_bytes = 0, io_read_count = 0, io_write_count = 0;
  double own_file_count = 0;           // calls on files that are not MPI's
  double resident_bytes = 0, pu = -1;  // the newest
  double class_ns[kTimeClasses] = {};  // in calls, by class
  DeviceSums devices[4];
  MessageSums sent, received;
  double n_peers = 0, mpi_call_count = 0;
  double waited_for_ns = 0;

  // Adds an entry; peers and waits are not a rank's own sums.
  void add(const StepView& step);
  // Adds what another rank did.
  void add(const RankSums& other);

  double mpi_ns() const;
  double waiting_ns() const;  // in calls that may wait for other ranks
  double io_ns() const { return class_ns[PERFIELD_CLASS_io] + class_ns[PERFIELD_CLASS_file]; }
  double compute_ns() const;  // measured, without MPI and files; at least 0
  const DeviceSums& device(perfield_call call) const {
    return devices[call - PERFIELD_CALL_device_kernel];
  }
  DeviceSums copies() const;
};

// What is known of one rank.
struct KnownRank {
  bool mpi = false, files = false, kernels = false, copies = false;  // watched
  std::vector<int16_t> counters;  // for each number of its own the counter in KnownRun, -1: none

  // Notes a source by the name that stands in `rank` and `end` entries.
  void has_source(std::string_view name);
  bool operator==(const KnownRank& other) const;
};

// What is known of the whole run: of as many ranks as the columns have numbers.
struct KnownRun {
  struct Region {
    uint32_t stem;
    int32_t block;  // of the rank's mesh, -1: none
    bool operator==(const Region& other) const {
      return stem == other.stem && block == other.block;
    }
  };

  uint32_t world_size = 0;
  int32_t first_rank = 0;  // that the first number of a column belongs to
  bool has_all_ranks = true;
  std::vector<KnownRank> ranks;
  std::bitset<PERFIELD_CALL_LIMIT> calls_seen;  // in messages
  uint32_t classes_inside = 0;                  // of time, inside any region; as bits
  std::vector<std::string> stems;               // what the regions' fields begin with
  std::vector<Region> regions;
  std::vector<uint64_t> local_begin;  // n_ranks + 1: where a rank's part of `local` begins
  std::vector<int32_t> local;         // the rank's regions by their local id, -1: none
  int32_t other_region = -1;          // that of ids beyond them; -1: none
  std::vector<std::string> counters;  // in the order of their names

  bool any_rank(bool KnownRank::*fact) const;
  int counter(std::string_view name) const;  // -1: none
  bool operator==(const KnownRun& other) const;
};

// The sums of one region, of one rank. NaN for counters that it does not have.
class RegionSums {
 public:
  double time_ns = 0, count = 0, self_ns = 0;

  double class_ns(int time_class) const { return inside_[time_class]; }
  double mpi_ns() const;
  double compute_ns() const;
  double counted(int counter) const;  // in the counter's unit
  bool has(int counter) const;
  double instructions() const;
  double cycles() const;

 private:
  friend class ColumnFiller;
  const double* inside_ = nullptr;  // by class, then by counter
  const KnownRank* rank_ = nullptr;
  const class Columns* columns_ = nullptr;
};

// A kind of field that a run has: a row of fields.def with a class, a call or a counter in its
// place.
struct ColumnKind {
  std::string name;  // with `<region>` where it is one of regions
  std::string unit, meaning;
  uint16_t row;  // of fields.def
  int16_t c;     // class, call or counter
};

// A field of a run.
struct Column {
  std::string name;
  uint32_t kind;
  int32_t stem;  // of its region, -1: none
};

class Columns {
 public:
  explicit Columns(KnownRun facts);

  const KnownRun& facts() const { return facts_; }
  // All fields that the run has: those of ranks, then those of regions, stem by stem.
  const std::vector<Column>& all() const { return all_; }
  const std::vector<ColumnKind>& kinds() const { return kinds_; }

 private:
  friend class ColumnFiller;
  friend class RegionSums;
  void add_kinds(uint16_t row);
  void add_columns();

  KnownRun facts_;
  std::vector<ColumnKind> kinds_;
  std::vector<Column> all_;
  std::vector<double> factors_;  // of counters
  int instructions_, cycles_;    // counters, -1: none
  // A region's slot is its stem; one that has a block has a slot of its own, too.
  std::vector<int32_t> block_slot_;  // by region, -1: none
  std::vector<uint32_t> region_of_;  // by such a slot, from the first on
};

// Fills wanted columns. One thread each; of the same Columns there may be many.
class ColumnFiller {
 public:
  struct BlockValue {
    uint32_t wanted;  // place among the wanted columns
    int32_t place, block;
    double value;
  };

  // wanted: numbers in columns.all().
  ColumnFiller(const Columns& columns, const std::vector<uint32_t>& wanted);

  // The entries of a rank and step: begin, add each, end. place: of the rank in the columns.
  void begin(size_t place);
  // waited_for: by place, ns that this rank waited for others are added to it; may be nullptr.
  void add(const StepView& step, double* waited_for);
  // Writes number n of the wanted columns to out[n * stride], where NaN stands already.
  void end(double* out, size_t stride, std::vector<BlockValue>* blocks);
  // The place of waited_for_time_s among the wanted columns, -1: not wanted. What was waited for is
  // known when all ranks were added; where the column is not NaN, it is to be added then.
  int waited_for() const { return waited_for_; }

 private:
  struct Wanted {
    uint16_t row;
    int16_t c;
    uint32_t at;
  };
  void touch(int32_t slot);
  int32_t region_of(uint32_t local_id) const;
  double* sums(int32_t slot) { return &slots_[size_t(slot) * slot_size_]; }
  void count_peers();

  const Columns& columns_;
  std::vector<Wanted> of_rank_;
  std::vector<Wanted> of_region_;       // by stem
  std::vector<uint32_t> region_begin_;  // n_stems + 1
  int waited_for_ = -1;
  bool wants_peers_ = false;

  size_t place_ = 0;
  RankSums rank_;
  MessageSums calls_[PERFIELD_CALL_LIMIT];
  std::vector<int32_t> peers_;
  size_t slot_size_;
  std::vector<double> slots_;     // time, entries, self time; by class; by counter
  std::vector<uint8_t> entered_;  // by slot: 1 met, 2 entered
  std::vector<int32_t> met_;
};

}  // namespace perfield
