// SPDX-License-Identifier: BSD-3-Clause
//
// call_sites.hpp - the places of the program that call MPI. The hot path distinguishes them by kind
// of call, position of the stack and the return addresses on it, in Python also by the lines of the
// script, in fixed tables; nothing allocates. A new place is unwound once; a hash of its chain of
// callers then names it alike in all ranks. When the tables are full, sites that were not hit for
// long are given up; calls that find no room all the same are counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "configuration/step_call.hpp"
#include "format/calls.h"
#include "platform/python_stack.hpp"
#include "recorder/activity.hpp"
#include "recorder/agreed_site.hpp"
#include "recorder/step_finder.hpp"
#include "recorder/step_pace.hpp"

namespace perfield {

inline constexpr uint32_t kMostSites = 3072;
inline constexpr int kMostSiteFrames = 32;

// What perfield_call_after must do.
// kAskOfAll: whether the call is a collective operation of all ranks; see perfield_call_of_all.
// kAskRanks: whether ranks agree on a site; see AgreedSite.
// kRefuseSteps: collective operations end steps, and those on which others agree must not.
// kCloseWindow: while nothing closes steps; see fields/clock_windows.hpp.
enum AfterCall : uint64_t {
  kNothing = 0,
  kCloseStep = 1,
  kNoteSites = 2,
  kRestartSteps = 4,
  kAskOfAll = 8,
  kAskRanks = 16,
  kCloseWindow = 32,
  kRefuseSteps = 64
};

// One caller: an address relative to the file of its module, or a line of a function in a script.
struct SiteFrame {
  uint64_t module : 8, offset : 56;
};

struct CallSite {
  uint64_t identity;  // hash of the call and its callers, the same in all ranks
  uint64_t level;     // and of the call and the callers of the function that calls
  uint32_t first_frame;
  uint16_t n_frames;  // innermost first
  uint16_t call;
  uint8_t in_finder[2];    // its numbers there, alone and in a row; StepFinder::kNone: not known
  uint32_t newest_of_all;  // which collective operation of all ranks hit it last
  bool is_of_interpreter;  // and the lines of the script are not known
  // Of a collective operation amid steps of messages: the step of its last hit, and how many lie
  // between its last two; 0: not known.
  uint64_t step, gap;
  uint64_t visits;  // of a call that completes requests in a loop: hits that begin such a loop
};

// How to find where steps end: by collective operations; where these do not show it, by notes among
// the ranks; whether this one proposes.
struct StepSearch {
  bool finds = false, agrees = false, proposes = false;
};

class SiteHits;
class ThreadProfile;

class CallSites {
 public:
  static constexpr uint32_t kNone = ~uint32_t(0), kNoRoom = kNone - 1;

  // Sets in `activity` whether calls are followed.
  explicit CallSites(Activity& activity) noexcept : activity_(activity) {}
  ~CallSites();

  // Follows calls from now on, where there is memory for the tables. Hits of the site that `step`
  // names close steps, or of one that is found while the program runs.
  void start(const StepCall& step, const StepSearch& search) noexcept;
  // Stops following, for good.
  void stop() noexcept {
    if (following())
      activity_.calls.fetch_and(uint8_t(~Activity::followed), std::memory_order_relaxed);
  }
  bool following() const noexcept {
    return activity_.calls.load(std::memory_order_acquire) & Activity::followed;
  }

  // Whether the sites of calls of this kind are followed: not of calls that start or poll
  // something, which end no step; and once collective operations of all ranks have ended steps for
  // long, of these alone.
  bool follows(uint16_t call) const noexcept {
    return call >= 64 || kinds_.load(std::memory_order_relaxed) >> call & 1;
  }

  // --- by threads that call MPI
  // This thread hits sites from now on. Without memory for that, none is followed any more.
  bool join(ThreadProfile& s, uint64_t now) noexcept;
  // Returns the site of a call; kNone if it is not known yet, kNoRoom if it found no room.
  uint32_t find(uint16_t call, const void* caller, const void* frame) noexcept {
    caller = with_script(caller);
    for (uint32_t slot = first_slot(call, caller, frame) % kSlots;; slot = (slot + 1) % kSlots) {
      const uint32_t key = tables_->slots[slot].load(std::memory_order_acquire);
      if (key == 0) return kNone;  // one is always there
      const Key& k = tables_->keys[key - 1];
      if (k.is_of(call, caller, frame))
        return __builtin_expect(k.site == kNoRoom, 0) ? no_room(call, caller, frame) : k.site;
    }
  }
  // Adds the site of a call; kNoRoom if the table is full. Takes microseconds.
  uint32_t add(ThreadProfile& s, uint16_t call, const void* caller, const void* frame) noexcept;
  // Whether this hit of the site closes a step. With the first such hit setup ends, and its sites
  // are given up.
  bool closes_step(ThreadProfile& s, uint32_t site) noexcept {
    return site == step_site_.load(std::memory_order_relaxed) && counts_for_step(s, site);
  }

