// SPDX-License-Identifier: BSD-3-Clause
//
// epochs.hpp - the partners of a window's epochs of MPI_Win_start and MPI_Win_post, by world rank.
// MPI translates a group when it is first met; then its ranks are kept until the program frees it.
// Any thread, but one at a time begins and ends the same kind of epoch on a window.
#pragma once

#include <cstdint>

#include "library.hpp"

namespace perfield::pmpi {

struct Epoch {
  struct Partner {
    int32_t peer;
    uint32_t number;  // of this epoch, among those from this origin to this target; 0: not known
  };
  int n, room;
  Partner partners[];
};

// Makes the group the partners of `epoch`, which it allocates if the window has had no epoch of so
// many. Returns false where there is no memory, or the group has more than kMostPartners ranks;
// then the epoch has none.
inline constexpr int kMostPartners = 1 << 12;
bool begin_epoch(Epoch*& epoch, MPI_Group group) noexcept;

// The program frees that group: its handle may soon name another one.
void forget_group(MPI_Group group) noexcept;

}  // namespace perfield::pmpi
