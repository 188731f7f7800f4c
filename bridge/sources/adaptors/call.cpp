// SPDX-License-Identifier: BSD-3-Clause
//
// call.cpp - see call.hpp.
#include "sources/adaptors/call.hpp"

#include <atomic>
#include <cstring>

#define PERFIELD_BUILDING_LIBRARY  // calls libperfield.so itself, which this library needs
#include "include/perfield.h"
#include "recorder/source.h"

namespace perfield::adaptors {
namespace {

// The outermost call on this thread.
struct Outermost {
  const void* frame;  // nullptr: none
  perfield_region region;
};
thread_local Outermost outermost __attribute__((tls_model("initial-exec")));

// The thread that is in a call, by the address of its `outermost`.
std::atomic<const void*> inside{nullptr};

int64_t last_label;
bool has_label = false;

bool is_awake(const char* source, bool has_data) noexcept {
  static std::atomic<bool> tried{false};
  if (perfield_source_is_started()) return true;
  if (!has_data || tried.exchange(true)) return false;
  perfield_source_function_entered(source);
  return perfield_source_is_started();
}

}  // namespace

Call::Call(const char* source, const void* frame, bool has_data) noexcept : source_(source) {
  if (!is_awake(source, has_data) || perfield_own_work()) return;
  const void* const here = &outermost;
  // The stack grows downwards: a call at or above the frame of an open one is not inside it.
  if (inside.load(std::memory_order_relaxed) == here && frame >= outermost.frame) {
    follows_a_left_one_ = true;
    if (outermost.region) perfield_region_end(outermost.region);
    inside.store(nullptr, std::memory_order_relaxed);
  }
  const void* nobody = nullptr;
  counts_ = inside.compare_exchange_strong(nobody, here);
  if (!counts_) return;
  outermost = {frame, 0};
  perfield_source_present(source);  // at the first call: most programs never make one
}

Call::~Call() {
  if (!counts_) return;
  if (outermost.region) perfield_region_end(outermost.region);
  outermost = {};
  inside.store(nullptr);
}

void Call::step(int64_t label, double time) noexcept {
  if (has_label && label == last_label) return;  // other data of the same step
  has_label = true;
  last_label = label;
  perfield_source_step_offered(label, time);
}

void Call::begin() noexcept {
  outermost.region = perfield_region_define(source_, nullptr, 0);
  perfield_region_begin(outermost.region);
}

Excluded::Excluded() noexcept { perfield_exclude_begin(); }
Excluded::~Excluded() { perfield_exclude_end(); }

}  // namespace perfield::adaptors
