// SPDX-License-Identifier: BSD-3-Clause
//
// quantity_table.cpp - see quantity_table.hpp.
#include "recorder/quantity_table.hpp"

#include <utility>

#include "format/json.hpp"
#include "recorder/kernel_readings.hpp"
#include "recorder/recorder.hpp"

namespace perfield {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr uint64_t bit_of(uint16_t quantity) noexcept { return uint64_t(1) << quantity; }

}  // namespace

void QuantityTable::OfRank::place(Arena& arena, uint32_t max_regions) noexcept {
  regions.place(arena, max_regions);
  quantities_of = arena.take<uint64_t>(max_regions);
}

void QuantityTable::place(Arena& arena, const Quantities& quantities,
                          uint32_t max_regions) noexcept {
  quantities_ = &quantities;
  max_regions_ = max_regions;
  const uint32_t most = RegionQuantities<Value>::capacity(max_regions);
  of_regions_.place(arena, max_regions);
  pending_of_regions_.place(arena, max_regions);
  amounts_ = reinterpret_cast<Counter(*)[kMostQuantities]>(
      arena.take<Counter>(size_t{kStackDepth} * kMostQuantities));
  dirty_ = arena.take<unsigned char>(most);
  pending_rows_.place(arena, most);
}

// --- count ---------------------------------------------------------------------------------------

void QuantityTable::add_to_entry(RegionStack& stack, int32_t level, uint16_t quantity,
                                 uint64_t amount, uint64_t period) noexcept {
  RegionStackEntry& f = stack[level];
  const uint64_t bit = bit_of(quantity), before = f.grown_in(period);
  Counter& sum = amounts_[level][quantity];
  if (before & bit) return sum.add(amount);
  sum.set(amount);
  f.begin_period(period);
  f.grown.store(before | bit, relaxed);
}

TicksInCalls QuantityTable::hand_outward(ThreadState& thread, RegionStack& stack, int32_t level,
                                         bool outermost) noexcept {
  const RegionStackEntry& f = stack[level];
  const int32_t outer = stack.outer_of(level);
  const uint32_t id = f.id();
  const uint64_t period = f.inner_period.load(relaxed);
  TicksInCalls in_calls{};
  for_each_bit(f.grown.load(relaxed), [&](uint32_t bit) {
    const auto quantity = uint16_t(bit);
    const uint64_t amount = amounts_[level][quantity].get();
    add_call(quantity, amount, &in_calls);
    if (outermost) change(thread, id, quantity, [amount](Value& value) { value.sum.add(amount); });
    if (outer >= 0) add_to_entry(stack, outer, quantity, amount, period);
  });
  return in_calls;
}

void QuantityTable::add_call(uint16_t quantity, uint64_t ticks,
                             TicksInCalls* in_calls) const noexcept {
  if (quantity < kMpiClasses)
    in_calls->mpi += ticks;
  else if (quantities_->in_files() & bit_of(quantity))
    in_calls->files += ticks;
}

void QuantityTable::set(Value& value, uint16_t quantity, uint64_t state, uint64_t period) noexcept {
  const bool keeps_largest = (*quantities_)[quantity].over_steps == PERFIELD_STEPS_MAX;
  if (keeps_largest && value.period.get() == period) state = std::max(state, value.state.get());
  value.state.set(state);
  value.period.set(period);
}

void QuantityTable::set(ThreadState& thread, RegionStack& stack, perfield_quantity quantity,
                        uint64_t state) noexcept {
  const auto number = uint16_t(number_of(quantity));
  const uint64_t period = thread.activity->period.load(relaxed);
  if (quantity & kQuantityPerRank) {
    set(of_rank_[number], number, state, period);
    return mark_dirty(dirty_of_rank_, number, thread.dirty, DirtyTable::of_rank);
  }
  for (int32_t i = std::min(thread.depth.load(relaxed), kStackDepth) - 1; i >= 0; --i)
    if (stack.counts(i))
      change(thread, stack[i].id(), number,
             [&](Value& value) { set(value, number, state, period); });
}

