// SPDX-License-Identifier: BSD-3-Clause
//
// shard_quantities.cpp - one thread's quantities, from adding to what a step carries. An amount
// goes to the innermost frame. Leaving that frame hands it outward, and to the region itself at its
// outermost entry. So each amount counts once in every region around it. A state is set in all of
// them at once.
#include <algorithm>

#include "recorder/carried.hpp"
#include "recorder/kernel_readings.hpp"
#include "recorder/shard.hpp"

namespace perfield {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr uint64_t bit_of(uint16_t quantity) noexcept { return uint64_t(1) << quantity; }

template <class Visit>
void for_each_bit(uint64_t bits, Visit visit) noexcept {
  for (; bits; bits &= bits - 1) visit(uint16_t(__builtin_ctzll(bits)));
}

}  // namespace

// --- by the shard's own thread ------------------------------------------------------------------

void Shard::add_to_frame(int32_t frame, uint16_t quantity, uint64_t amount,
                         uint64_t period) noexcept {
  Frame& f = stack[frame];
  const uint64_t bit = bit_of(quantity), before = f.grown_in(period);
  Counter& sum = frame_amounts[frame][quantity];
  if (before & bit) return sum.add(amount);
  sum.set(amount);
  f.begin_period(period);
  f.grown.store(before | bit, relaxed);
}

TicksInCalls Shard::hand_outward(int32_t frame, bool outermost) noexcept {
  const Frame& f = stack[frame];
  const int32_t outer = outer_of(frame);
  const uint32_t id = f.id();
  const uint64_t period = f.inner_period.load(relaxed);
  TicksInCalls in_calls{};
  for_each_bit(f.grown.load(relaxed), [&](uint16_t quantity) {
    const uint64_t amount = frame_amounts[frame][quantity].get();
    add_call(quantity, amount, &in_calls);
    if (outermost)
      change_value(id, quantity, [amount](QuantityValue& value) { value.sum.add(amount); });
    if (outer >= 0) add_to_frame(outer, quantity, amount, period);
  });
  return in_calls;
}

void Shard::add_call(uint16_t quantity, uint64_t ticks, TicksInCalls* in_calls) const noexcept {
  if (quantity < kMpiClasses)
    in_calls->mpi += ticks;
  else if (quantities->in_files() & bit_of(quantity))
    in_calls->files += ticks;
}

void Shard::set(QuantityValue& value, uint16_t quantity, uint64_t state) noexcept {
  const uint64_t period = activity->period.load(relaxed);
  const bool keeps_largest = (*quantities)[quantity].over_steps == PERFIELD_STEPS_MAX;
  if (keeps_largest && value.period.get() == period) state = std::max(state, value.state.get());
  value.state.set(state);
  value.period.set(period);
}

void Shard::set(perfield_quantity quantity, uint64_t state) noexcept {
  const auto number = uint16_t(number_of(quantity));
  if (quantity & kQuantityPerRank) {
    set(of_rank[number], number, state);
    return touched(News::of_rank, touched_of_rank, number);
  }
  for (int32_t i = std::min(depth.load(relaxed), kStackDepth) - 1; i >= 0; --i)
    if (counts(i))
      change_value(stack[i].id(), number, [&](QuantityValue& value) { set(value, number, state); });
}

void Shard::stands(perfield_quantity quantity, uint64_t value) noexcept {
  const int number = number_of(quantity);
  const uint64_t before = stood[number], bit = bit_of(uint16_t(number));
  stood[number] = value;
  // Growth before the first report belongs to no region.
  if (told & bit && activity->state.load(relaxed) == Activity::active)
    add(quantity, growth(value, before));
  told |= bit;
}

bool Shard::is_outermost(int32_t frame) const noexcept {
  if (!counts(frame)) return false;
  const uint32_t path = path_of(frame), id = stack[frame].id();
  if (!known_paths->is_other(path)) return known_paths->is_outermost(path);
  for (int32_t outer = 0; outer < frame; ++outer)
    if (counts(outer) && stack[outer].id() == id) return false;
  return true;
}

// --- by the thread that closes a step -----------------------------------------------------------

// Whether the value holds something for this step.
bool Shard::is_new(const QuantityValue& value, uint16_t quantity) const noexcept {
  if (quantities->states() & bit_of(quantity))
    return value.period.get() == activity->period.load(relaxed);
  return value.sum.grown() > 0;
}

