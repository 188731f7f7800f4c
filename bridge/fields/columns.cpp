// SPDX-License-Identifier: BSD-3-Clause
//
// columns.cpp - see columns.hpp. Walks over an entry's tables and adds up the sums that fields.def
// computes its values from.
#include "fields/columns.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "fields/fields.hpp"

namespace perfield {
namespace {

struct CallFacts {
  const char* name = "";
  bool sends = false, fetches = false, reads = false, writes = false;
};

struct CallTable {
  CallFacts of[PERFIELD_CALL_LIMIT];
  constexpr CallTable() {
    const auto has = [](std::string_view name, std::string_view word) {
      return name.find(word) != std::string_view::npos;
    };
#define PERFIELD_CALL(number, name_, time_class, message)                             \
  of[number].name = #name_;                                                           \
  of[number].sends = #message[0] != 'n';                                              \
  of[number].fetches = #message[0] == 'f';                                            \
  if (PERFIELD_CLASS_##time_class == PERFIELD_CLASS_io) { /* their names say which */ \
    of[number].reads = has(#name_, "_read");                                          \
    of[number].writes = has(#name_, "_write");                                        \
  }
#include "format/calls.def"
#undef PERFIELD_CALL
  }
};
constexpr CallTable kCalls;

constexpr uint16_t kLastCall = PERFIELD_CALL_LIMIT - 1;
const CallFacts& facts_of(uint16_t call) { return kCalls.of[std::min(call, kLastCall)]; }

// A row of fields.def as functions.
struct Row {
  bool (*in_run)(const KnownRun& run, int c);
  bool (*absent)(const RankSums& s, const RegionSums& r, int c);
  double (*value)(const RankSums& s, const MessageSums& call, const RegionSums& r, int c);
};

#define PERFIELD_IN_RUNS(rule, condition, meaning)                                    \
  bool in_runs_##rule([[maybe_unused]] const KnownRun& run, [[maybe_unused]] int c) { \
    return condition;                                                                 \
  }
#define PERFIELD_ABSENT(rule, condition, meaning)                                              \
  bool absent_##rule([[maybe_unused]] const RankSums& s, [[maybe_unused]] const RegionSums& r, \
                     [[maybe_unused]] int c) {                                                 \
    return condition;                                                                          \
  }
#include "fields/fields.def"

constexpr Row kRows[] = {
#define PERFIELD_FIELD(name, unit, better, over_steps, over_threads, in_runs, absent, source, \
                       value, meaning)                                                        \
  {&in_runs_##in_runs, &absent_##absent,                                                      \
   []([[maybe_unused]] const RankSums& s, [[maybe_unused]] const MessageSums& call,           \
      [[maybe_unused]] const RegionSums& r, [[maybe_unused]] int c) -> double { return value; }},
#include "fields/fields.def"
};

constexpr size_t kOwnSums = 7;  // of a region, as RegionSums lists them
constexpr size_t kInsideAt = kOwnSums;
constexpr size_t kQuantitiesAt = kInsideAt + kTimesInside;

// Adds one row to a quantity's value.
void add_row(const RunQuantity& quantity, double value, double* amount) {
  if (!quantity.is_state)
    *amount += value;
  else if (!quantity.is_largest || !(*amount >= value))
    *amount = value;
}

}  // namespace

bool sends(uint16_t call) { return facts_of(call).sends; }
bool fetches(uint16_t call) { return facts_of(call).fetches; }
const char* call_name(uint16_t call) { return facts_of(call).name; }

// --- sums of a rank -----------------------------------------------------------------------------

