// SPDX-License-Identifier: BSD-3-Clause
//
// totals.hpp - the data of the summary: sums over ranks, steps and pairs, filled entry by
// entry. Memory is bounded by the bytes read; only the first kMostPairs pairs are kept.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "fields/clock_windows.hpp"
#include "fields/columns.hpp"
#include "format/decode.hpp"
#include "format/known_quantities.hpp"
#include "summary/arrivals.hpp"
#include "summary/delay_regions.hpp"

namespace perfield {

// The rank in which something takes the largest share of the time; -1: none.
struct LargestShare {
  int32_t rank = -1;
  double share = 0;
};

struct RegionTotals {
  uint64_t visits = 0, time_ns = 0, waiting_ns = 0;
};

// The key of a rank's region, by its local id.
inline uint64_t region_key(int32_t rank, uint32_t id) {
  return uint64_t{static_cast<uint32_t>(rank)} << 32 | id;
}

inline constexpr int kGroupOfKey = 48;  // the bit of a step's key where its group begins
static_assert(kMostSteps == uint64_t{1} << kGroupOfKey);
inline constexpr uint64_t kIndexOfKey = (uint64_t{1} << kGroupOfKey) - 1;

// A rank's entry of some steps, by the key of the last one: its index, and the group above it.
struct EntryStep {
  uint64_t step;
  int64_t label;  // the program's own number
  double time, measured_ns, written_bytes;
  int32_t rank;
  uint32_t span;  // how many steps it adds up; 0: of the same steps as the entry before
};

// What one rank measured in one step, for tests over ranks and steps. NaN: not known. Here and
// below a step is a frame: as many steps as the ranks' entries add up; its key is that of the last.
struct RankStep {
  uint64_t step;
  int64_t label;
  int32_t rank;
  uint32_t span;
  float measured_ns, mpi_ns, waiting_ns, file_ns;
  float compute_ns, compute_cpu_ns;  // as in RankSums
  float sent_bytes, cells, points, ghost_cells;
};

// The same of a region, by the rank's id of it: time without MPI and files; and time without calls
// that may wait and without the regions inside it.
struct RegionStep {
  uint64_t step;
  int32_t rank;
  uint32_t id;
  float compute_ns, own_ns;
};

// How long a rank waited for another in a step.
struct WaitedStep {
  uint64_t step;
  int32_t rank, peer;
  float ns;
};

// The numbers and times that the ranks of a group gave to the last of the same steps.
struct StepNumbers {
  int32_t rank = -1, other_rank = -1;  // other: one that gave another number; -1: none
  int64_t label = 0, other_label = 0;
  double time = 0;
  bool same_time = true;  // and known
  uint32_t n_ranks = 0;

  void add(int32_t rank, int64_t label, double time);
  // Whether they show that all ranks closed the same step. Numbers alone may just count closings.
  bool are_the_same() const { return other_rank < 0 && same_time; }
};

// Compute time that lies in no region. Calls inside nested regions may be the same calls, so where
// regions with calls nest, it is known only between two limits.
struct OutsideRegions {
  double compute_ns = 0, least_ns = 0, most_ns = 0;
  bool any_region = false;

  // compute_ns, calls_ns: the rank's. inside: the time of calls inside each region, by its id.
  void add(const StepView& step, double compute_ns, double calls_ns,
           const std::unordered_map<uint32_t, double>& inside);
};

struct PairTotals {
  uint64_t count = 0, bytes = 0, empty = 0;
};

// The ids of a rank's quantities that give the size of its piece of the mesh; -1: none.
struct MeshIds {
  int cells = -1, points = -1, ghost_cells = -1;
};

// Sums over the steps, or over setup and teardown.
struct Totals {
  std::map<int32_t, RankSums> ranks;
  std::vector<EntryStep> entries;                // until they are joined
  std::unordered_map<uint64_t, double> lengths;  // ns of the longest rank, of one step
  std::unordered_map<uint64_t, uint32_t> spans;  // how many of the program's steps each is
  std::unordered_map<uint64_t, double> written;  // bytes to files in one step, by all ranks
  std::unordered_map<uint64_t, StepNumbers> numbers;
  std::vector<RankStep> rank_steps;  // of ranks whose MPI was seen
  std::vector<RegionStep> region_steps;
  std::vector<WaitedStep> waited_steps;
  OutsideRegions outside_regions;
  std::unordered_map<int32_t, double> delayed_ns;  // by rank: of each of its entries, added up
  std::unordered_map<uint64_t, PairTotals> pairs;
  PairTotals messages;                           // everything sent, to any rank
  PairTotals unknown;                            // the part with unknown receiver
  std::unordered_map<uint64_t, uint64_t> waits;  // ns, by waiting rank and the rank it waits for
  std::unordered_map<uint64_t, RegionTotals> regions;  // by rank and its region id
  uint64_t n_steps = 0;                                // the most that one rank closed
  uint64_t n_unmeasured = 0;                           // of these steps