void Shard::carry_value(QuantityValue& value, uint16_t quantity, QuantityCarry* carry) noexcept {
  const perfield_over_steps over = (*quantities)[quantity].over_steps;
  if (over == PERFIELD_STEPS_SUM) {
    carry->value += value.sum.take();
    return;
  }
  const uint64_t state = value.state.get();
  const bool keeps_largest = over == PERFIELD_STEPS_MAX && carry->is_set;
  carry->value = keeps_largest ? std::max(carry->value, state) : state;
  carry->is_set = true;
}

QuantityCarry& Shard::carry_of(Carried& all, uint32_t region, uint16_t quantity) noexcept {
  bool full = false;  // no more so than of_regions, and counted there
  const uint32_t place = carry_of_regions.place_of(region, quantity, &full);
  if (carried_quantities.add(place)) ++all.quantity_rows;
  all.quantities |= bit_of(quantity);
  return carry_of_regions.row(place).value;
}

QuantityCarry& Shard::carry_of(Carried& all, uint16_t quantity) noexcept {
  all.of_rank |= bit_of(quantity);
  return carry_of_rank[quantity];
}

void Shard::fold_quantities(Carried& all, uint64_t news) noexcept {
  if (has(news, News::quantities))
    for_each_mark<Marks::taken>(touched_quantities, of_regions.size(), [&](uint32_t place) {
      auto& row = of_regions.new_row(place);
      if (is_new(row.value, row.quantity))
        carry_value(row.value, row.quantity, &carry_of(all, row.region, row.quantity));
    });
  if (has(news, News::of_rank))
    for_each_mark<Marks::taken>(touched_of_rank, kMostQuantities, [&](uint32_t q) {
      if (is_new(of_rank[q], uint16_t(q)))
        carry_value(of_rank[q], uint16_t(q), &carry_of(all, uint16_t(q)));
    });
}

// open: the call whose time up to now goes to this step.
void Shard::fold_frames(Carried& all, const Counters& counters, uint64_t now,
                        const OpenCall& open) noexcept {
  uint64_t call_begun = open.since;
  const uint64_t in_call = call_begun ? growth(now, call_begun) : 0;
  const int call_quantity =
      open.operation ? number_of(open.operation->time_inside) : kTimeClassOfCall.of[open.call];
  const uint64_t since = activity->since_ticks.load(relaxed);
  const uint64_t period = activity->period.load(relaxed);
  KernelReadings* readings = kernel.load(std::memory_order_acquire);
  uint64_t amounts[kMostQuantities], grown = 0;  // inside this frame and its inner frames
  const auto grow = [&](uint16_t quantity, uint64_t amount) {
    amounts[quantity] = amount + (grown & bit_of(quantity) ? amounts[quantity] : 0);
    grown |= bit_of(quantity);
  };
  for (int32_t i = std::min(depth.load(std::memory_order_acquire), kStackDepth) - 1; i >= 0; --i) {
    const Frame& f = stack[i];
    const uint32_t id = f.id();
    if (!counts(i) || id >= max_regions) continue;
    if (readings) {  // growth since the thread's own reading belongs to the innermost region
      readings->look_from_outside(
          counters, period, [&](int c, uint64_t n) { grow(uint16_t(counters[c].quantity), n); });
      readings = nullptr;
    }
    for_each_bit(f.grown_in(period), [&](uint16_t q) { grow(q, frame_amounts[i][q].get()); });
    // A region entered from a callback of the call does not contain that call.
    if (call_begun && std::max(f.entered.load(relaxed), since) <= call_begun) {
      if (call_quantity >= 0) grow(uint16_t(call_quantity), in_call);
      call_begun = 0;
    }
    const bool outermost = grown && is_outermost(i);
    if (outermost)
      for_each_bit(grown, [&](uint16_t q) { carry_of(all, id, q).value += amounts[q]; });
    const uint32_t path = path_of(i);
    if (!grown || (!outermost && known_paths->is_other(path))) continue;
    TicksInCalls in_calls{};
    for_each_bit(grown, [&](uint16_t q) { add_call(q, amounts[q], &in_calls); });
    if (carry_path(path, {0, 0, 0, in_calls})) note_path(all, path);
  }
}

}  // namespace perfield