  // Whether a window of the clock is over, which is due at some moment, in ticks.
  bool closes_window(uint64_t now) const noexcept {
    return now >= window_due_.load(std::memory_order_relaxed);
  }
  void next_window(uint64_t due) noexcept { window_due_.store(due, std::memory_order_relaxed); }

  // Whether a call of this kind may belong to the sequence from which steps are found.
  bool finds_steps(uint16_t call) const noexcept {
    return finds_.load(std::memory_order_relaxed) && call >= PERFIELD_CALL_barrier &&
           call <= PERFIELD_CALL_exscan;
  }
  // A collective operation of all ranks returned at the thread's newest site. Returns what is to be
  // done: AfterCall.
  uint64_t met_by_all(ThreadProfile& s) noexcept;
  // Whether a call of this kind may close steps on which the ranks agree: it completes messages,
  // once for each iteration of most loops.
  bool agrees_on(uint16_t call) const noexcept {
    constexpr uint32_t kinds = 1u << PERFIELD_CALL_send | 1u << PERFIELD_CALL_bsend |
                               1u << PERFIELD_CALL_ssend | 1u << PERFIELD_CALL_rsend |
                               1u << PERFIELD_CALL_sendrecv | 1u << PERFIELD_CALL_sendrecv_replace |
                               1u << PERFIELD_CALL_recv | 1u << PERFIELD_CALL_mrecv |
                               1u << PERFIELD_CALL_wait | 1u << PERFIELD_CALL_waitall |
                               1u << PERFIELD_CALL_waitany | 1u << PERFIELD_CALL_waitsome;
    return agrees_.load(std::memory_order_relaxed) && call < 32 && kinds >> call & 1;
  }
  bool is_agreeing() const noexcept { return agrees_.load(std::memory_order_relaxed); }
  void stop_agreeing() noexcept {
    agrees_.store(false, std::memory_order_relaxed);
    tables_->agreed.refuse();
  }
  // Such a call returned at this site, its hits-th time on this thread. Returns AfterCall.
  uint64_t met_alone(ThreadProfile& s, uint32_t site, uint64_t hits) noexcept;
  AgreedSite& agreed() noexcept { return tables_->agreed; }
  StepPace& pace() noexcept { return tables_->pace; }
  // What this rank wants to propose, once; none: {}.
  StepProposal take_wish() noexcept;
  // A rank's proposal of a site. Returns whether this one agrees.
  bool agree(const StepProposal& proposal) noexcept;
  // Finds no more steps, and takes back those that were closed. Returns whether there are any.
  bool stop_finding() noexcept;
  // Whether steps were found and closed; and whether they hold when the program ends.
  bool has_found() const noexcept { return found_.load(std::memory_order_relaxed) || is_agreed(); }
  // Another rank has refused the site that closed steps here. Returns how many steps the newest
  // collective operations, which were taken for checks, have closed on the others.
  uint32_t closings_after_refusal() noexcept;
  // A site on which the ranks agree closes steps from now on. Returns whether others did before.
  bool end_found() noexcept;
  bool found_is_right() noexcept;
  // With steps that were found: the identity of the site that closes them, the program's steps so
  // far, and those of them until the first closing.
  uint64_t found_site() const noexcept;
  // What these steps are called on all ranks, whose call sites may differ.
  uint64_t found_name() const noexcept;
  uint64_t found_steps() const noexcept;
  uint64_t found_first() const noexcept;
  // How many returns at the site make one of these steps.
  uint64_t found_returns() const noexcept { return is_agreed() ? tables_->agreed.every() : 1; }

  // --- to read them. Nobody gives up sites while it is locked.
  std::mutex& mutex() noexcept { return mutex_; }
  uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  const CallSite& operator[](uint32_t site) const noexcept { return tables_->sites[site]; }
  const SiteFrame* frames(uint32_t site) const noexcept {
    return tables_->frames + tables_->sites[site].first_frame;
  }
  // Path of a module; "": the program itself. kScript, a function, ":" and a path: of a script.
  static constexpr char kScript[] = "python:";
  const char* module(uint32_t number) const noexcept { return tables_->modules[number]; }

  // Calls that found no room, and the number of their places.
  uint64_t overflowed() const noexcept { return overflowed_.load(std::memory_order_relaxed); }
  uint64_t places_without_room() const noexcept;
  uint64_t given_up() const noexcept { return given_up_.load(std::memory_order_relaxed); }
  // Memory of the tables that is in use.
  uint64_t bytes() const noexcept;
  uint64_t first_hit() const noexcept { return first_hit_.load(std::memory_order_relaxed); }
  uint64_t step_hits() const noexcept { return step_hits_.load(std::memory_order_relaxed); }

