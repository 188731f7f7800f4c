// SPDX-License-Identifier: BSD-3-Clause
//
// recorder.hpp - counts what the threads of one rank do. Holds their profiles, the regions, the
// clock and whether it counts now. Knows no files and no MPI. A measured process has one recorder.
// Its event functions run on the program's threads and return at once while inactive. The session
// calls the other functions, one thread at a time. A trace reader makes one recorder per rank, asks
// for a profile per thread of the trace and passes a stamp with every event.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "platform/clock.hpp"
#include "recorder/call_sites.hpp"
#include "recorder/counters.hpp"
#include "recorder/event_log.hpp"
#include "recorder/paths.hpp"
#include "recorder/pending.hpp"
#include "recorder/regions.hpp"
#include "recorder/step_region.hpp"
#include "recorder/thread_profile.hpp"

namespace perfield {

extern __thread ThreadProfile* this_profile
    __attribute__((tls_model("initial-exec")));  // a plain load

class Recorder {
  Activity& activity_ = Activity::create();

 public:
  static constexpr int kMaxProfiles = 512;

  Recorder() = default;
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // --- events ------------------------------------------------------------------------------------
  uint32_t state() const noexcept { return activity_.state.load(std::memory_order_relaxed); }
  const std::atomic<uint32_t>& state_word() const noexcept { return activity_.state; }

  // In the recorder of the process: this thread's profile; nullptr while inactive, or if there is
  // no memory for one more.
  ThreadProfile* profile() noexcept {
    if (state() == Activity::inactive) return nullptr;
    return this_profile ? this_profile : new_profile();
  }

  // Called on that profile's thread. ticks: of the event; with 0, the clock is read where it is
  // needed.
  void enter_region(ThreadProfile& s, uint32_t id, uint32_t counted_as, uint64_t ticks) noexcept;
  void leave_region(ThreadProfile& s, uint32_t id, uint64_t ticks) noexcept;
  // The thread has entered a region that counts for itself: from now on by the fast path, on this
  // path of regions.
  void allow_fast_path(ThreadProfile& s, uint32_t id) noexcept;
  // The region was armed: from now on no thread enters it by the fast path.
  void forbid_fast_path(uint32_t id) noexcept;
  // Counts a hit of a call's site. Returns what to do after the call (AfterCall). now: updated
  // where that took noticeable time.
  uint64_t hit_site(ThreadProfile& s, uint16_t call, const void* caller, const void* frame,
                    uint64_t& now) noexcept;

  // --- the session's side ------------------------------------------------------------------------
  void start(uint32_t max_peers, bool messages, const std::string& clock) noexcept;
  // The same for a trace, whose stamps have this many ticks per second and count from `origin`.
  void start(uint32_t max_peers, bool messages, double ticks_per_second, uint64_t origin) noexcept;
  // See perfield_quantity_define.
  perfield_quantity define_quantity(const char* name, const char* unit, perfield_scope scope,
                                    perfield_over_steps steps, perfield_over_threads threads,
                                    const char* help) noexcept;
  // Returns a new profile; nullptr if there are kMaxProfiles already, or no memory for one more.
  ThreadProfile* add_profile() noexcept;
  // Resumes counting at `now`; open regions get time from here on.
  void open(uint64_t now) noexcept;
  // Collects the counts of all profiles until `now`; counting continues. Costs what the threads
  // have changed since the last time, and a look at each thread.
  void collect(uint64_t now) noexcept;
  uint64_t collected_until() const noexcept { return collected_until_; }
  // Gives the step this value of a state of the rank. By the thread that closes it, once there is a
  // profile.
  void set_of_rank(perfield_quantity quantity, uint64_t value) noexcept {
    profile_at(0).quantities.pending(pending.quantities, uint16_t(number_of(quantity))) = {value,
                                                                                           true};
    pending.profiles.add(0);
  }
  // The profile's thread did not run the program in [from, until): its open regions and call get no
  // time there.
  void skip(ThreadProfile& s, uint64_t from, uint64_t until) noexcept;
  // Keeps each event of this step, from now on.
  void begin_log(uint64_t step) noexcept;
  // What was kept since; its stamps are ns on the rank's clock.
  EventLog::Taken take_log() noexcept;
  // Where the kernel counts what it writes about a thread: from now on events of regions look
  // there.
  void watch_samples(int thread_id, const SampleHeads& heads) noexcept;
  void end_samples(int thread_id) noexcept;
  // In which region the sample was taken that ends at this byte of a ring of the thread, as a
  // `samples` entry states it. Ask for samples in their order.
  uint64_t region_of_sample(int thread_id, int ring, uint64_t end) noexcept;
  // Stops counting but follows events, so that begins and ends stay matched.
  void close() noexcept { set_state(Activity::paused); }
  // Stops for good.
  void stop() noexcept { set_state(Activity::inactive); }
  // The same in a forked child. Its thread frees no profile when it ends: the counters, and perhaps
  // a lock on them, belong to the parent.
  void stop_in_child() noexcept;

