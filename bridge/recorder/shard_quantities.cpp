// SPDX-License-Identifier: BSD-3-Clause
//
// shard_quantities.cpp - one thread's quantities, from adding to what a step carries. An amount
// goes to the innermost frame. Leaving that frame hands it outward, and to the region itself at its
// outermost entry. So each amount counts once in every region around it. A state is set in all of
// them at once.
#include <algorithm>

#include "recorder/kernel_readings.hpp"
#include "recorder/shard.hpp"

namespace perfield {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr uint64_t bit_of(uint16_t quantity) noexcept { return uint64_t(1) << quantity; }

// The quantities that grew in a frame in this period, as bits.
uint64_t grown_in(const Frame& frame, uint64_t period) noexcept {
  return frame.grown_period.load(relaxed) == period ? frame.grown.load(relaxed) : 0;
}

template <class Visit>
void for_each_bit(uint64_t bits, Visit visit) noexcept {
  for (; bits; bits &= bits - 1) visit(uint16_t(__builtin_ctzll(bits)));
}

}  // namespace

// --- by the shard's own thread ------------------------------------------------------------------

void Shard::add_to_frame(int32_t frame, uint16_t quantity, uint64_t amount,
                         uint64_t period) noexcept {
  Frame& f = stack[frame];
  const uint64_t bit = bit_of(quantity), before = grown_in(f, period);
  Counter& sum = frame_amounts[frame][quantity];
  if (before & bit) return sum.add(amount);
  sum.set(amount);
  f.grown_period.store(period, relaxed);
  f.grown.store(before | bit, relaxed);
}

void Shard::hand_outward(int32_t frame, bool outermost) noexcept {
  const Frame& f = stack[frame];
  const int32_t outer = f.parent.load(relaxed);
  const uint32_t id = f.id.load(relaxed);
  const uint64_t period = f.grown_period.load(relaxed);
  for_each_bit(f.grown.load(relaxed), [&](uint16_t quantity) {
    const uint64_t amount = frame_amounts[frame][quantity].get();
    if (outermost) value_of(id, quantity).sum.add(amount);
    if (outer >= 0) add_to_frame(outer, quantity, amount, period);
  });
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
  if (quantity & kQuantityPerRank) return set(of_rank[number], number, state);
  for (int32_t i = std::min(depth.load(relaxed), kStackDepth) - 1; i >= 0; --i)
    if (stack[i].counted.load(relaxed))
      set(value_of(stack[i].id.load(relaxed), number), number, state);
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
  const uint32_t id = stack[frame].id.load(relaxed);
  if (!stack[frame].counted.load(relaxed)) return false;
  for (int32_t outer = 0; outer < frame; ++outer)
    if (stack[outer].counted.load(relaxed) && stack[outer].id.load(relaxed) == id) return false;
  return true;
}

// --- by the thread that closes a step -----------------------------------------------------------

void Shard::carry_value(QuantityValue& value, uint16_t quantity, QuantityCarry* carry) noexcept {
  const perfield_over_steps over = (*quantities)[quantity].over_steps;
  if (over == PERFIELD_STEPS_SUM) {
    carry->value += value.sum.take();
  } else if (value.period.get() == activity->period.load(relaxed)) {
    const uint64_t state = value.state.get();
    const bool keeps_largest = over == PERFIELD_STEPS_MAX && carry->is_set;
    carry->value = keeps_largest ? std::max(carry->value, state) : state;
    carry->is_set = true;
  }
}

void Shard::fold_quantities(uint32_t n_regions, bool forgives) noexcept {
  of_regions.for_each([&](auto& row) {
    if (row.region >= n_regions) return;  // defined just now
    const bool is_sum = !(quantities->states() & bit_of(row.quantity));
    if (is_sum && !row.value.sum.grown()) return;
    carry_value(row.value, row.quantity, &carry_of(row.region, row.quantity));
  });
  for_each_bit(quantities->per_rank(), [&](uint16_t q) {
    if (forgives) of_rank[q].sum.forgive();
    carry_value(of_rank[q], q, &carry_of_rank[q]);
  });
}

// open: the call whose time up to now goes to this step.
void Shard::fold_frames(const Counters& counters, uint32_t n_regions, uint64_t now,
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
    const uint32_t id = f.id.load(relaxed);
    if (!f.counted.load(relaxed) || id >= n_regions) continue;
    if (readings) {  // growth since the thread's own reading belongs to the innermost region
      readings->look_from_outside(
          counters, period, [&](int c, uint64_t n) { grow(uint16_t(counters[c].quantity), n); });
      readings = nullptr;
    }
    for_each_bit(grown_in(f, period), [&](uint16_t q) { grow(q, frame_amounts[i][q].get()); });
    // A region entered from a callback of the call does not contain that call.
    if (call_begun && std::max(f.entered.load(relaxed), since) <= call_begun) {
      if (call_quantity >= 0) grow(uint16_t(call_quantity), in_call);
      call_begun = 0;
    }
    if (!grown || !is_outermost(i)) continue;
    for_each_bit(grown, [&](uint16_t q) { carry_of(id, q).value += amounts[q]; });
  }
}

}  // namespace perfield