 private:
  // Keys outnumber sites: a site is reached at several depths of the stack.
  static constexpr uint32_t kMostKeys = 4096, kSlots = 2 * kMostKeys;
  static constexpr uint32_t kMostFrames = 16 * kMostSites, kMostModules = 255, kLongestPath = 512;
  static constexpr uint32_t kPlaceBits = 1 << 16;
  static constexpr uint32_t kLooksAfterCheck = 64;
  static constexpr int kCompared = 16;  // return addresses, from the innermost on, by fours
  static constexpr int kMostCleanings =
      16;  // a loop with more sites than room must not clean forever
  struct Key {
    uint32_t site;  // or kNoRoom
    uint16_t call, n_fours;
    const void *caller, *frame;  // see with_script()
    struct Return {
      uint32_t offset;   // of a return address, relative to frame
      uint32_t address;  // its lower half: the offset makes a mistake unlikely
      bool lies_in(const char* stack) const noexcept {
        return uint32_t(*reinterpret_cast<const uintptr_t*>(stack + offset)) == address;
      }
    };
    Return returns[kCompared];  // beyond `caller`; those that are left of the last four repeat it

    // Compares from the innermost address on. While the addresses match, the next one lies in the
    // same frame as when it was noted.
    bool is_of(uint16_t c, const void* at, const void* f) const noexcept {
      if (caller != at || frame != f || call != c) return false;
      const char* stack = static_cast<const char*>(f);
      for (const Return *four = returns, *end = returns + 4 * n_fours; four != end; four += 4)
        if (!(four[0].lies_in(stack) && four[1].lies_in(stack) && four[2].lies_in(stack) &&
              four[3].lies_in(stack)))
          return false;
      return true;
    }
  };
  // One piece of fresh pages, which cost nothing until touched.
  struct Tables {
    std::atomic<uint32_t> slots[kSlots];  // number of a key + 1; 0: free
    Key keys[kMostKeys];
    CallSite sites[kMostSites];
    SiteFrame frames[kMostFrames];
    char modules[kMostModules][kLongestPath];
    std::atomic<uint64_t> places[kPlaceBits / 64];  // without room, by a hash
    StepFinder finder;
    AgreedSite agreed;
    StepPace pace;
  };
  struct Backtrace;

  const void* with_script(const void* caller) noexcept {
    return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(caller) ^ python_.chain());
  }
  static uint32_t first_slot(uint16_t call, const void* caller, const void* frame) noexcept {
    const auto where =
        reinterpret_cast<uintptr_t>(caller) ^ (reinterpret_cast<uintptr_t>(frame) << 20);
    return uint32_t((where ^ call) * 0x9E3779B97F4A7C15u >> 40);
  }
  static constexpr uint64_t kind(int call) noexcept { return uint64_t{1} << call; }
  bool counts_for_step(ThreadProfile& s, uint32_t site) noexcept;
  uint64_t paced(uint64_t hits) noexcept;
  bool is_check_of_steps(CallSite* site) noexcept;
  uint64_t take_over() noexcept;
  bool is_of_shorter_loop() const noexcept;
  uint32_t number_of(uint64_t identity) const noexcept;
  // Ranks have other numbers of requests, and complete them in other turns, so only the first of
  // such calls in a row counts.
  static bool counts_visits(uint16_t call) noexcept {
    constexpr uint32_t kinds =
        1u << PERFIELD_CALL_wait | 1u << PERFIELD_CALL_waitany | 1u << PERFIELD_CALL_waitsome;
    return call < 32 && kinds >> call & 1;
  }
  uint64_t hits_of(uint32_t site) const noexcept;
  bool is_agreed() const noexcept { return tables_ && tables_->agreed.closes(); }
  uint32_t no_room(uint16_t call, const void* caller, const void* frame) noexcept;
  bool is_full() const noexcept;
  void give_up_old(ThreadProfile& s) noexcept;
  template <class Keep>
  void keep_only(ThreadProfile& s, Keep keep) noexcept;
  uint32_t site_of(const Backtrace& found, uint16_t call) noexcept;
  void add_key(const Backtrace& found, uint32_t site, uint16_t call, const void* caller,
               const void* frame) noexcept;
  uint32_t module_number(const char* path) noexcept;

  Activity& activity_;
  std::atomic<uint64_t> kinds_{~uint64_t{0}};
  std::atomic<bool> finds_{false}, found_{false}, agrees_{false};
  std::atomic<uint32_t> size_{0}, step_site_{kNone};
  std::atomic<uint64_t> overflowed_{0}, step_hits_{0}, given_up_{0}, first_hit_{0};
  std::atomic<uint64_t> window_due_{~uint64_t{0}};
  StepCall step_;
  PythonStack python_;
  std::mutex mutex_;
  uint32_t n_of_all_ = 0;           // collective operations of all ranks
  uint64_t ended_ = 0;              // such a site that closed steps before the ranks agreed
  const SiteHits* hits_ = nullptr;  // of the thread that calls MPI
  std::atomic<int> n_threads_{0};
  int cleanings_ = 0;
  // Collective operations that looked like checks of steps of messages. Each has closed a step on
  // ranks that have none of these, whose refusal is coming then: this rank looks for it so often.
  uint32_t n_checks_ = 0, looks_after_check_ = 0;
  uint32_t n_keys_ = 0, n_frames_ = 0, n_modules_ = 0;
  Tables* tables_ = nullptr;
};

}  // namespace perfield
