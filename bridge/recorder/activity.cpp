// SPDX-License-Identifier: BSD-3-Clause
//
// activity.cpp - see activity.hpp.
#include "recorder/activity.hpp"

#include <new>

#include "platform/pages.hpp"

namespace perfield {
namespace {

Activity shared;  // by recorders that found no memory, so that they fail elsewhere, with a sentence

}  // namespace

Activity& Activity::create() noexcept {
  void* const memory = map_pages(sizeof(Activity));
  if (!memory) return shared;
  madvise(memory, sizeof(Activity), MADV_WIPEONFORK);
  return *new (memory) Activity;
}

void Activity::destroy(Activity& activity) noexcept {
  if (&activity != &shared) munmap(static_cast<void*>(&activity), sizeof(Activity));
}

}  // namespace perfield