void QuantityTable::read(ThreadState& thread, RegionStack& stack, perfield_quantity quantity,
                         uint64_t value) noexcept {
  const int number = number_of(quantity);
  const uint64_t before = readings_[number], bit = bit_of(uint16_t(number));
  readings_[number] = value;
  // Growth before the first reading belongs to no region.
  if (has_reading_ & bit && thread.activity->state.load(relaxed) == Activity::active)
    add(thread, stack, quantity, growth(value, before));
  has_reading_ |= bit;
}

// --- collect -------------------------------------------------------------------------------------

// Whether the value holds something for this step.
bool QuantityTable::is_new(const Value& value, uint16_t quantity, uint64_t period) const noexcept {
  return quantities_->states() & bit_of(quantity) ? value.period.get() == period
                                                  : value.sum.grown() > 0;
}

void QuantityTable::collect(Value& value, uint16_t quantity, Pending* pending) noexcept {
  const perfield_over_steps over = (*quantities_)[quantity].over_steps;
  if (over == PERFIELD_STEPS_SUM) {
    pending->value += value.sum.take();
    return;
  }
  const uint64_t state = value.state.get();
  const bool keeps_largest = over == PERFIELD_STEPS_MAX && pending->is_set;
  pending->value = keeps_largest ? std::max(pending->value, state) : state;
  pending->is_set = true;
}

QuantityTable::Pending& QuantityTable::pending(OfRank& all, uint32_t region,
                                               uint16_t quantity) noexcept {
  bool full = false;  // no more so than of_regions_, and counted there
  const uint32_t row = pending_of_regions_.row_of(region, quantity, &full);
  if (pending_rows_.add(row)) ++all.n_rows;
  all.quantities |= bit_of(quantity);
  return pending_of_regions_.row(row).value;
}

QuantityTable::Pending& QuantityTable::pending(OfRank& all, uint16_t quantity) noexcept {
  all.of_rank |= bit_of(quantity);
  return pending_of_rank_[quantity];
}

void QuantityTable::collect(OfRank& all, uint64_t dirty_tables, uint64_t period) noexcept {
  if (has(dirty_tables, DirtyTable::quantities))
    for_each_dirty<Marks::taken>(dirty_, of_regions_.size(), [&](uint32_t number) {
      auto& row = of_regions_.new_row(number);
      if (is_new(row.value, row.quantity, period))
        collect(row.value, row.quantity, &pending(all, row.region, row.quantity));
    });
  if (has(dirty_tables, DirtyTable::of_rank))
    for_each_dirty<Marks::taken>(dirty_of_rank_, kMostQuantities, [&](uint32_t q) {
      if (is_new(of_rank_[q], uint16_t(q), period))
        collect(of_rank_[q], uint16_t(q), &pending(all, uint16_t(q)));
    });
}

void QuantityTable::collect_open(OfRank& all, PathTable::OfRank& of_paths,
                                 const ThreadState& thread, const RegionStack& stack,
                                 PathTable& paths, KernelReadings* kernel, const Counters& counters,
                                 uint64_t now, OpenTime open) noexcept {
  const uint64_t in_call = open.since ? growth(now, open.since) : 0;
  const uint64_t since = thread.activity->since_ticks.load(relaxed);
  const uint64_t period = thread.activity->period.load(relaxed);
  uint64_t amounts[kMostQuantities], grown = 0;  // inside this region and its inner ones
  const auto grow = [&](uint16_t quantity, uint64_t amount) {
    amounts[quantity] = amount + (grown & bit_of(quantity) ? amounts[quantity] : 0);
    grown |= bit_of(quantity);
  };
  int32_t i = std::min(thread.depth.load(std::memory_order_acquire), kStackDepth) - 1;
  for (; i >= 0; --i) {
    const RegionStackEntry& f = stack[i];
    const uint32_t id = f.id();
    if (!stack.counts(i) || id >= max_regions_) continue;
    if (kernel) {  // growth since the thread's own reading belongs to the innermost region
      kernel->look_from_outside(
          counters, period, [&](int c, uint64_t n) { grow(uint16_t(counters[c].quantity), n); });
      kernel = nullptr;
    }
    for_each_bit(f.grown_in(period), [&](uint32_t q) { grow(uint16_t(q), amounts_[i][q].get()); });
    // A region entered from a callback of the call does not contain that call.
    if (open.since && std::max(f.entered.load(relaxed), since) <= open.since) {
      if (open.quantity >= 0) grow(uint16_t(open.quantity), in_call);
      open.since = 0;
    }
    const bool outermost = grown && stack.is_outermost(i);
    if (outermost)
      for_each_bit(grown, [&](uint32_t q) { pending(all, id, uint16_t(q)).value += amounts[q]; });
    const uint32_t path = stack.path_of(i);
    if (!grown || (!outermost && paths.known->is_other(path))) continue;
    TicksInCalls in_calls{};
    for_each_bit(grown, [&](uint32_t q) { add_call(uint16_t(q), amounts[q], &in_calls); });
    paths.collect_in_calls(of_paths, path, in_calls);
  }
}

