// SPDX-License-Identifier: BSD-3-Clause
//
// call_sites.hpp - the places of the program from which MPI is called, told apart by how they were
// reached: kind of call, position of the stack, and the return addresses that lie there. A place
// that is new is unwound once; what it is known by from then on, its chain of callers, is the same
// in all ranks. The hot path looks a place up in a fixed table and compares what lies on the stack
// where unwinding found it; nothing allocates, and what finds no room is counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "format/calls.h"

namespace perfield {

inline constexpr int kMostSites = 256;
inline constexpr int kMostSiteFrames = 32;

// One caller: an address as the file of its module has it.
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
  static constexpr uint32_t kSlots = 1024;  // of which at least half stay free

  // From now on calls are followed. A hit of site `number` of `call` closes a step (0: none does).
  void start(uint16_t call, uint16_t number) noexcept;
  // No more, for good.
  void stop() noexcept { following_.store(false, std::memory_order_relaxed); }
  bool following() const noexcept { return following_.load(std::memory_order_acquire); }

  // The site of a call; kNone if it is not known yet, kNoRoom if there was none for it.
  uint32_t find(uint16_t call, const void* caller, const void* frame) noexcept;
  // Notes it, or that there is no room: kNoRoom. Takes microseconds.
  uint32_t add(uint16_t call, const void* caller, const void* frame) noexcept;
  // Whether a hit of it closes a step.
  bool closes_step(uint32_t site) noexcept;

  uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  const CallSite& operator[](uint32_t site) const noexcept { return sites_[site]; }
  uint64_t overflowed() const noexcept { return overflowed_.load(std::memory_order_relaxed); }
  uint64_t step_hits() const noexcept { return step_hits_.load(std::memory_order_relaxed); }

  // Path of a module ("": the program itself), and how many there are.
  const char* module(uint32_t number) const noexcept { return modules_[number]; }
  uint32_t n_modules() const noexcept { return n_modules_; }

 private:
  static constexpr uint32_t kMostKeys = 512, kMostModules = 64, kLongestPath = 512;
  static constexpr int kCompared = 16;  // of the return addresses, from the innermost on
  struct Slot {
    std::atomic<uint32_t> site{0};  // its number + 1, or kNoRoom; 0: free
    uint16_t call = 0, n_returns = 0;
    const void *caller = nullptr, *frame = nullptr;
    uint32_t offset[kCompared];  // of a return address, from frame on
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
