// SPDX-License-Identifier: BSD-3-Clause
//
// entry.hpp - the layout of a stream, defined once for C++; docs/stream.md gives the meaning of
// each number. Plain structs without padding, written as they lie in memory (little-endian
// machines).
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfield {

inline constexpr unsigned char kMarker[8] = {0xF1, 'p', 'f', 'e', 'n', 't', 'r', '\n'};

enum class EntryType : uint16_t {
  rank = 1,
  region = 2,
  place = 3,
  clock = 4,
  step = 5,
  mesh = 6,
  end = 7,
  field = 8,
  sites = 9,
  quantity = 10,
  definition = 11,
  defined = 12,
  reference = 13,
  events = 14,
  communicator = 15,
  samples = 16,
  modules = 17,
  paths = 18
};

// The version of a step's body that is stated as differences to an earlier one, see pack.hpp.
inline constexpr uint16_t kPackedStep = 4;
// The body version of each type that this perfield writes and reads.
constexpr uint16_t body_version(EntryType type) {
  return type == EntryType::step ? 3 : type == EntryType::samples ? 2 : 1;
}

// The boot id in a `rank` entry where the kernel's cannot be read.
inline constexpr char kUnknownBoot[] = "00000000";

// Steps of a run: at one every nanosecond, 3 days. Larger indexes are damaged.
inline constexpr uint64_t kMostSteps = uint64_t{1} << 48;

enum class StepKind : uint16_t { step = 0, setup = 1, teardown = 2, window = 3 };
// In a run without a step, so many windows on a rank take the place of steps.
inline constexpr uint64_t kFewestWindows = 8;
inline constexpr int64_t kWindow_ns = 250'000'000;  // their length
enum StepFlags : uint16_t {
  kStepPaused = 1,
  kStepLabelFell = 2,
  kStepNotMeasured = 4,
  kStepNoProcess = 8  // from a trace: figures of the process and of perfield are not known
};

struct EntryHeader {
  unsigned char marker[8];
  uint16_t type;
  uint16_t version;
  uint32_t body_bytes;
  uint64_t run_id;
  int32_t rank;
  uint32_t sequence;
  uint64_t index;
  uint32_t body_crc;
  uint32_t header_crc;
};
static_assert(sizeof(EntryHeader) == 48);

struct StepBody {
  int64_t label;
  double time;
  uint32_t span;
  uint16_t kind;
  uint16_t flags;
  uint64_t begin_ns;
  uint64_t end_ns;
  int64_t realtime_ns;
  uint64_t measured_ns;
  uint64_t perfield_ns;
  uint64_t perfield_bytes;
  uint64_t resident_bytes;
  uint64_t cpu_user_ns;
  uint64_t cpu_system_ns;
  uint64_t voluntary_switches;
  uint64_t involuntary_switches;
  uint64_t minor_faults;
  uint64_t major_faults;
  uint64_t faults;
  uint64_t overflowed;
  uint16_t mesh_version;
  int16_t pu;
  uint32_t n_tables;
};
static_assert(sizeof(StepBody) == 152);

// Precedes the rows of each table of a step; a table without rows may be left out. Readers skip
// unknown tables, and extra columns at the end of longer rows.
enum class StepTable : uint16_t {
  regions = 1,
  messages = 2,
  waits = 3,
  calls = 4,
  quantities = 5,
  collectives = 6,
  synchronisations = 7,
  paths = 8
};
inline constexpr int kStepTables = 8;
struct TableHeader {
  uint16_t table;
  uint16_t row_bytes;
  uint32_t rows;
};
static_assert(sizeof(TableHeader) == 8);

struct RegionRow {
  uint32_t id;
  uint32_t threads;
  uint64_t count;
  uint64_t inclusive_sum_ns, inclusive_min_ns, inclusive_max_ns;
  uint64_t self_sum_ns, self_min_ns, self_max_ns;
};
static_assert(sizeof(RegionRow) == 64);

// Sums of stamps: ns on the rank's clock, modulo 2^64; of one message, its stamp. 0: not known of
// all messages. most_in_call: how many of these messages one call completed, at most; 0: not known.
inline constexpr int kSizeBins = 8;
struct MessageRow {
  int32_t peer;
  uint16_t call;
  uint16_t zero;
  uint64_t count, bytes;
  uint32_t empty, most_in_call;
  uint64_t largest;
  uint64_t begun_sum, wait_begin_sum, wait_end_sum;
  uint32_t number, channel;   // of the last message; 0: not known
  uint32_t sizes[kSizeBins];  // messages by size, see size_bin
};
static_assert(sizeof(MessageRow) == 104);

// Two sums of stamps as one; 0 means that not all stamps are known, and stays 0.
inline uint64_t sum_of_known(uint64_t a, uint64_t b) noexcept { return a && b ? a + b : 0; }

// The bin of a message's size: below 64 B, 512 B, 4 kB, 32 kB, 256 kB, 2 MB, 16 MB, or larger.
inline constexpr unsigned char kBinOfBits[64] = {
    0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
constexpr int size_bin(uint64_t bytes) noexcept {
  return kBinOfBits[63u - unsigned(__builtin_clzll(bytes | 1))];
}

struct WaitRow {
  int32_t peer;
  uint32_t zero;
  uint64_t count, ns;
};
static_assert(sizeof(WaitRow) == 24);

struct CallRow {
  uint16_t call;
  uint16_t time_class;
  uint32_t zero;
  uint64_t count, ns, bytes_out, bytes_in;
};
static_assert(sizeof(CallRow) == 40);

// The value of a region or of the rank, in a quantity that one of the rank's `quantity` entries
// defines.
struct QuantityRow {
  uint32_t region;  // kOfRank: the rank itself
  uint16_t quantity;
  uint16_t zero;
  uint64_t value;
};
static_assert(sizeof(QuantityRow) == 16);
inline constexpr uint32_t kOfRank = 0xFFFFFFFF;

// Collective operations of one kind on one communicator; sums of stamps and most_in_call as in
// MessageRow.
struct CollectiveRow {
  uint32_t communicator;  // its name; 0: not named, or the table was full
  uint16_t call;
  uint16_t flags;  // 1: this rank was the root of one of them
  uint64_t count, bytes_out, bytes_in;
  uint64_t begun_sum, wait_begin_sum, wait_end_sum;
  uint32_t number;  // of the last one; 0: not known
  uint32_t most_in_call;
};
static_assert(sizeof(CollectiveRow) == 64);

// Synchronisations of one-sided transfers by MPI_Win_post, -start, -complete and -wait with one
// partner; sums of stamps as in MessageRow.
struct SynchronisationRow {
  int32_t peer;
  uint16_t call;
  uint16_t zero;
  uint64_t count;
  uint64_t begun_sum, wait_begin_sum, wait_end_sum;
  uint32_t number, channel;  // of the last one; 0: not known
};
static_assert(sizeof(SynchronisationRow) == 48);

// What a region has on one path. A region that has all on one path has a row without numbers, or
// none if that path is outside of all other regions.
struct PathRow {
  uint32_t path;  // by a row of a `paths` entry; 0: on other paths
  uint32_t region;
  uint64_t count;
  uint64_t inclusive_sum_ns, inclusive_max_ns;  // over threads
  uint64_t self_sum_ns;
  uint64_t mpi_ns, file_ns;  // of the inclusive time
};
static_assert(sizeof(PathRow) == 56);

// A row of a `paths` entry: a path is a region inside the path around it.
struct PathDefinition {
  uint32_t path;
  uint32_t outer;  // 0: outside of all regions
  uint32_t region;
  uint32_t zero;
};
static_assert(sizeof(PathDefinition) == 16);

// A row of a `defined` entry: the rank's id of the region or quantity that a `definition` entry of
// any rank describes.
struct DefinedRow {
  uint64_t hash;  // the index of that entry
  uint32_t id;
  uint16_t type;  // EntryType::region or quantity
  uint16_t zero;
};
static_assert(sizeof(DefinedRow) == 16);

// The hash that names a definition's text, without the spaces behind it; never 0. FNV-1a.
uint64_t hash_of_definition(const char* text, size_t bytes) noexcept;

// CRC-32C (Castagnoli) of a buffer; hardware instruction where the CPU has it.
uint32_t crc32c(const void* data, size_t bytes, uint32_t seed = 0) noexcept;

}  // namespace perfield