void QuantityTable::skip(uint64_t dirty_tables) noexcept {
  if (has(dirty_tables, DirtyTable::quantities))
    for_each_dirty<Marks::kept>(dirty_, of_regions_.size(),
                                [&](uint32_t row) { of_regions_.row(row).value.sum.skip(); });
}

// --- encode --------------------------------------------------------------------------------------

class QuantityTable::Encoder {
 public:
  explicit Encoder(StepRows& to) noexcept : to_(to), r_(to.recorder) {}

  uint32_t add() noexcept {
    OfRank& all = r_.pending.quantities;
    for_each_bit(all.of_rank, [&](uint32_t q) {
      const auto of_rank = [q](QuantityTable& t) { return &t.pending_of_rank_[q]; };
      if (!add_row(kOfRank, uint16_t(q), of_rank) || !to_.empties) return;
      for_each_table([&](QuantityTable& t) { *of_rank(t) = {}; });
      all.of_rank &= ~bit_of(uint16_t(q));
    });
    if (!all.n_rows) return n_;
    for_each_table([&](QuantityTable& t) {
      t.pending_rows_.for_each(t.pending_of_regions_.size(), [&](uint32_t number) {
        const auto& row = t.pending_of_regions_.row(number);
        all.quantities_of[row.region] |= bit_of(row.quantity);
        all.regions.add(row.region);
      });
    });
    all.regions.for_each(r_.regions.capacity(), [&](uint32_t region) {
      add_region(region, std::exchange(all.quantities_of[region], 0));
      all.regions.remove(region);
    });
    if (!all.n_rows) all.quantities = 0;
    return n_;
  }

 private:
  template <class Visit>
  void for_each_table(Visit visit) noexcept {
    r_.for_each_pending([&](ThreadProfile& s) { visit(s.quantities); });
  }

  void add_region(uint32_t region, uint64_t quantities) noexcept {
    const uint64_t longest = quantities & r_.quantities.longest();
    QuantityTable* const one = longest ? longest_in(region, longest) : nullptr;
    for_each_bit(quantities, [&](uint32_t bit) {
      const auto q = uint16_t(bit);
      const auto of_region = [=](QuantityTable& t) { return t.find_pending(region, q); };
      const bool done =
          longest >> q & 1 ? add_longest(region, q, one) : add_row(region, q, of_region);
      if (!done || !to_.empties) return;
      for_each_table([&](QuantityTable& t) { empty(t, region, q); });
    });
  }

  void empty(QuantityTable& t, uint32_t region, uint16_t quantity) noexcept {
    auto* const row = t.pending_of_regions_.find(region, quantity);
    if (!row) return;
    row->value = {};
    if (t.pending_rows_.remove(t.pending_of_regions_.number_of(*row)))
      --r_.pending.quantities.n_rows;
  }

  // of(table): what is pending of this quantity in a thread, or nullptr. Returns whether it is
  // done.
  template <class PendingOf>
  bool add_row(uint32_t region, uint16_t quantity, PendingOf of) noexcept {
    uint64_t sum = 0, most = 0;
    bool is_set = false;
    for_each_table([&](QuantityTable& t) {
      const Pending* pending = of(t);
      if (!pending) return;
      is_set |= pending->is_set;
      sum += pending->value;
      most = std::max(most, pending->value);
    });
    const Quantity& about = r_.quantities[quantity];
    return (!sum && !is_set) ||
           put(region, quantity, about.over_threads == PERFIELD_THREADS_MAX ? most : sum);
  }