void RankSums::add(const StepView& step, const std::vector<KnownQuantity>& known) {
  const StepBody& b = step.fixed;
  measured_ns += double(b.measured_ns);
  perfield_ns += double(b.perfield_ns);
  cpu_user_ns += double(b.cpu_user_ns);
  cpu_system_ns += double(b.cpu_system_ns);
  voluntary_switches += double(b.voluntary_switches);
  involuntary_switches += double(b.involuntary_switches);
  minor_faults += double(b.minor_faults);
  major_faults += double(b.major_faults);
  resident_bytes = double(b.resident_bytes);
  pu = b.pu;
  is_imported |= (b.flags & kStepNoProcess) != 0;

  has_mpi |= step.calls.size() > 0;
  for (const CallRow row : step.calls) {
    mpi_call_count += double(row.count);
    if (row.time_class < kMpiClasses) class_ns[row.time_class] += double(row.ns);
    if (row.time_class != PERFIELD_CLASS_io) continue;
    const CallFacts& call = facts_of(row.call);
    if (call.reads) io_read_count += double(row.count);
    if (call.writes) io_write_count += double(row.count);
    io_read_bytes += double(row.bytes_in);
    io_write_bytes += double(row.bytes_out);
  }
  for (const QuantityRow row : step.quantities)
    if (row.region == kOfRank && row.quantity < known.size())
      add_known(known[row.quantity], double(row.value));
  for (const KnownQuantity quantity : known)
    if (quantity >= KnownQuantity::run_delay) known_without_pu |= 1u << number_without_pu(quantity);
  has_mpi |= step.messages.size() > 0;
  for (const MessageRow row : step.messages) {
    MessageSums& sum = facts_of(row.call).sends ? sent : received;
    sum.count += double(row.count);
    sum.bytes += double(row.bytes);
  }
}

// File I/O without MPI, and times without a PU.
void RankSums::add_known(KnownQuantity what, double amount) {
  switch (what) {
    case KnownQuantity::file_time:
      file_ns += amount;
      break;
    case KnownQuantity::file_read_count:
      io_read_count += amount;
      own_file_count += amount;
      break;
    case KnownQuantity::file_write_count:
      io_write_count += amount;
      own_file_count += amount;
      break;
    case KnownQuantity::file_read:
      io_read_bytes += amount;
      break;
    case KnownQuantity::file_write:
      io_write_bytes += amount;
      break;
    default:
      if (what >= KnownQuantity::run_delay) without_pu_ns[number_without_pu(what)] += amount;
  }
}

void RankSums::add(const RankSums& other) {
  for (double RankSums::*sum :
       {&RankSums::measured_ns, &RankSums::perfield_ns, &RankSums::cpu_user_ns,
        &RankSums::cpu_system_ns, &RankSums::voluntary_switches, &RankSums::involuntary_switches,
        &RankSums::minor_faults, &RankSums::major_faults, &RankSums::io_read_bytes,
        &RankSums::io_write_bytes, &RankSums::io_read_count, &RankSums::io_write_count,
        &RankSums::own_file_count, &RankSums::file_ns, &RankSums::mpi_call_count})
    this->*sum += other.*sum;
  for (int n = 0; n < kTimesWithoutPu; ++n) without_pu_ns[n] += other.without_pu_ns[n];
  known_without_pu |= other.known_without_pu;
  for (int c = 0; c < kMpiClasses; ++c) class_ns[c] += other.class_ns[c];
}

double RankSums::mpi_ns() const {
  double sum = 0;
  for (int c = 0; c < kMpiClasses; ++c) sum += class_ns[c];
  return sum;
}

double RankSums::waiting_ns() const {
  double sum = 0;
  for (uint16_t c = 0; c < kMpiClasses; ++c)
    if (may_wait(c)) sum += class_ns[c];
  return sum;
}

double RankSums::outside_calls_ns() const {
  return std::max(measured_ns - mpi_ns() - file_ns, 0.0);
}

double RankSums::compute_cpu_ns() const {
  const double in_mpi =
      std::max(mpi_ns() - without_pu(KnownQuantity::mpi_without_pu_at_least), 0.0);
  return std::clamp(cpu_user_ns + cpu_system_ns - in_mpi - file_ns, 0.0, compute_ns());
}

