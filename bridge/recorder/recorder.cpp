// SPDX-License-Identifier: BSD-3-Clause
//
// recorder.cpp - gives each thread its profile and reads them all when a step closes.
#include "recorder/recorder.hpp"

#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "format/samples.hpp"
#include "platform/kernel_calls.hpp"
#include "recorder/kernel_readings.hpp"

namespace perfield {
namespace {
thread_local bool this_thread_refused = false;  // asked only once
}

__thread ThreadProfile* this_profile __attribute__((tls_model("initial-exec"))) = nullptr;
Recorder* the_recorder = nullptr;

Recorder& make_recorder() noexcept {
  alignas(Recorder) static char memory[sizeof(Recorder)];
  static Recorder* r = new (memory) Recorder;
  __atomic_store_n(&the_recorder, r, __ATOMIC_RELEASE);
  return *r;
}

void Recorder::start(uint32_t max_peers, bool messages, const std::string& choice) noexcept {
  max_peers_ = max_peers;
  clock.start(choice.c_str());
  activity_.by_counter = clock.by_counter();
  if (!clock.by_counter()) activity_.calls.fetch_or(Activity::by_other_clock);
  activity_.messages = uint8_t((messages ? 0 : Activity::not_counted) |
                               (clock.by_counter() ? 0 : Activity::other_clock));
  has_key_ = pthread_key_create(&thread_key_, [](void* s) { thread_ended(s); }) == 0;
}

void Recorder::start(uint32_t max_peers, bool messages, double ticks_per_second,
                     uint64_t origin) noexcept {
  max_peers_ = max_peers;
  activity_.messages = uint8_t((messages ? 0 : Activity::not_counted) | Activity::other_clock);
  activity_.calls.fetch_or(Activity::by_other_clock);
  clock.take(ticks_per_second, origin);
}

perfield_quantity Recorder::define_quantity(const char* name, const char* unit,
                                            perfield_scope scope, perfield_over_steps steps,
                                            perfield_over_threads threads,
                                            const char* help) noexcept {
  const int number = quantities.define(name, unit, scope, steps, threads, help);
  if (number < 0) return 0;
  return perfield_quantity(number + 1) | (scope == PERFIELD_PER_RANK ? kQuantityPerRank : 0);
}

Recorder::~Recorder() {
  if (has_key_) pthread_key_delete(thread_key_);
  for (int i = 0; i < n_profiles(); ++i) ThreadProfile::destroy(&profile_at(i));
  pending.end();
  Activity::destroy(activity_);
}

// Frees the profile of an ended thread for reuse. Its counts stay in it until the next closing.
void Recorder::thread_ended(void* memory) noexcept {
  auto* profile = static_cast<ThreadProfile*>(memory);
  this_profile = nullptr;
  recorder().read_at_leave(*profile);
  while (profile->depth.load(std::memory_order_relaxed) > 0) {  // regions that were never left
    int32_t top = profile->depth.load(std::memory_order_relaxed) - 1;
    if (top >= kStackDepth) {
      profile->depth.store(top, std::memory_order_relaxed);
      continue;
    }
    profile->count_fault(profile->faults);
    profile->leave_region(profile->stack[top].handle(), recorder().clock.ticks());
  }
  if (KernelReadings* k = profile->kernel.load(std::memory_order_relaxed)) k->thread_ended();
  recorder().step_region.thread_ended(*profile);
  profile->quantities.forget_readings();
  if (profile->is_inside_call()) profile->forget_call();
  profile->set_own_work(0, false);
  profile->samples.end();
  profile->in_use.store(false, std::memory_order_release);
}

void Recorder::stop_in_child() noexcept {
  stop();
  this_profile = nullptr;
  if (has_key_) pthread_setspecific(thread_key_, nullptr);
}

ThreadProfile* Recorder::new_profile() noexcept {
  if (this_thread_refused) return nullptr;
  this_thread_refused =
      true;  // set until it has a profile: a signal handler would wait for the lock
  std::lock_guard<std::mutex> lock(profiles_mutex_);
  ThreadProfile* mine = nullptr;
  for (int i = 0; i < n_profiles() && !mine; ++i) {
    ThreadProfile& s = profile_at(i);
    if (!s.in_use.load(std::memory_order_acquire)) {
      s.in_use.store(true, std::memory_order_relaxed);
      mine = &s;
    }
  }
  if (!mine) mine = add_profile();
  if (!mine) return nullptr;
  const int id = thread_number();
  mine->thread_id.store(id, std::memory_order_relaxed);
  mine->cpu = cpu_in_calls.first_reading();
  for (SampledThread& sampled : sampled_threads_)
    if (sampled.id == id) {
      mine->samples.begin(sampled.heads);
      sampled.has_profile = true;
    }
  this_profile = mine;
  this_thread_refused = false;
  if (has_key_) pthread_setspecific(thread_key_, mine);
  return mine;
}

// Called under profiles_mutex_, or by the one thread that reads a trace.
ThreadProfile* Recorder::add_profile() noexcept {
  const int n = n_profiles();
  if (n == 0 && !(paths.start(regions.capacity()) &&
                  pending.start(kMaxProfiles, regions.capacity(), paths.n_rows())))
    return nullptr;
  ThreadProfile* added = n < kMaxProfiles ? ThreadProfile::create(activity_, quantities, paths,
                                                                  regions.capacity(), max_peers_)
                                          : nullptr;
  if (!added) {
    refused_threads_.fetch_add(1);
    return nullptr;
  }
  added->number = uint32_t(n);
  profiles_[n].store(added, std::memory_order_release);
  n_profiles_.store(n + 1, std::memory_order_release);
  return added;
}

void Recorder::read_at_enter(ThreadProfile& s, uint32_t region) noexcept {
  KernelReadings* readings = s.kernel.load(std::memory_order_relaxed);
  if (!readings) {
    readings = KernelReadings::create(activity_.period.load(std::memory_order_relaxed));
    if (!readings) return;
    s.kernel.store(readings, std::memory_order_release);
  }
  readings->start(counters);
  if (state() != Activity::active) return;
  s.touch(region);
  read_at_leave(s);
}

void Recorder::read_at_leave(ThreadProfile& s) noexcept {
  KernelReadings* readings = s.kernel.load(std::memory_order_relaxed);
  if (!readings) return;
  const uint64_t period = activity_.period.load(std::memory_order_relaxed);
  readings->look(counters, period, [&](int c, uint64_t n) {
    s.quantities.add_to_regions(s, s.stack, uint16_t(counters[c].quantity), n, period);
  });
}

void Recorder::open(uint64_t now) noexcept {
  activity_.since_ticks.store(now, std::memory_order_relaxed);
  activity_.period.store(activity_.period.load(std::memory_order_relaxed) + 1,
                         std::memory_order_release);
  const uint64_t gap = collected_until_ ? growth(now, collected_until_) : 0;
  for (int i = 0; i < n_profiles(); ++i)
    if (ThreadProfile& s = profile_at(i); s.dirty.get() || s.is_inside())
      s.open(counters, now, gap, regions.size());
  set_state(Activity::active);
}

void Recorder::set_state(Activity::State state) noexcept {
  Activity::FastPath fast = Activity::none;
  if (state == Activity::paused && !counters.any() && !activity_.sampled) fast = Activity::no_time;
  if (state == Activity::active && !counters.any())
    fast = activity_.by_counter ? activity_.sampled ? Activity::sampled_counter : Activity::counter
           : activity_.sampled  ? Activity::sampled_given_time
                                : Activity::given_time;
  activity_.fast_path.store(Activity::none, std::memory_order_relaxed);
  activity_.state.store(state, std::memory_order_release);
  if (state == Activity::active)
    activity_.calls.fetch_and(uint8_t(~Activity::not_active), std::memory_order_release);
  else
    activity_.calls.fetch_or(Activity::not_active, std::memory_order_relaxed);
  activity_.fast_path.store(fast, std::memory_order_release);
}

// Each side writes first and then looks at what the other has written, so that one of both sees it.
void Recorder::allow_fast_path(ThreadProfile& s, uint32_t id) noexcept {
  const int32_t level = s.depth.load(std::memory_order_relaxed) - 1;
  if (level < 0 || level >= kStackDepth || s.own_work) return;
  const uint32_t path = s.stack.path_of(level);
  if (paths.is_other(path) || paths.region_of(path) != id) return;
  std::atomic<uint64_t>& fast = s.paths.rows[path].fast_region;
  const uint64_t region = RegionStackEntry::region_of(id, id);
  if (fast.load(std::memory_order_relaxed) == region) return;  // the clock or counters ask for it
  fast.store(region, std::memory_order_seq_cst);
  if (regions[id].armed_only.load(std::memory_order_seq_cst)) fast.store(0);
}

void Recorder::forbid_fast_path(uint32_t id) noexcept {
  if (regions[id].armed_only.exchange(true)) return;
  const int n = n_profiles_.load(std::memory_order_seq_cst);
  for (uint32_t path = 1; n && path < paths.size(); ++path)
    for (int i = 0; i < n && paths.region_of(path) == id; ++i)
      if (auto& fast = profile_at(i).paths.rows[path].fast_region; fast.load()) fast.store(0);
}

// Of all profiles, since they share the number of the period.
void Recorder::skip(ThreadProfile& s, uint64_t from, uint64_t until) noexcept {
  if (state() != Activity::active) return;
  collect(from);
  open(from);
  s.hold(until);
}

uint64_t Recorder::untimed_regions() noexcept {
  uint64_t all = 0;
  for (int i = 0; i < n_profiles(); ++i) all += profile_at(i).untimed.get();
  return all;
}

uint64_t Recorder::overflowed_paths() noexcept {
  uint64_t all = 0;
  if (paths.is_full())
    for (int i = 0; i < n_profiles(); ++i)
      for (uint32_t region = 0; region < regions.size(); ++region)
        all += profile_at(i).paths.rows[paths.other(region)].count.get();
  return all;
}

uint64_t Recorder::overflowed_collectives() noexcept {
  uint64_t all = 0;
  for (int i = 0; i < n_profiles(); ++i) all += profile_at(i).collectives.overflowed.get();
  return all;
}

uint64_t Recorder::left_calls() noexcept {
  uint64_t all = 0;
  for (int i = 0; i < n_profiles(); ++i) all += profile_at(i).left_calls.get();
  return all;
}

void Recorder::collect(uint64_t now) noexcept {
  if (this_profile) this_profile->polled = 0;  // that time is in the step that closes
  for (int i = 0; i < n_profiles(); ++i) {
    ThreadProfile& s = profile_at(i);
    const uint64_t dirty = s.dirty.take();
    if (!dirty && !s.is_inside()) continue;
    s.collect(pending, dirty, counters, now, regions.size());
    pending.profiles.add(uint32_t(i));
    const uint64_t bytes = s.bytes(regions.size(), sites.size());
    pending.bytes += bytes - s.bytes_counted;
    s.bytes_counted = bytes;
  }
  collected_until_ = now;
}

// --- samples -------------------------------------------------------------------------------------

ThreadProfile* Recorder::profile_of(int thread_id) noexcept {
  for (int i = 0; i < n_profiles(); ++i)
    if (ThreadProfile& s = profile_at(i); s.thread_id.load(std::memory_order_relaxed) == thread_id)
      return &s;
  return nullptr;
}

void Recorder::watch_samples(int thread_id, const SampleHeads& heads) noexcept {
  try {
    std::lock_guard<std::mutex> lock(profiles_mutex_);
    ThreadProfile* const s = profile_of(thread_id);
    sampled_threads_.push_back({thread_id, s != nullptr, heads});
    if (s) s->samples.begin(heads);
  } catch (...) {
    return;  // no memory: its samples are in no known region
  }
  if (std::exchange(activity_.sampled, true)) return;
  set_state(Activity::State(state()));
}

void Recorder::end_samples(int thread_id) noexcept {
  std::lock_guard<std::mutex> lock(profiles_mutex_);
  auto& all = sampled_threads_;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [=](const SampledThread& one) { return one.id == thread_id; }),
            all.end());
}