  // All times of a region come from the thread that spent most in them, so that they fit together
  // and into the region's time.
  QuantityTable* longest_in(uint32_t region, uint64_t longest) noexcept {
    QuantityTable* found = nullptr;
    uint64_t most = 0;
    for_each_table([&](QuantityTable& t) {
      uint64_t sum = 0;
      for_each_bit(longest, [&](uint32_t q) {
        const Pending* pending = t.find_pending(region, uint16_t(q));
        if (pending) sum += pending->value;
      });
      if (sum <= most) return;
      most = sum;
      found = &t;
    });
    return found;
  }

  bool add_longest(uint32_t region, uint16_t quantity, QuantityTable* longest) noexcept {
    const Pending* own = longest ? longest->find_pending(region, quantity) : nullptr;
    return !own || !own->value || put(region, quantity, own->value);
  }

  // Returns false if there is no room.
  bool put(uint32_t region, uint16_t quantity, uint64_t value) noexcept {
    if (r_.quantities[quantity].is_ticks()) {
      value = r_.clock.span_ns(value);
      if (!value) return true;  // too short to report
    }
    if (!to_.add(QuantityRow{region, quantity, 0, value})) return false;
    r_.quantities_used |= bit_of(quantity);
    ++n_;
    return true;
  }

  StepRows& to_;
  Recorder& r_;
  uint32_t n_ = 0;
};

void QuantityTable::encode(StepRows& to) noexcept {
  if (to.recorder.n_profiles())
    to.table<QuantityRow>(StepTable::quantities, [&] { return Encoder(to).add(); });
}

// At most those of one thread's full table and of the rank. More rows occur only where threads
// enter different regions; these wait for the next entry.
size_t QuantityTable::room(Recorder& r) noexcept {
  const size_t most = RegionQuantities<Pending>::capacity(r.regions.capacity());
  return (std::min<size_t>(r.pending.quantities.n_rows, most) + kMostQuantities) *
         sizeof(QuantityRow);
}

uint64_t QuantityTable::bytes() const noexcept {
  return bytes_of_pages(of_regions_.used()) + bytes_of_pages(pending_of_regions_.used()) +
         bytes_of_pages(of_regions_.size() + pending_of_regions_.size());
}

void QuantityTable::define(Recorder& r,
                           const std::function<bool(uint32_t id, const std::string& json)>& write) {
  static constexpr const char* kScopes[] = {"region", "rank"};
  static constexpr const char* kOverSteps[] = {"sum", "max", "last"};
  static constexpr const char* kOverThreads[] = {"sum", "max", "longest"};
  // Whether any region has time in that quantity in the step about to be written.
  const auto has_time = [&r](uint16_t quantity) {
    bool found = false;
    r.for_each_pending([&](ThreadProfile& s) {
      QuantityTable& t = s.quantities;
      t.pending_rows_.for_each(t.pending_of_regions_.size(), [&](uint32_t number) {
        const auto& row = t.pending_of_regions_.row(number);
        found |= row.quantity == quantity && r.clock.span_ns(row.value.value) > 0;
      });
    });
    return found;
  };
  // A time inside regions waits for the step that has some.
  const uint64_t waiting = r.quantities.longest() & ~r.pending.quantities.quantities;
  for_each_bit(r.quantities.all() & ~r.quantities_defined & ~waiting, [&](uint32_t number) {
    const Quantity& q = r.quantities[int(number)];
    if (q.waits_for_use() && !has_time(uint16_t(number))) return;
    JsonObject json;
    json.text("name", q.name).text("unit", q.unit->stored);
    json.text("scope", kScopes[q.scope]).text("over_steps", kOverSteps[q.over_steps]);
    json.text("over_threads", kOverThreads[q.over_threads]).text("help", q.help);
    if (write(number, json.str())) r.quantities_defined |= uint64_t(1) << number;
  });
}

}  // namespace perfield