double RankSums::delayed_ns() const {
  if (!knows(KnownQuantity::run_delay)) return 0;
  // What a rank waited for a PU in MPI is in its time without one there, at most; in files, all.
  const double in_mpi =
      knows(KnownQuantity::mpi_without_pu) ? without_pu(KnownQuantity::mpi_without_pu) : mpi_ns();
  return std::clamp(without_pu(KnownQuantity::run_delay) - in_mpi - file_ns, 0.0,
                    outside_calls_ns());
}

// --- sums of a region ---------------------------------------------------------------------------

double RegionSums::mpi_ns() const {
  double sum = 0;
  for (int c = 0; c < kMpiClasses; ++c) sum += inside_[c];
  return sum;
}

double RegionSums::compute_ns() const {
  return std::max(time_ns - mpi_ns() - inside_[kFilesInside], 0.0);
}

double RegionSums::amount(int quantity) const {
  return inside_[kTimesInside + quantity] * columns_->factors_[size_t(quantity)];
}

bool RegionSums::has(int quantity) const {
  const auto& own = rank_->quantities;
  return quantity >= 0 && std::find(own.begin(), own.end(), quantity) != own.end();
}

double RegionSums::instructions() const {
  return has(columns_->instructions_) ? amount(columns_->instructions_) : NAN;
}

double RegionSums::cycles() const {
  return has(columns_->cycles_) ? amount(columns_->cycles_) : NAN;
}

// --- what is known of a run ---------------------------------------------------------------------

void KnownRank::has_source(std::string_view name) {
  mpi |= name == "pmpi" || name == "scorep-mpi";  // Score-P's wrappers watch the same
  files |= name == "io" || name == "scorep-io";
}

bool KnownRank::operator==(const KnownRank& other) const {
  return mpi == other.mpi && files == other.files && quantities == other.quantities;
}

bool RunQuantity::operator==(const RunQuantity& other) const {
  return name == other.name && stored == other.stored && per_rank == other.per_rank &&
         is_state == other.is_state && is_largest == other.is_largest;
}

int16_t KnownRun::place_of(const RunQuantity& quantity) {
  for (size_t n = 0; n < quantities.size(); ++n)
    if (quantities[n].name == quantity.name && quantities[n].per_rank == quantity.per_rank)
      return quantities[n].stored == quantity.stored ? int16_t(n) : int16_t(-1);
  quantities.push_back(quantity);
  return int16_t(quantities.size() - 1);
}

uint32_t KnownRun::times_inside() const {
  uint32_t kinds = 0;
  for (const RunQuantity& quantity : quantities) {
    const int known = int(quantity.known());
    if (known >= 0 && known < kTimesInside) kinds |= 1u << known;
  }
  return kinds;
}

int KnownRun::counter(std::string_view name) const {
  const auto found =
      std::find_if(quantities.begin(), quantities.end(),
                   [name](const RunQuantity& q) { return !q.per_rank && q.name == name; });
  return found == quantities.end() ? -1 : int(found - quantities.begin());
}

bool KnownRun::operator==(const KnownRun& other) const {
  return world_size == other.world_size && several_threads == other.several_threads &&
         first_rank == other.first_rank && has_all_ranks == other.has_all_ranks &&
         ranks == other.ranks && calls_seen == other.calls_seen && quantities == other.quantities &&
         stems == other.stems && regions == other.regions && local_begin == other.local_begin &&
         local == other.local && other_region == other.other_region;
}

// --- the columns of a run -----------------------------------------------------------------------

