// SPDX-License-Identifier: BSD-3-Clause
//
// columns.hpp - the kernel that turns step entries into fields: one column per field, one number
// per rank. Facts about the whole run are an argument, so that absent (NaN) and 0 stay distinct.
// Used by a program that reads its own measurement, by the summary and by Python.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/calls.h"
#include "format/decode.hpp"
#include "format/known_quantities.hpp"

namespace perfield {

// Whether calls of that class may wait for other ranks: all MPI classes but MPI-IO and `other`.
constexpr bool may_wait(uint16_t time_class) {
  return time_class < kMpiClasses && time_class != PERFIELD_CLASS_io &&
         time_class != PERFIELD_CLASS_other;
}

// Whether messages by that call are the rank's own (sent, put or fetched), not ones that arrived.
bool sends(uint16_t call);
bool fetches(uint16_t call);
// Returns "" for numbers that calls.def does not have.
const char* call_name(uint16_t call);

struct MessageSums {
  double count = 0, bytes = 0;
};

inline constexpr int kFilesInside = int(KnownQuantity::file_time_inside);
inline constexpr int kTimesInside = kFilesInside + 1;  // of regions: MPI's classes, and files

// The sums over the step entries of one rank, without regions. Sums are whole numbers.
struct RankSums {
  double rank = 0;
  bool is_alone = false;     // in its world
  bool has_mpi = false;      // watched; MPI calls or messages in the entries say so, too
  bool has_files = false;    // watched without MPI; file calls in the entries say so, too
  bool is_imported = false;  // figures of the process are not known

  double measured_ns = 0, perfield_ns = 0, cpu_user_ns = 0, cpu_system_ns = 0;
  double voluntary_switches = 0, involuntary_switches = 0, minor_faults = 0, major_faults = 0;
  double io_read_bytes = 0, io_write_bytes = 0, io_read_count = 0, io_write_count = 0;
  double own_file_count = 0;           // file calls outside MPI
  double resident_bytes = 0, pu = -1;  // the newest
  double class_ns[kMpiClasses] = {};   // in MPI calls, by class
  // Times without a PU, see known_quantities.hpp, and which of them are known, as bits.
  double without_pu_ns[kTimesWithoutPu] = {};
  unsigned known_without_pu = 0;
  double file_ns = 0;               // in file calls outside MPI
  const double* amounts = nullptr;  // quantities of the rank, by place; NaN where absent
  MessageSums sent, received;
  double n_peers = 0, mpi_call_count = 0;
  double waited_for_ns = 0;

  // Adds an entry, without peers and waits, which need other ranks. known: the rank's quantities,
  // by its ids.
  void add(const StepView& step, const std::vector<KnownQuantity>& known);
  // Adds another rank's sums.
  void add(const RankSums& other);

  double mpi_ns() const;
  double waiting_ns() const;  // in calls that may wait for other ranks
  double io_ns() const { return class_ns[PERFIELD_CLASS_io] + file_ns; }
  // Measured time without MPI and files, at least 0; and that without delayed_ns().
  double outside_calls_ns() const;
  double compute_ns() const { return outside_calls_ns() - delayed_ns(); }
  // CPU time of computing, at least: all but what calls may have used.
  double compute_cpu_ns() const;
  double without_pu(KnownQuantity what) const { return without_pu_ns[number_without_pu(what)]; }
  bool knows(KnownQuantity what) const { return known_without_pu >> number_without_pu(what) & 1; }
  // Time outside of calls in which a thread was ready to run but had no PU, at least; 0 if it is
  // not known.
  double delayed_ns() const;

 private:
  void add_known(KnownQuantity what, double amount);
};

// What is known about one rank.
struct KnownRank {
  bool mpi = false, files = false;  // watched
  // For each of the rank's ids, the place of the quantity in KnownRun, -1: none. A rank that
  // defines a quantity has it, even if nothing was added.
  std::vector<int16_t> quantities;

  // Notes a source by its name in `rank` and `end` entries.
  void has_source(std::string_view name);
  bool operator==(const KnownRank& other) const;
};

// A quantity that ranks have defined under one name.
struct RunQuantity {
  std::string name, stored, help;  // stored: the unit of its rows
  bool per_rank = false;           // else per region
  bool is_state = false;           // takes the largest or the last of several values
  bool is_largest = false;

  KnownQuantity known() const { return known_quantity(name, per_rank); }
  bool operator==(const RunQuantity& other) const;
};

// What is known about the run: about as many ranks as the columns have numbers.
struct KnownRun {
  struct Region {
    uint32_t stem;
    int32_t block;  // of the rank's mesh, -1: none
    bool operator==(const Region& other) const {
      return stem == other.stem && block == other.block;
    }
  };