// A thread that has never come to a region, or has ended since, and another one has its profile.
uint64_t Recorder::where_without_profile(int thread_id) noexcept {
  std::lock_guard<std::mutex> lock(profiles_mutex_);
  for (const SampledThread& sampled : sampled_threads_)
    if (sampled.id == thread_id && sampled.has_profile) return kWhereUnknown;
  return where_on_path(Paths::kOutside);
}

uint64_t Recorder::region_of_sample(int thread_id, int ring, uint64_t end) noexcept {
  ThreadProfile* const s = profile_of(thread_id);
  if (!s) return where_without_profile(thread_id);
  const uint32_t row = s->samples.path_at(ring, end, [s] { return s->path_now(); });
  if (row == SampleMarks::kUnknown || row >= paths.n_rows()) return kWhereUnknown;
  if (row != Paths::kOutside) pending.paths.sampled_paths.add(row);
  return paths.is_other(row) ? where_on_other_paths(paths.region_of(row)) : where_on_path(row);
}

bool Recorder::any_in_log() noexcept {
  for (int i = 0; i < n_profiles(); ++i)
    if (profile_at(i).in_log.load(std::memory_order_seq_cst)) return true;
  return false;
}

void Recorder::begin_log(uint64_t step) noexcept {
  if (activity_.counts_messages() && log.is_free([this] { return any_in_log(); })) log.begin(step);
}

EventLog::Taken Recorder::take_log() noexcept {
  EventLog::Taken taken = log.take([this] { return any_in_log(); });
  const auto to_ns = [this](uint64_t* stamp) {
    if (*stamp) *stamp = clock.since_start_ns(*stamp);
  };
  for (uint32_t n = 0; n < taken.n; ++n)
    for (uint64_t LoggedEvent::*stamp :
         {&LoggedEvent::begun, &LoggedEvent::wait_begin, &LoggedEvent::wait_end})
      to_ns(&(taken.events[n].*stamp));
  to_ns(&taken.lost_begin);
  to_ns(&taken.lost_end);
  return taken;
}

uint64_t Recorder::bytes_used() noexcept {
  return pending.bytes + bytes_of_pages(log.bytes()) + sites.bytes() + paths.bytes() +
         regions.size() * sizeof(RegionDefinition) + bytes_of_pages(regions.capacity() * 16);
}

}  // namespace perfield