Columns::Columns(KnownRun facts) : facts_(std::move(facts)) {
  for (const RunQuantity& q : facts_.quantities)
    factors_.push_back(quantity_field(q.name, q.stored, q.per_rank).factor);
  for (const KnownRank& rank : facts_.ranks) {
    known_.emplace_back();
    for (const int16_t place : rank.quantities)
      known_.back().push_back(place < 0 ? KnownQuantity::none
                                        : facts_.quantities[size_t(place)].known());
  }
  instructions_ = facts_.counter("instructions");
  cycles_ = facts_.counter("cycles");
  facts_.local_begin.resize(facts_.ranks.size() + 1, facts_.local.size());
  for (uint32_t n = 0; n < facts_.regions.size(); ++n) {
    const bool has_block = facts_.regions[n].block >= 0;
    block_slot_.push_back(has_block ? int32_t(facts_.stems.size() + region_of_.size()) : -1);
    if (has_block) region_of_.push_back(n);
  }
  for (size_t row = 0; row < field_rows().size(); ++row) add_kinds(uint16_t(row));
  add_columns();
}

// The quantities that are fields of their own, sorted by name.
std::vector<int> Columns::by_name(bool per_rank) const {
  std::vector<int> places;
  for (int n = 0; n < int(facts_.quantities.size()); ++n) {
    const RunQuantity& q = facts_.quantities[size_t(n)];
    if (q.per_rank == per_rank && q.known() == KnownQuantity::none) places.push_back(n);
  }
  std::sort(places.begin(), places.end(), [this](int a, int b) {
    return facts_.quantities[size_t(a)].name < facts_.quantities[size_t(b)].name;
  });
  return places;
}

void Columns::add_kinds(uint16_t row) {
  const Field& field = field_rows()[row];
  const auto has = [&](std::string_view text) {
    return field.name.find(text) != std::string::npos;
  };
  const auto add = [&](std::string_view pattern, const std::string& name, int c,
                       const std::string& unit, const std::string& meaning) {
    if (kRows[row].in_run(facts_, c))
      kinds_.push_back({with(field.name, pattern, name), unit,
                        with(field.meaning, pattern, meaning), row, int16_t(c)});
  };
  if (has("<class>")) {
    for (int c = 0; c < kMpiClasses; ++c)
      add("<class>", kMpiClassNames[c], c, field.unit, kMpiClassMeanings[c]);
  } else if (has("<call>")) {
    for (uint16_t c = 0; c < PERFIELD_CALL_LIMIT; ++c)
      if (sends(c)) add("<call>", call_name(c), c, field.unit, "");
  } else if (has("<quantity>")) {
    const bool per_rank = !has("<region>");
    std::unordered_set<std::string> suffixes;  // for equal names, the first
    for (const int place : by_name(per_rank)) {
      const RunQuantity& q = facts_.quantities[size_t(place)];
      const QuantityField shown = quantity_field(q.name, q.stored, per_rank);
      if (suffixes.insert(shown.suffix).second)
        add("<quantity>", shown.suffix, place, shown.unit, q.help.empty() ? q.name : q.help);
    }
  } else {
    add("<>", "", 0, field.unit, "");
  }
}

void Columns::add_columns() {
  const auto is_of_region = [](const ColumnKind& kind) { return kind.name[0] == '<'; };
  std::unordered_set<std::string> own;  // a quantity's field with one of these names is left out
  for (const std::string& stem : facts_.stems)
    for (std::string& name : region_fields(stem)) own.insert(std::move(name));
  const auto is_quantity = [](const ColumnKind& kind) {
    return field_rows()[kind.row].name.find("<quantity>") != std::string::npos;
  };
  for (const ColumnKind& kind : kinds_)
    if (!is_of_region(kind) && !is_quantity(kind)) own.insert(kind.name);
  for (uint32_t n = 0; n < kinds_.size(); ++n)
    if (!is_of_region(kinds_[n]) && (!is_quantity(kinds_[n]) || own.insert(kinds_[n].name).second))
      all_.push_back({kinds_[n].name, n, -1});
  for (uint32_t stem = 0; stem < facts_.stems.size(); ++stem)
    for (uint32_t n = 0; n < kinds_.size(); ++n) {
      if (!is_of_region(kinds_[n])) continue;
      std::string name = with(kinds_[n].name, "<region>", facts_.stems[stem]);
      if (!is_quantity(kinds_[n]) || own.insert(name).second)
        all_.push_back({std::move(name), n, int32_t(stem)});
    }
}

