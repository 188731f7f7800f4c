// SPDX-License-Identifier: BSD-3-Clause
//
// call_sites.cpp - see call_sites.hpp. Unwinds the stack before it locks the table: unwinding takes
// the dynamic loader's lock, and the thread that holds that one may be waiting for the table.
#include "recorder/call_sites.hpp"

#include <link.h>
#include <unwind.h>

#include <cstdint>
#include <cstring>

namespace perfield {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr uint32_t kNoModule = ~uint32_t(0);  // code generated at run time

uint64_t mix(uint64_t hash, uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

uint32_t first_slot(uint16_t call, const void* caller, const void* frame) noexcept {
  const auto where =
      reinterpret_cast<uintptr_t>(caller) ^ (reinterpret_cast<uintptr_t>(frame) << 20);
  return uint32_t((where ^ call) * 0x9E3779B97F4A7C15u >> 40) % CallSites::kSlots;
}

const char* base_name(const char* path) noexcept {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

uint64_t hash_of(const char* text) noexcept {
  uint64_t hash = 1469598103934665603u;
  for (; *text; ++text) hash = mix(hash, static_cast<unsigned char>(*text));
  return hash;
}

}  // namespace

// The callers of an MPI call, without the frames inside perfield.
struct CallSites::Backtrace {
  static constexpr int kOwnFrames = 8;  // at most, between the program and here
  uintptr_t address[kMostSiteFrames + kOwnFrames];
  uintptr_t place[kMostSiteFrames + kOwnFrames];  // its address on the stack; 0: not known
  const char* path[kMostSiteFrames + kOwnFrames];
  uint64_t offset[kMostSiteFrames + kOwnFrames];
  int first = 0, end = 0;

  void take() noexcept {
    _Unwind_Backtrace(note_frame, this);
    dl_iterate_phdr(note_module, this);
    while (first < end && path[first] && !strncmp(base_name(path[first]), "libperfield", 11))
      ++first;
    if (end - first > kMostSiteFrames) end = first + kMostSiteFrames;
  }

  uint64_t identity(uint16_t call) const noexcept {
    uint64_t hash = mix(call, 1);
    for (int i = first; i < end; ++i)
      if (path[i]) hash = mix(mix(hash, hash_of(base_name(path[i]))), offset[i]);
    return hash;
  }

 private:
  static _Unwind_Reason_Code note_frame(_Unwind_Context* context, void* data) noexcept {
    auto* self = static_cast<Backtrace*>(data);
    if (self->end == kMostSiteFrames + kOwnFrames) return _URC_END_OF_STACK;
    const uintptr_t address = _Unwind_GetIP(context);
    // On most machines, a call leaves it right below the caller's stack.
    const uintptr_t place = _Unwind_GetCFA(context) - sizeof(uintptr_t);
    const bool lies_there = self->end > 0 && *reinterpret_cast<const uintptr_t*>(place) == address;
    self->address[self->end] = address;
    self->place[self->end] = lies_there ? place : 0;
    self->path[self->end++] = nullptr;
    return _URC_NO_REASON;
  }

  static int note_module(dl_phdr_info* object, size_t, void* data) noexcept {
    auto* self = static_cast<Backtrace*>(data);
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = object->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD) continue;
      const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
      for (int f = 0; f < self->end; ++f) {
        if (self->address[f] - begin >= segment.p_memsz) continue;
        self->path[f] = object->dlpi_name;
        self->offset[f] = self->address[f] - object->dlpi_addr;
      }
    }
    return 0;
  }
};

void CallSites::start(uint16_t call, uint16_t number) noexcept {
  step_call_ = call;
  step_number_ = number;
  following_.store(true, std::memory_order_release);
}

// Compares from the innermost address on. While the addresses match, the next one lies in the same
// frame as when it was noted.
bool CallSites::Slot::is_of(uint16_t c, const void* at, const void* f) const noexcept {
  if (caller != at || frame != f || call != c) return false;
  const char* stack = static_cast<const char*>(f);
  for (int i = 0; i < n_returns; ++i)
    if (*reinterpret_cast<const uintptr_t*>(stack + offset[i]) != returns[i]) return false;
  return true;
}

uint32_t CallSites::find(uint16_t call, const void* caller, const void* frame) noexcept {
  for (uint32_t slot = first_slot(call, caller, frame);; slot = (slot + 1) % kSlots) {
    const Slot& s = slots_[slot];
    const uint32_t site = s.site.load(std::memory_order_acquire);
    if (site == 0) return kNone;  // one is always there
    if (s.is_of(call, caller, frame)) return site == kNoRoom ? no_room() : site - 1;
  }
}

uint32_t CallSites::add(uint16_t call, const void* caller, const void* frame) noexcept {
  if (n_keys_.load(relaxed) >= kMostKeys) return no_room();
  Backtrace found;
  found.take();
  std::lock_guard<std::mutex> lock(mutex_);
  if (n_keys_.load(relaxed) >= kMostKeys) return no_room();
  const uint32_t site = site_of(found, call);
  n_keys_.fetch_add(1, relaxed);
  uint32_t slot = first_slot(call, caller, frame);
  while (slots_[slot].site.load(relaxed) != 0) slot = (slot + 1) % kSlots;
  Slot& s = slots_[slot];
  s.call = call;
  s.caller = caller;
  s.frame = frame;
  s.n_returns = 0;
  for (int i = found.first; i < found.end && s.n_returns < kCompared; ++i) {
    const uint64_t offset = found.place[i] - reinterpret_cast<uintptr_t>(frame);
    if (found.place[i] == 0 || offset > UINT32_MAX) continue;
    s.offset[s.n_returns] = uint32_t(offset);
    s.returns[s.n_returns++] = found.address[i];
  }
  // The key is kept even without room, so that the stack is not unwound again at each hit.
  s.site.store(site == kNoRoom ? kNoRoom : site + 1, std::memory_order_release);
  return site == kNoRoom ? no_room() : site;
}

// Finds the site with these callers. It may have been reached before at another depth of the stack:
// on another thread, or below an array of variable length.
uint32_t CallSites::site_of(const Backtrace& found, uint16_t call) noexcept {
  const uint64_t identity = found.identity(call);
  const uint32_t n = size();
  uint16_t number = 1;
  for (uint32_t i = 0; i < n; ++i) {
    if (sites_[i].call != call) continue;
    if (sites_[i].identity == identity) return i;
    ++number;
  }
  if (n == kMostSites) return kNoRoom;
  CallSite& site = sites_[n];
  site.call = call;
  site.number = number;
  site.identity = identity;
  site.n_frames = 0;
  for (int i = found.first; i < found.end; ++i) {
    if (!found.path[i]) continue;
    const uint32_t module = module_number(found.path[i]);
    if (module != kNoModule) site.frames[site.n_frames++] = {module, found.offset[i]};
  }
  if (call == step_call_ && number == step_number_) step_site_.store(n, relaxed);
  size_.store(n + 1, std::memory_order_release);
  return n;
}

uint32_t CallSites::module_number(const char* path) noexcept {
  for (uint32_t i = 0; i < n_modules_; ++i)
    if (!strncmp(modules_[i], path, kLongestPath - 1)) return i;
  if (n_modules_ == kMostModules) return kNoModule;
  strncpy(modules_[n_modules_], path, kLongestPath - 1);
  return n_modules_++;
}

bool CallSites::closes_step(uint32_t site) noexcept {
  if (site != step_site_.load(relaxed)) return false;
  step_hits_.fetch_add(1, relaxed);
  return true;
}

}  // namespace perfield
