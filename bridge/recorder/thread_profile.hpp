// SPDX-License-Identifier: BSD-3-Clause
//
// thread_profile.hpp - what one thread has counted: its tables, and the regions and the call that
// it is inside. Only that thread writes the counters, with relaxed atomics, and they only grow. The
// thread that closes a step collects their growth, which is pending until an entry is written.
// Nothing here allocates, locks or fails: what finds no room counts in a row for all others.
//
// Each table has a file of its own, and four verbs: it counts on the thread's side; it collects,
// encodes rows of an entry and states its bytes on the closing side.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "recorder/activity.hpp"
#include "recorder/arena.hpp"
#include "recorder/call_table.hpp"
#include "recorder/collective_table.hpp"
#include "recorder/counter.hpp"
#include "recorder/cpu_in_calls.hpp"
#include "recorder/message_table.hpp"
#include "recorder/path_table.hpp"
#include "recorder/paths.hpp"
#include "recorder/quantities.hpp"
#include "recorder/quantity_table.hpp"
#include "recorder/region_stack.hpp"
#include "recorder/sample_marks.hpp"
#include "recorder/site_hits.hpp"
#include "recorder/step_region.hpp"
#include "recorder/thread_state.hpp"

namespace perfield {

class Counters;
class KernelReadings;
struct Pending;

class ThreadProfile : public ThreadState {
 public:
  // Allocates tables of these sizes; nullptr if there is no memory. Freed with the recorder only:
  // other threads reuse the profiles of ended threads.
  static ThreadProfile* create(const Activity& activity, const Quantities& quantities,
                               Paths& known_paths, uint32_t max_regions,
                               uint32_t max_peers) noexcept;
  static void destroy(ThreadProfile* profile) noexcept;

  // --- regions: by the thread itself -------------------------------------------------------------
  void enter_region(uint32_t handle, uint32_t id, bool counted, uint64_t now) noexcept;
  void leave_region(uint32_t handle, uint64_t now) noexcept;
  // The fast path; false: nothing was done, take the slow path above. Inline, without calls; see
  // fast_path.hpp.
  template <class Clock>
  bool enter_fast(uint32_t handle, Clock clock) noexcept;
  template <class Clock>
  bool enter_corrected(uint32_t handle, Clock clock) noexcept;
  template <class Clock>
  bool leave_fast(uint32_t handle, Clock clock) noexcept;
  // The same while nothing is counted.
  bool enter_unmeasured(uint32_t handle) noexcept;
  bool leave_unmeasured(uint32_t handle) noexcept;
  // Whether leaving this region leaves the innermost one, and the configuration deselects it. That
  // needs no clock.
  bool leaves_uncounted(uint32_t handle) const noexcept {
    const int32_t d = depth.load(std::memory_order_relaxed);
    return d > 0 && d <= kStackDepth && !stack.counts(d - 1) && stack[d - 1].handle() == handle;
  }
  // Whether the thread is inside perfield (0: not), and whether its next region is an armed one.
  void set_own_work(uint32_t in_own_work, bool is_armed) noexcept {
    own_work = uint16_t(in_own_work);
    pipeline_armed = is_armed;
    fast_depth = in_own_work || is_armed ? 0 : kStackDepth;
  }
  // Faults in the pages that entering a region now will write to.
  void touch(uint32_t region) noexcept;
  // Before the thread enters or leaves a region.
  void look_at_samples() noexcept { samples.look(path_now()); }
  // The row of the path that the thread is on; deeper than the stack, that of the last level.
  uint32_t path_now() const noexcept {
    return stack.path_of(std::min(depth.load(std::memory_order_acquire), kStackDepth) - 1);
  }
  bool is_in_region() const noexcept { return depth.load(std::memory_order_relaxed) > 0; }