// --- filling them -------------------------------------------------------------------------------

ColumnFiller::ColumnFiller(const Columns& columns, const std::vector<uint32_t>& wanted)
    : columns_(columns) {
  const KnownRun& facts = columns.facts();
  std::vector<std::vector<Wanted>> by_stem(facts.stems.size());
  for (uint32_t at = 0; at < wanted.size(); ++at) {
    const Column& column = columns.all()[wanted[at]];
    const ColumnKind& kind = columns.kinds()[column.kind];
    const Wanted entry{kind.row, kind.c, at};
    if (column.name == "waited_for_time_s") waited_for_ = int(at);
    wants_peers_ |= column.name == "peer_count";
    (column.stem < 0 ? of_rank_ : by_stem[size_t(column.stem)]).push_back(entry);
  }
  for (const auto& of_stem : by_stem) {
    region_begin_.push_back(uint32_t(of_region_.size()));
    of_region_.insert(of_region_.end(), of_stem.begin(), of_stem.end());
  }
  region_begin_.push_back(uint32_t(of_region_.size()));
  const size_t n_slots = facts.stems.size() + columns.region_of_.size();
  slot_size_ = kQuantitiesAt + facts.quantities.size();
  amounts_.resize(facts.quantities.size());
  slots_.resize(n_slots * slot_size_);
  entered_.resize(n_slots);
}

void ColumnFiller::begin(size_t place) {
  const KnownRun& facts = columns_.facts();
  const KnownRank& known = facts.ranks[place];
  place_ = place;
  rank_ = {};
  rank_.rank = double(facts.first_rank) + double(place);
  rank_.is_alone = facts.world_size == 1;
  rank_.has_mpi = known.mpi;
  rank_.has_files = known.files;
  rank_.amounts = amounts_.data();
  std::fill(amounts_.begin(), amounts_.end(), NAN);
  for (const int16_t place : known.quantities)
    if (place >= 0 && !facts.quantities[size_t(place)].is_state) amounts_[size_t(place)] = 0;
  std::fill(std::begin(calls_), std::end(calls_), MessageSums{});
  peers_.clear();
  for (const int32_t slot : met_) {
    std::fill_n(sums(slot), slot_size_, 0.0);
    entered_[size_t(slot)] = 0;
  }
  met_.clear();
}

int32_t ColumnFiller::region_of(uint32_t local_id) const {
  const KnownRun& facts = columns_.facts();
  const uint64_t begin = facts.local_begin[place_], end = facts.local_begin[place_ + 1];
  return local_id < end - begin ? facts.local[begin + local_id] : facts.other_region;
}

void ColumnFiller::touch(int32_t slot) {
  if (entered_[size_t(slot)]) return;
  entered_[size_t(slot)] = 1;
  met_.push_back(slot);
  const auto& quantities = columns_.facts().quantities;
  for (size_t n = 0; n < quantities.size(); ++n)
    if (quantities[n].is_state) sums(slot)[kQuantitiesAt + n] = NAN;
}