  // is_blind: MPI was not seen there, so compute time is not known either. quantities: those of the
  // rank, by its ids. Returns the sums of this entry.
  RankSums add(int32_t rank, uint64_t index, uint64_t group, bool is_blind, const StepView& step,
               const std::vector<KnownQuantity>& quantities, const MeshIds& mesh);
  // Call when all entries are added: joins ranks whose entries add up different numbers of steps.
  void join();

  RankSums of_all_ranks() const;
  // ns: gives the nanoseconds of a rank's time to compare.
  LargestShare largest_share(const std::function<double(const RankSums&)>& ns) const;
};

inline constexpr size_t kRunParts = 3;  // setup, steps, teardown

// From when to when a rank was in a part of the run, by its stamps, and how long it waited there.
struct PartTimes {
  uint64_t begin_ns = ~uint64_t{0}, end_ns = 0;
  double measured_ns = 0, waiting_ns = 0;

  bool is_known() const { return end_ns >= begin_ns; }
  double ns() const { return is_known() ? double(end_ns - begin_ns) : 0; }
  double waiting() const { return measured_ns > 0 ? waiting_ns / measured_ns : 0; }  // share
};

// What the ranks' end entries hold of the regions and messages that the configuration selects.
struct SelectionSeen {
  bool regions = true, messages = true;       // whether it selects any
  uint64_t n_ended = 0;                       // ranks that answered
  uint64_t n_entered = 0, n_messages = 0;     // regions, and (peer, call) pairs, over all ranks
  std::map<std::string, uint64_t> unmatched;  // entry of `regions` -> ranks without such a region
  std::set<std::string> not_entered, known;
  bool python_without_perfield = false;

  void add(const std::string& end_entry);
};

// The `definition` entry of a region or a quantity.
struct Meaning {
  std::string name;
  bool is_per_rank = false;  // of a quantity
};

// The longest span of the run's entries, which record_limit or slow writing made longer.
struct LongestSpan {
  uint64_t steps = 0, from = 0;
  bool any_measured = false;
  bool one_in_many = false;  // steps between two that were measured; else those of an entry
  uint64_t configured = 1;   // sum_every; the largest number: not known

