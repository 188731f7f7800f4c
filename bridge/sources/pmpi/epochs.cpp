// SPDX-License-Identifier: BSD-3-Clause
//
// epochs.cpp - see epochs.hpp. Each group has one slot in a table of fixed size. Where two share
// it, the later one replaces the other, and what does not fit into kMostKept ranks is translated
// anew each time.
#include "epochs.hpp"

#include <cstdlib>

#include "items.hpp"
#include "lock.hpp"
#include "peers.hpp"

namespace perfield::pmpi {
namespace {

constexpr int kSlots = 256;
constexpr int kMostKept = 1 << 16;  // ranks of all groups

struct Kept {
  MPI_Group group;
  int n, room;
  int32_t* ranks;  // nullptr: never used
  bool is_valid;
};

std::atomic<bool> lock{false};
Kept table[kSlots];
int n_kept = 0;

Kept& slot_of(MPI_Group group) noexcept {
  return table[(uint64_t)group * 0x9E3779B97F4A7C15u >> 56];
}

// Room for n ranks in the slot; nullptr if there is none.
int32_t* make_room(Kept& slot, int n) noexcept {
  slot.is_valid = false;
  if (n <= slot.room) return slot.ranks;
  if (n_kept - slot.room + n > kMostKept) return nullptr;
  void* memory = realloc(slot.ranks, size_t(n) * sizeof(int32_t));
  if (!memory) return nullptr;
  n_kept += n - slot.room;
  slot.ranks = static_cast<int32_t*>(memory);
  slot.room = n;
  return slot.ranks;
}

bool make_room(Epoch*& epoch, int n) noexcept {
  if (epoch && n <= epoch->room) return true;
  if (n > kMostPartners) return false;
  void* memory = realloc(epoch, sizeof(Epoch) + size_t(n) * sizeof(Epoch::Partner));
  if (!memory) return false;
  epoch = static_cast<Epoch*>(memory);
  epoch->room = n;
  return true;
}

// Asks MPI for the world ranks of a group.
bool translate(MPI_Group group, int n, int32_t* found) noexcept {
  Items<int> own(n);
  if (!own.get()) return false;
  for (int i = 0; i < n; ++i) own.get()[i] = i;
  return world_ranks(group, n, own.get(), found);
}

// The ranks of a group go to the slot, if it can keep them, and to the epoch.
bool begin_anew(Epoch*& epoch, MPI_Group group, Kept& slot) noexcept {
  int n = 0;
  if (library.Group_size(group, &n) != MPI_SUCCESS || !make_room(epoch, n)) return false;
  Items<int32_t> once(n);
  int32_t* const kept = make_room(slot, n);
  int32_t* const ranks = kept ? kept : once.get();
  if (!ranks || !translate(group, n, ranks)) return false;
  if (kept) {
    slot.group = group;
    slot.n = n;
    slot.is_valid = true;
  }
  for (int i = 0; i < n; ++i) epoch->partners[i] = {ranks[i], 0};
  epoch->n = n;
  return true;
}

}  // namespace

bool begin_epoch(Epoch*& epoch, MPI_Group group) noexcept {
  Locked locked(lock);
  Kept& slot = slot_of(group);
  if (epoch) epoch->n = 0;
  if (!slot.is_valid || slot.group != group || !epoch || slot.n > epoch->room)
    return begin_anew(epoch, group, slot);
  for (int i = 0; i < slot.n; ++i) epoch->partners[i] = {slot.ranks[i], 0};
  epoch->n = slot.n;
  return true;
}

void forget_group(MPI_Group group) noexcept {
  Locked locked(lock);
  Kept& slot = slot_of(group);
  if (slot.group == group) slot.is_valid = false;
}

}  // namespace perfield::pmpi