  uint32_t world_size = 0;
  bool several_threads = false;  // of a rank in the same region
  int32_t first_rank = 0;        // the rank of a column's first number
  bool has_all_ranks = true;
  std::vector<KnownRank> ranks;
  std::bitset<PERFIELD_CALL_LIMIT> calls_seen;  // in messages
  std::vector<std::string> stems;               // how the names of the regions' fields begin
  std::vector<Region> regions;
  std::vector<uint64_t> local_begin;  // n_ranks + 1: where a rank's part of `local` begins
  std::vector<int32_t> local;         // the rank's regions by their local id, -1: none
  int32_t other_region = -1;          // stands for ids beyond them; -1: none
  std::vector<RunQuantity> quantities;

  // The place of a quantity; adds it if it is new. -1 if another rank's rows have another unit.
  int16_t place_of(const RunQuantity& quantity);
  // The kinds of time inside regions that ranks defined, as bits.
  uint32_t times_inside() const;
  int counter(std::string_view name) const;  // a quantity of regions; -1: none
  bool operator==(const KnownRun& other) const;
};

// One rank's sums of one region. NaN for counters that the rank lacks.
class RegionSums {
 public:
  double time_ns = 0, count = 0, self_ns = 0;  // times of the thread with most of it
  double shortest_ns = 0, mean_ns = 0;         // over the threads that entered it
  double threads = 0;                          // the most that entered it in one step
  double all_ns = 0;                           // of all threads together

  double class_ns(int time_class) const { return inside_[time_class]; }
  double mpi_ns() const;
  double compute_ns() const;
  double amount(int quantity) const;  // in the field's unit
  bool has(int quantity) const;
  double instructions() const;
  double cycles() const;

 private:
  friend class ColumnFiller;
  const double* inside_ = nullptr;  // by kind of time, then by quantity
  const KnownRank* rank_ = nullptr;
  const class Columns* columns_ = nullptr;
};

// A kind of field that a run has: a row of fields.def, filled in for one class, call or quantity.
struct ColumnKind {
  std::string name;  // contains `<region>` for a region's field
  std::string unit, meaning;
  uint16_t row;  // of fields.def
  int16_t c;     // class, call or quantity
};

// A field of a run.
struct Column {
  std::string name;
  uint32_t kind;
  int32_t stem;  // its region's; -1: none
};

class Columns {
 public:
  explicit Columns(KnownRun facts);

  const KnownRun& facts() const { return facts_; }
  // All fields of the run: those of ranks, then those of regions, stem by stem.
  const std::vector<Column>& all() const { return all_; }
  const std::vector<ColumnKind>& kinds() const { return kinds_; }

 private:
  friend class ColumnFiller;
  friend class RegionSums;
  std::vector<int> by_name(bool per_rank) const;
  void add_kinds(uint16_t row);
  void add_columns();

  KnownRun facts_;
  std::vector<ColumnKind> kinds_;
  std::vector<Column> all_;
  std::vector<double> factors_;                    // of quantities
  std::vector<std::vector<KnownQuantity>> known_;  // each rank's, by its ids
  int instructions_, cycles_;                      // quantities, -1: none
  // A region's slot is its stem; a region with a block also has a slot of its own.
  std::vector<int32_t> block_slot_;  // by region, -1: none
  std::vector<uint32_t> region_of_;  // by such a slot, counted from the first of them
};

// Fills the wanted columns. Use one per thread; several may share the same Columns.
class ColumnFiller {
 public:
  struct BlockValue {
    uint32_t wanted;  // position among the wanted columns
    int32_t place, block;
    double value;
  };

  // wanted: numbers in columns.all().
  ColumnFiller(const Columns& columns, const std::vector<uint32_t>& wanted);

  // For each rank and step: begin, add each entry, end. place: the rank's position in the columns.
  void begin(size_t place);
  // waited_for: by place; gets the ns that this rank waited for each other rank. May be nullptr.
  void add(const StepView& step, double* waited_for);
  // Writes number n of the wanted columns to out[n * stride], which the caller has filled with NaN.
  void end(double* out, size_t stride, std::vector<BlockValue>* blocks);
  // The position of waited_for_time_s among the wanted columns, -1: not wanted. Its values are
  // known only when all ranks were added. Then add them where the column is not NaN.
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
  std::vector<double> amounts_;  // of quantities of the rank
  std::vector<int32_t> peers_;
  size_t slot_size_;
  std::vector<double> slots_;     // own sums; by kind of time; by quantity
  std::vector<uint8_t> entered_;  // by slot: 1 met, 2 entered
  std::vector<int32_t> met_;
};

}  // namespace perfield