  // --- calls and operations: by the thread itself ------------------------------------------------
  // caller, frame: as in perfield_call_enter, or nullptr.
  void enter_call(perfield_call call, const void* caller, const void* frame,
                  uint64_t now) noexcept {
    begin_call(call, caller, frame, now);
    if (__builtin_expect(now >= cpu.next_reading, 0)) read_cpu(*this, now);
  }
  // Counts the call and all its time. Closings have taken their shares in advance.
  void exit_call(perfield_call call, uint64_t entered, uint64_t now, uint64_t out,
                 uint64_t in) noexcept {
    const Period period = period_now();
    end_call();
    count_ended_call(call, entered, now, out, in);
    if (is_in_region())
      add_time_to_regions(kTimeClassOfCall.of[call], entered, now, period.number, period.since);
  }
  // The same outside all regions, of a call that moved no bytes itself.
  void exit_call(perfield_call call, uint64_t entered, uint64_t now) noexcept {
    end_call();
    count_ended_call(call, entered, now, 0, 0);
  }
  void enter_operation(const perfield_operation* operation, const void* frame,
                       uint64_t now) noexcept {
    open_operation.store(operation, std::memory_order_relaxed);
    begin_call(perfield_call(0), nullptr, frame, now);
  }
  void leave_operation(const perfield_operation& operation, uint64_t entered, uint64_t now,
                       uint64_t bytes) noexcept {
    const Period period = period_now();
    end_call();
    open_operation.store(nullptr, std::memory_order_relaxed);
    count_operation(operation, bytes);
    add(operation.time, growth(now, entered));
    if (operation.time_inside)
      add_time_to_regions(uint16_t(number_of(operation.time_inside)), entered, now, period.number,
                          period.since);
  }
  void count_operation(const perfield_operation& operation, uint64_t bytes) noexcept {
    add(operation.count, 1);
    if (bytes) add(operation.bytes, bytes);
  }
  // Adds to a quantity of the regions that this thread is in, or of the rank.
  void add(perfield_quantity quantity, uint64_t amount) noexcept {
    quantities.add(*this, stack, quantity, amount);
  }
  // The program runs again although it never exited the call: an exception or longjmp of a handler
  // left it. Its time is not known beyond what closings took.
  void forget_call() noexcept {
    end_call();
    open_operation.store(nullptr, std::memory_order_relaxed);
    count_fault(left_calls);
  }
  // Whether the open call was left so, seen from a call whose frame this is: the frame of the open
  // call lies deeper, or no longer holds its return address.
  bool left_behind(const void* frame) const noexcept {
    if (!call_frame || !frame) return false;
    if (frame >= call_frame) return true;
    return call_caller && !is_same_code(static_cast<void* const*>(call_frame)[1], call_caller);
  }
  bool is_inside_call() const noexcept { return call_since.load(std::memory_order_relaxed) != 0; }
  // One of the numbers below that state what went wrong.
  void count_fault(MonotonicCounter& faults_of_a_kind) noexcept {
    faults_of_a_kind.add(1);
    dirty.add(DirtyTable::calls);
  }

  // --- by the thread that closes a step ----------------------------------------------------------
  // Whether the thread is inside a region or call. Together with `dirty` that says whether it has
  // done anything since the last closing.
  bool is_inside() const noexcept {
    return depth.load(std::memory_order_acquire) > 0 || is_inside_call();
  }
  // Takes the counts up to `now`, and notes in `all` where something is pending. dirty_tables: what
  // dirty.take() returned. n_regions: asked for after that.
  void collect(Pending& all, uint64_t dirty_tables, const Counters& counters, uint64_t now,
               uint32_t n_regions) noexcept;
  // Starts counting at `now`. Time between the last closing, `gap` ticks ago, and then belongs to
  // no step.
  void open(const Counters& counters, uint64_t now, uint64_t gap, uint32_t n_regions) noexcept;
  // Open regions and the open call get time from `until` on only, and the call's owner counts it
  // from there. Call it right after open(), while that thread does not run.
  void hold(uint64_t until) noexcept;
  // What its tables have touched, in bytes.
  uint64_t bytes(uint32_t n_regions, uint64_t n_sites) const noexcept;