void ColumnFiller::add(const StepView& step, double* waited_for) {
  rank_.add(step, columns_.known_[place_]);
  for (const MessageRow row : step.messages) {
    MessageSums& sum = calls_[std::min(row.call, kLastCall)];
    sum.count += double(row.count);
    sum.bytes += double(row.bytes);
    if (wants_peers_ && row.peer >= 0) peers_.push_back(row.peer);
  }
  const KnownRun& facts = columns_.facts();
  if (waited_for)
    for (const WaitRow row : step.waits)
      if (row.peer >= 0 && size_t(row.peer) < facts.ranks.size() && size_t(row.peer) != place_)
        waited_for[row.peer] += double(row.ns);
  const std::vector<int16_t>& places = facts.ranks[place_].quantities;
  const auto place_of = [&](const QuantityRow& row) {
    return row.quantity < places.size() ? places[row.quantity] : -1;
  };
  for (const QuantityRow row : step.quantities) {
    const int place = row.region == kOfRank ? place_of(row) : -1;
    if (place >= 0)
      add_row(facts.quantities[size_t(place)], double(row.value), &amounts_[size_t(place)]);
  }
  if (of_region_.empty()) return;

  const auto slots_of = [&](uint32_t local_id, const auto& take) {
    const int32_t region = region_of(local_id);
    if (region < 0) return;
    take(int32_t(facts.regions[size_t(region)].stem));
    if (columns_.block_slot_[size_t(region)] >= 0) take(columns_.block_slot_[size_t(region)]);
  };
  for (const RegionRow row : step.regions)
    slots_of(row.id, [&](int32_t slot) {
      touch(slot);
      entered_[size_t(slot)] = 2;
      double* sum = sums(slot);
      sum[0] += double(row.inclusive_max_ns);
      sum[1] += double(row.count);
      sum[2] += double(row.self_max_ns);
      sum[3] += double(row.inclusive_min_ns);
      sum[4] += double(row.inclusive_sum_ns) / std::max(1u, row.threads);
      sum[5] = std::max(sum[5], double(row.threads));
      sum[6] += double(row.inclusive_sum_ns);
    });
  for (const QuantityRow row : step.quantities) {
    const int place = row.region == kOfRank ? -1 : place_of(row);
    if (place < 0) continue;
    const RunQuantity& quantity = facts.quantities[size_t(place)];
    const int known = int(columns_.known_[place_][row.quantity]);
    if (known >= kTimesInside) continue;  // of a rank, so no perfield wrote this row
    const size_t at = known >= 0 ? kInsideAt + size_t(known) : kQuantitiesAt + size_t(place);
    slots_of(row.region, [&](int32_t slot) {
      touch(slot);
      add_row(quantity, double(row.value), &sums(slot)[at]);
    });
  }
}

void ColumnFiller::end(double* out, size_t stride, std::vector<BlockValue>* blocks) {
  const KnownRun& facts = columns_.facts();
  if (wants_peers_) {
    std::sort(peers_.begin(), peers_.end());
    rank_.n_peers = double(std::unique(peers_.begin(), peers_.end()) - peers_.begin());
  }
  for (size_t n = 0; n < amounts_.size(); ++n) amounts_[n] *= columns_.factors_[n];
  RegionSums region;
  region.rank_ = &facts.ranks[place_];
  region.columns_ = &columns_;
  const auto value_of = [&](const Wanted& wanted) {
    const Row& row = kRows[wanted.row];
    const MessageSums& call = calls_[std::min<size_t>(size_t(wanted.c), kLastCall)];
    return row.absent(rank_, region, wanted.c) ? NAN : row.value(rank_, call, region, wanted.c);
  };
  for (const Wanted& wanted : of_rank_) out[wanted.at * stride] = value_of(wanted);
  for (const int32_t slot : met_) {
    if (entered_[size_t(slot)] != 2) continue;
    const bool is_block = size_t(slot) >= facts.stems.size();
    if (is_block && !blocks) continue;
    const double* own = sums(slot);
    region.time_ns = own[0];
    region.count = own[1];
    region.self_ns = own[2];
    region.shortest_ns = own[3];
    region.mean_ns = own[4];
    region.threads = own[5];
    region.all_ns = own[6];
    region.inside_ = own + kInsideAt;
    uint32_t stem = uint32_t(slot);
    int32_t block = -1;
    if (is_block) {
      const KnownRun::Region& of =
          facts.regions[columns_.region_of_[size_t(slot) - facts.stems.size()]];
      stem = of.stem;
      block = of.block;
    }
    for (uint32_t n = region_begin_[stem]; n < region_begin_[stem + 1]; ++n) {
      const Wanted& wanted = of_region_[n];
      if (is_block)
        blocks->push_back({wanted.at, int32_t(place_), block, value_of(wanted)});
      else
        out[wanted.at * stride] = value_of(wanted);
    }
  }
}

}  // namespace perfield
