// SPDX-License-Identifier: BSD-3-Clause
//
// call_sites.hpp - the places of the program that call MPI. The hot path tells them apart by kind
// of call, position of the stack and the return addresses on it, in a fixed table; nothing
// allocates. A new place is unwound once; its chain of callers then names it alike in all ranks.
// Sites that find no room are counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "format/calls.h"

namespace perfield {

inline constexpr int kMostSites = 256;
inline constexpr int kMostSiteFrames = 32;

// One caller: an address relative to the file of its module.
struct SiteFrame {
  uint32_t module;
  uint64_t offset;
};

struct CallSite {
  uint16_t call;
  uint16_t number;  // 1, 2, ... among the sites of that call, in the order of their first hits
  uint32_t n_frames;
  uint64_t identity;
  SiteFrame frames[kMostSiteFrames];  // innermost first
};

class CallSites {
 public:
  static constexpr uint32_t kNone = ~uint32_t(0), kNoRoom = kNone - 1;
  static constexpr uint32_t kSlots = 1024;  // at least half of them stay free

  // Follows calls from now on. A hit of site `number` of `call` closes a step (0: no site does).
  void start(uint16_t call, uint16_t number) noexcept;
  // Stops following, for good.
  void stop() noexcept { following_.store(false, std::memory_order_relaxed); }
  bool following() const noexcept { return following_.load(std::memory_order_acquire); }

  // Returns the site of a call; kNone if it is not known yet, kNoRoom if it found no room.
  uint32_t find(uint16_t call, const void* caller, const void* frame) noexcept;
  // Adds the site of a call; kNoRoom if the table is full. Takes microseconds.
  uint32_t add(uint16_t call, const void* caller, const void* frame) noexcept;
  // Whether a hit of this site closes a step.
  bool closes_step(uint32_t site) noexcept;

  uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  const CallSite& operator[](uint32_t site) const noexcept { return sites_[site]; }
  uint64_t overflowed() const noexcept { return overflowed_.load(std::memory_order_relaxed); }
  uint64_t step_hits() const noexcept { return step_hits_.load(std::memory_order_relaxed); }

  // Path of a module ("": the program itself), and the number of modules.
  const char* module(uint32_t number) const noexcept { return modules_[number]; }
  uint32_t n_modules() const noexcept { return n_modules_; }

 private:
  static constexpr uint32_t kMostKeys = 512, kMostModules = 64, kLongestPath = 512;
  static constexpr int kCompared = 16;  // return addresses, from the innermost on
  struct Slot {
    std::atomic<uint32_t> site{0};  // its number + 1, or kNoRoom; 0: free
    uint16_t call = 0, n_returns = 0;
    const void *caller = nullptr, *frame = nullptr;
    uint32_t offset[kCompared];  // of a return address, relative to frame
    uintptr_t returns[kCompared];

    bool is_of(uint16_t c, const void* at, const void* f) const noexcept;
  };
  struct Backtrace;

  uint32_t no_room() noexcept {
    overflowed_.fetch_add(1, std::memory_order_relaxed);
    return kNoRoom;
  }
  uint32_t site_of(const Backtrace& found, uint16_t call) noexcept;
  uint32_t module_number(const char* path) noexcept;

  std::atomic<bool> following_{false};
  std::atomic<uint32_t> size_{0}, step_site_{kNone};
  std::atomic<uint64_t> overflowed_{0}, step_hits_{0};
  uint16_t step_call_ = 0, step_number_ = 0;
  std::mutex mutex_;
  std::atomic<uint32_t> n_keys_{0};
  uint32_t n_modules_ = 0;
  Slot slots_[kSlots];
  CallSite sites_[kMostSites];
  char modules_[kMostModules][kLongestPath];
};

}  // namespace perfield