  void add(uint64_t index, uint32_t span, bool is_measured);
  std::string in_words() const;  // the end of a line, or ""
};

// The largest size of the world that is believed where so many ranks left an entry: larger ones are
// damaged.
int64_t largest_world(uint64_t n_ranks) noexcept;
inline constexpr int32_t kMostUnstated = int32_t{1} << 12;  // ranks where no entry states the size

struct NotBelieved {  // what rank entries state of the world, if that is too many ranks
  int64_t largest = 0, bound = 0;
  uint64_t n = 0, of = 0;  // rank entries that state too many; all that state a size
};

struct RunTotals {
  Totals steps, outside;
  std::map<int32_t, std::array<PartTimes, kRunParts>> parts;  // by rank
  Arrivals arrivals;
  FoundWaiting waiting;  // what they show
  DelayRegions delays;   // and in which regions it began
  LongestSpan longest_span;
  SelectionSeen seen;
  std::map<int32_t, uint64_t> memory;  // perfield's own, by rank, newest
  std::map<int32_t, uint64_t> group;   // by rank: number of its group
  // By rank: its steps below this one are of setup; see StepKind::setup in docs/stream.md.
  std::map<int32_t, uint64_t> restarted;
  // Windows of the clock take the place of steps; see StepKind::window there.
  bool has_windows = false;
  std::map<int32_t, uint64_t> windows;  // by rank: entries of them
  // And some entries are of setup, or of steps that were taken back. So all are put into windows.
  bool has_made_windows = false, any_other = false;
  ClockWindows clock_windows;
  struct MadeWindows {
    uint64_t last = ~uint64_t{0}, n = 0;
  };
  std::map<int32_t, MadeWindows> made_windows;  // by rank
  // By rank: its last step. Entries of the end with a lower index, or this one, are parts of steps;
  // see StepKind::teardown there.
  std::map<int32_t, uint64_t> last_step;
  std::set<int32_t> begun_anew;        // ranks whose steps have, after others were taken back
  bool is_to_be_read_again = false;    // as steps were added that are none, or the reverse
  std::map<int32_t, uint64_t> closed;  // by rank: steps closed
  std::map<int32_t, uint64_t> closed_at_end;  // the same, by ranks that ended well
  std::string injected;                       // what run.json holds of latencies, or ""
  bool steps_by_clock = false;                // step_seconds, or has_windows
  std::map<int32_t, bool> blind;              // by rank: MPI is not among its sources
  std::map<std::string, uint64_t> groups;     // name -> number
  std::unordered_map<uint64_t, std::string> region_names;    // keys as in Totals::regions
  std::map<int32_t, std::vector<KnownQuantity>> quantities;  // by rank and its id
  std::map<int32_t, MeshIds> mesh_ids;
  std::unordered_map<uint64_t, Meaning> meanings;         // by hash
  std::vector<std::pair<int32_t, DefinedRow>> undefined;  // ranks' ids without a meaning so far
  std::map<int32_t, std::string> host, node;              // by rank; node: see node_in
  std::map<int32_t, std::string> cpus;                    // by rank: the newest set of PUs, "0-3,8"
  std::map<int32_t, size_t> n_threads;  // by rank: that compute, where they are several
  int64_t size = 0;                     // of the world, as most rank entries state it
  NotBelieved not_believed;
  uint64_t faults = 0, overflowed = 0, n_damaged = 0, n_strangers = 0;
  std::unordered_map<int32_t, uint32_t> newest;  // sequence, by rank, in the file being read
  uint64_t n_missing = 0;  // entries that could not be written, by ranks that ended
  uint64_t n_unsafe = 0;   // ranks whose file system reported an error in writing back
  uint64_t stream_bytes = 0, mesh_bytes = 0, bytes_read = 0;

  // The index of a rank's step without those that were taken back: ranks may have closed different
  // numbers of them. Windows of the clock have the same index on all ranks.
  uint64_t counted(const EntryHeader& header) const;
  void add(const EntryHeader& header, const unsigned char* body, const StepView* step);
  void add_step(const EntryHeader& header, const StepView& step);
  // The same step as an entry of windows of the clock.
  StepView as_windows(int32_t rank, const StepView& step);
  // Whether windows of the clock take the place of steps.
  bool needs_windows() const;
  // Takes a `definition` entry, which the ids of several ranks may name.
  void add_meaning(const EntryHeader& header, const unsigned char* body);
  void define(int32_t rank, EntryType type, uint32_t id, const Meaning& meaning);
  // Finds for whom ranks waited, where streams have stamps of messages.
  void take_waiting();
  // Names regions whose definition is lost by its hash.
  void define_lost();
  // stated: the size that each rank's entry states.
  void take_sizes(const std::map<int32_t, int64_t>& stated);
  // Whether a rank is one of the world; what entries of others hold is left out.
  bool is_of_world(int32_t rank) const {
    return rank >= 0 && rank < (size ? size : int64_t{kMostUnstated});
  }
  // Whether the entry has come before: NFS may report an error of earlier writes with one that
  // succeeds, which is then tried again.
  bool is_repeated(const EntryHeader& header);
  // Ranks of a world of several ranks whose MPI calls perfield did not see.
  uint64_t n_blind() const;
};

inline constexpr size_t kMostPairs = size_t{1} << 18;

// Reads the newest max_bytes of all stream files of the run, and the first bytes of each. Returns
// "", or the reason why it cannot, in a sentence.
std::string read_totals(const std::string& run_path, uint64_t max_bytes, RunTotals* totals);

}  // namespace perfield