  int n_profiles() const noexcept { return n_profiles_.load(std::memory_order_acquire); }
  ThreadProfile& profile_at(int i) noexcept {
    return *profiles_[i].load(std::memory_order_acquire);
  }
  // Calls visit(profile) for those that have anything pending.
  template <class Visit>
  void for_each_pending(Visit visit) noexcept {
    if (const int n = n_profiles())
      pending.profiles.for_each(uint32_t(n), [&](uint32_t i) { visit(profile_at(int(i))); });
  }
  // Whether there are as many profiles as there may be.
  bool is_full() const noexcept { return n_profiles() >= kMaxProfiles; }
  uint64_t refused_threads() const noexcept { return refused_threads_.load(); }
  // Untimed entries of regions: see ThreadProfile::untimed.
  uint64_t untimed_regions() noexcept;
  // Entries of regions on paths that found no room.
  uint64_t overflowed_paths() noexcept;
  // Operations that found no row of their communicator.
  uint64_t overflowed_collectives() noexcept;
  // Calls that were never exited: see ThreadProfile::forget_call.
  uint64_t left_calls() noexcept;
  // Whether a region's definition is in the stream.
  bool is_defined(uint32_t region) noexcept {
    return n_profiles() && pending.paths.defined_regions.has(region);
  }
  // What the recorder's tables have touched until the last closing, in bytes.
  uint64_t bytes_used() noexcept;

  Clock clock;
  Regions regions;
  Paths paths;
  StepRegion step_region;
  CallSites sites{activity_};
  EventLog log{activity_};
  Quantities quantities;
  // As bits: those whose definition is in the stream, and those with rows in any step entry.
  uint64_t quantities_defined = 0, quantities_used = 0;
  Counters counters;  // the kernel's
  CpuInCalls cpu_in_calls;
  Pending pending;  // until the step is written

 private:
  struct SampledThread {
    int id;
    bool has_profile;  // or had one
    SampleHeads heads;
  };
  ThreadProfile* new_profile() noexcept;
  ThreadProfile* profile_of(int thread_id) noexcept;
  uint64_t where_without_profile(int thread_id) noexcept;
  // Reads the counters of a thread that is about to enter or leave a region.
  void read_at_enter(ThreadProfile& s, uint32_t region) noexcept;
  void read_at_leave(ThreadProfile& s) noexcept;
  static void thread_ended(void* profile) noexcept;
  void set_state(Activity::State state) noexcept;
  bool any_in_log() noexcept;

  uint32_t max_peers_ = 0;  // from start(), before any profile
  pthread_key_t thread_key_{};
  bool has_key_ = false;
  std::mutex profiles_mutex_;
  std::atomic<int> n_profiles_{0};
  std::atomic<ThreadProfile*> profiles_[kMaxProfiles] = {};
  std::atomic<uint64_t> refused_threads_{0};
  uint64_t collected_until_ = 0;
  std::vector<SampledThread> sampled_threads_;  // under profiles_mutex_
};

// --- on the hot path of all sources of regions --------------------------------------------------
inline void Recorder::enter_region(ThreadProfile& s, uint32_t handle, uint32_t id,
                                   uint64_t ticks) noexcept {
  if (s.own_work) return;
  const bool counted = id != Regions::kNone;
  if (__builtin_expect(counters.any(), 0) && counted) read_at_enter(s, id);
  const bool timed = counted && state() == Activity::active;
  s.enter_region(handle, id, counted, !timed ? 0 : ticks ? ticks : clock.ticks());
}

inline void Recorder::leave_region(ThreadProfile& s, uint32_t handle, uint64_t ticks) noexcept {
  if (s.own_work) return;
  const bool timed = state() == Activity::active && !s.leaves_uncounted(handle);
  const uint64_t now = !timed ? 0 : ticks ? ticks : clock.ticks();
  if (__builtin_expect(counters.any(), 0) && timed) read_at_leave(s);
  s.leave_region(handle, now);
}

inline uint64_t Recorder::hit_site(ThreadProfile& s, uint16_t call, const void* caller,
                                   const void* frame, uint64_t& now) noexcept {
  constexpr uint64_t first_note = 64;  // then after twice as many hits each time
  if (__builtin_expect(!s.sites.is_started(), 0) && !sites.join(s, now)) return 0;
  ++s.sites.n_calls;
  if (!sites.follows(call)) return sites.closes_window(now) ? kCloseWindow : kNothing;
  uint32_t site = sites.find(call, caller, frame);
  const bool is_new = site == CallSites::kNone;
  if (__builtin_expect(is_new, 0)) site = sites.add(s, call, caller, frame);
  uint64_t after = 0;
  if (site != CallSites::kNoRoom) {
    const uint64_t hits = s.sites.count(site, now);
    if ((hits & (hits - 1)) == 0 && hits >= first_note) after |= kNoteSites;
    if (sites.closes_step(s, site)) after |= kCloseStep;
    if (sites.finds_steps(call)) after |= kAskOfAll;
    if (sites.agrees_on(call)) after |= sites.met_alone(s, site, hits);
  }
  if (__builtin_expect(sites.closes_window(now), 0)) after |= kCloseWindow;
  s.sites.newest = site;
  if (__builtin_expect(is_new, 0)) now = clock.ticks();
  return after;
}

// The recorder of this process. Never destroyed, since events may come arbitrarily late.
extern Recorder* the_recorder;  // nullptr until first asked for
Recorder& make_recorder() noexcept;
inline Recorder& recorder() noexcept {
  Recorder* made = __atomic_load_n(&the_recorder, __ATOMIC_ACQUIRE);
  return __builtin_expect(made != nullptr, 1) ? *made : make_recorder();
}

}  // namespace perfield
