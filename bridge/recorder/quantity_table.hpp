// SPDX-License-Identifier: BSD-3-Clause
//
// quantity_table.hpp - a thread's quantities, of regions and of the rank. An amount goes to the
// innermost region. Leaving that hands it outward, and to the region itself at its outermost entry.
// So each amount counts once in every region around it. A state is set in all of them at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "recorder/counter.hpp"
#include "recorder/dirty_rows.hpp"
#include "recorder/path_table.hpp"
#include "recorder/quantities.hpp"
#include "recorder/region_quantities.hpp"
#include "recorder/region_stack.hpp"
#include "recorder/step_rows.hpp"
#include "recorder/thread_state.hpp"

namespace perfield {

class Counters;
class KernelReadings;

// Time up to a closing in the call that a thread is inside: the time class of its call or
// operation, -1: of none. since 0: no call is open.
struct OpenTime {
  uint64_t since;
  int quantity;
};

class QuantityTable {
 public:
  // A sum, or a state and the period that set it.
  struct Value {
    MonotonicCounter sum;
    Counter state, period;
  };
  struct Pending {
    uint64_t value;
    bool is_set;  // has a value, even if 0
  };
  // What the threads of a rank have together.
  struct OfRank {
    void place(Arena& arena, uint32_t max_regions) noexcept;

    uint32_t n_rows = 0;      // pending rows of regions in all threads
    uint64_t quantities = 0;  // the quantities of these rows, as bits
    uint64_t of_rank = 0;     // those of the rank that are pending, as bits
    // For adding up the threads; else empty.
    uint64_t* quantities_of;  // [max_regions], as bits
    Bits regions;
  };

  void place(Arena& arena, const Quantities& quantities, uint32_t max_regions) noexcept;

  // --- count: by the thread itself ---------------------------------------------------------------
  // Adds to a quantity of the regions that the thread is in, or of the rank.
  void add(ThreadState& thread, RegionStack& stack, perfield_quantity quantity,
           uint64_t amount) noexcept {
    if (quantity & kQuantityPerRank) {
      of_rank_[number_of(quantity)].sum.add(amount);
      mark_dirty(dirty_of_rank_, uint32_t(number_of(quantity)), thread.dirty, DirtyTable::of_rank);
    } else if (quantity && amount) {
      add_to_regions(thread, stack, uint16_t(number_of(quantity)), amount,
                     thread.activity->period.load(std::memory_order_relaxed));
    }
  }
  void add_to_regions(ThreadState& thread, RegionStack& stack, uint16_t quantity, uint64_t amount,
                      uint64_t period) noexcept {
    const int32_t d = std::min(thread.depth.load(std::memory_order_relaxed), kStackDepth) - 1;
    if (d < 0) return;
    const int32_t level = stack[d].nearest.load(std::memory_order_relaxed);
    if (level >= 0) add_to_entry(stack, level, quantity, amount, period);
  }
  // Sets a state.
  void set(ThreadState& thread, RegionStack& stack, perfield_quantity quantity,
           uint64_t state) noexcept;
  // Takes the reading of a source's counter.
  void read(ThreadState& thread, RegionStack& stack, perfield_quantity quantity,
            uint64_t value) noexcept;
  // The next thread has readings of its own.
  void forget_readings() noexcept { has_reading_ = 0; }
  // A region is left: hands its amounts outward. Returns the ticks in calls among them.
  TicksInCalls hand_outward(ThreadState& thread, RegionStack& stack, int32_t level,
                            bool outermost) noexcept;
  // Amounts that went to `other regions`.
  Counter overflowed;

  // --- collect, encode, bytes: by the closing thread ---------------------------------------------
  void collect(OfRank& all, uint64_t dirty_tables, uint64_t period) noexcept;
  // What open regions have so far, with the growth of the kernel's counters and the open call.
  void collect_open(OfRank& all, PathTable::OfRank& of_paths, const ThreadState& thread,
                    const RegionStack& stack, PathTable& paths, KernelReadings* kernel,
                    const Counters& counters, uint64_t now, OpenTime open) noexcept;
  // What is pending of a quantity, which will hold something: of a region, or of the rank.
  Pending& pending(OfRank& all, uint32_t region, uint16_t quantity) noexcept;
  Pending& pending(OfRank& all, uint16_t quantity) noexcept;
  // The same if it holds something perhaps; else nullptr.
  Pending* find_pending(uint32_t region, uint16_t quantity) noexcept {
    auto* row = pending_of_regions_.find(region, quantity);
    return row ? &row->value : nullptr;
  }
  // The sum of a quantity of the rank, for time that closings take in advance.
  MonotonicCounter& sum_of_rank(perfield_quantity quantity) noexcept {
    return of_rank_[number_of(quantity)].sum;
  }
  void cancel_all() noexcept {
    for (Value& value : of_rank_) value.sum.cancel();
  }
  // Amounts of regions since the last closing belong to no step.
  void skip(uint64_t dirty_tables) noexcept;
  // One number for each region and quantity, combined over the threads. A row without room stays
  // pending for the next entry.
  static void encode(StepRows& rows) noexcept;
  // Bytes of an entry that the pending rows of the rank need.
  static size_t room(Recorder& recorder) noexcept;
  uint64_t bytes() const noexcept;

  // Writes the definitions of quantities, as PathTable::define_regions: of all declared ones, but
  // times inside regions only once there are some. So a rank has not measured what it does not
  // define, and a defined quantity is 0 where nothing was added.
  static void define(Recorder& recorder,
                     const std::function<bool(uint32_t id, const std::string& json)>& write);

 private:
  class Encoder;

  void add_to_entry(RegionStack& stack, int32_t level, uint16_t quantity, uint64_t amount,
                    uint64_t period) noexcept;
  void add_call(uint16_t quantity, uint64_t ticks, TicksInCalls* in_calls) const noexcept;
  void set(Value& value, uint16_t quantity, uint64_t state, uint64_t period) noexcept;
  bool is_new(const Value& value, uint16_t quantity, uint64_t period) const noexcept;
  void collect(Value& value, uint16_t quantity, Pending* pending) noexcept;
  // Calls change(value) for that quantity of a region.
  template <class Change>
  void change(ThreadState& thread, uint32_t region, uint16_t quantity, Change change) noexcept {
    bool full = false;
    const uint32_t row = of_regions_.row_of(region, quantity, &full);
    if (__builtin_expect(full, 0)) overflowed.add(1);
    change(of_regions_.row(row).value);
    mark_dirty(dirty_, row, thread.dirty, DirtyTable::quantities);
  }

  const Quantities* quantities_;
  uint32_t max_regions_;
  RegionQuantities<Value> of_regions_;
  Value of_rank_[kMostQuantities];
  Counter (*amounts_)[kMostQuantities];  // [kStackDepth], growth inside each entry of the stack
  uint64_t readings_[kMostQuantities];   // last ones of a source's counters; own thread only
  uint64_t has_reading_ = 0;             // quantities with such a reading, as bits
  unsigned char* dirty_;
  alignas(kDirtyRowsInChunk) unsigned char dirty_of_rank_[kMostQuantities] = {};
  // Closing thread only.
  RegionQuantities<Pending> pending_of_regions_;
  Pending pending_of_rank_[kMostQuantities] = {};
  Bits pending_rows_;
};

}  // namespace perfield