  // --- state, behind ThreadState -----------------------------------------------------------------
  PathTable paths;
  CpuReading cpu;
  // Ticks in calls that found nothing, since the last call of another kind, or the closing of a
  // step; own thread only.
  uint64_t polled = 0;
  uint32_t number = 0;  // of the profile
  MessageTable messages;
  CollectiveTable collectives;
  CallTable calls;
  QuantityTable quantities;
  SiteHits sites;
  SampleMarks samples;
  StepEntries step_entries;
  RegionStack stack;
  std::atomic<KernelReadings*> kernel{nullptr};  // set where kernel counters are chosen
  uintptr_t pipeline_armed_at = 0;
  std::atomic<int> thread_id{0};  // the kernel's
  std::atomic<bool> in_use{true};
  std::atomic<bool> in_log{false};  // the thread may be writing to the EventLog

  MonotonicCounter faults;      // ends without begin, begins without end
  MonotonicCounter left_calls;  // calls that were never exited
  Counter untimed;              // deep entries that are not open further out too: they get no time
  uint64_t bytes_counted = 0;   // of bytes(), in the sum of all profiles; closing thread only

 private:
  explicit ThreadProfile(const Activity& of_recorder) noexcept : ThreadState(of_recorder) {}
  ~ThreadProfile() = default;

  template <class Clock>
  bool enter_path(uint32_t d, uint32_t path, uint32_t handle, Clock clock) noexcept;
  void enter_deep(uint32_t handle, uint32_t id, bool counted) noexcept;
  void leave_top(uint64_t now) noexcept;

  void begin_call(perfield_call call, const void* caller, const void* frame,
                  uint64_t now) noexcept {
    call_frame = frame;
    call_caller = caller;
    open_call.store(uint8_t(call), std::memory_order_relaxed);
    call_since.store(now, std::memory_order_release);
  }
  // The call ends first, then its time is added: who finds the call open has not read its time.
  void end_call() noexcept {
    call_since.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
  }
  // One comparison finds long calls, and those whose stamps go back: their difference wraps.
  void count_ended_call(perfield_call call, uint64_t entered, uint64_t now, uint64_t out,
                        uint64_t in) noexcept {
    polled = 0;
    const uint64_t ticks = now - entered;
    if (__builtin_expect(ticks >= cpu.long_call, 0))
      return count_slow_call(call, entered, now, out, in);
    calls.count(*this, call, ticks, out, in);
  }
  void count_slow_call(perfield_call call, uint64_t entered, uint64_t now, uint64_t out,
                       uint64_t in) noexcept;
  // On some machines a stored return address carries a signature in its upper bits.
  static bool is_same_code(const void* stored, const void* address) noexcept {
    return (reinterpret_cast<uintptr_t>(stored) ^ reinterpret_cast<uintptr_t>(address)) << 16 == 0;
  }

  // The active period and its begin. Amounts that are computed with the one belong to the other: if
  // the next period begins meanwhile, the closing has taken them already.
  struct Period {
    uint64_t number, since;
  };
  Period period_now() const noexcept {
    const uint64_t number = activity->period.load(std::memory_order_acquire);
    return {number, activity->since_ticks.load(std::memory_order_relaxed)};
  }
  // Six arguments at most, so that it can end a function.
  [[gnu::noinline]] void add_time_to_regions(uint16_t quantity, uint64_t entered, uint64_t now,
                                             uint64_t period, uint64_t since) noexcept {
    const uint64_t spent = growth(now, std::max(entered, since));
    if (spent) quantities.add_to_regions(*this, stack, quantity, spent, period);
  }

  // --- the open call, as the closing thread sees it ----------------------------------------------
  struct OpenCall {
    uint64_t since;  // its time before is in a step already, or in none; 0: no call is open
    perfield_call call;
    const perfield_operation* operation;
  };
  // The call that the thread has been inside since before `now`.
  OpenCall open_call_at(uint64_t now) noexcept;
  void advance(const OpenCall& open, uint64_t ticks) noexcept;

  Arena memory_;            // of the tables
  uint64_t call_seen_ = 0;  // begin of the open call that it saw last
  uint64_t call_taken_until_ = 0;
  OpenCall last_open_{};
  uint64_t cancelled_ = 0;  // of left_calls
};

}  // namespace perfield
