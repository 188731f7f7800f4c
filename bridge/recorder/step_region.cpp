// SPDX-License-Identifier: BSD-3-Clause
//
// step_region.cpp - see step_region.hpp.
#include "recorder/step_region.hpp"

#include "recorder/thread_profile.hpp"

namespace perfield {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

// The end of an outer region may have closed the outermost entry, which an exception or longjmp
// left. Then this entry is the outermost one.
bool StepRegion::enter(ThreadProfile& s, uint32_t handle) noexcept {
  StepEntries& entries = s.step_entries;
  if (s.stack.is_open(entries.level.load(relaxed), entries.handle.load(relaxed),
                      s.depth.load(relaxed)))
    return false;
  entries.level.store(s.depth.load(relaxed), relaxed);
  entries.handle.store(handle, relaxed);
  entries.inner.set(0);
  ThreadProfile* none = nullptr;
  return closer_.compare_exchange_strong(none, &s, relaxed) || none == &s;
}

bool StepRegion::leave(ThreadProfile& s) noexcept {
  StepEntries& entries = s.step_entries;
  const int32_t outermost = entries.level.load(relaxed);
  if (outermost < 0) return false;
  if (s.stack.is_open(outermost, entries.handle.load(relaxed), s.depth.load(relaxed))) {
    entries.inner.add(1);
    return false;
  }
  entries.level.store(-1, relaxed);
  entries.left.add(1);
  return closer() == &s;
}

void StepRegion::thread_ended(ThreadProfile& s) noexcept {
  s.step_entries.level.store(-1, relaxed);
  ThreadProfile* closer = &s;
  closer_.compare_exchange_strong(closer, nullptr, relaxed);
}

}  // namespace perfield
