// SPDX-License-Identifier: BSD-3-Clause
//
// agreed_change.hpp - ranks agree on a change without a message: the first that needs it leaves a
// note in the run directory, with a step a little ahead; the others find it there in time.
#pragma once

#include <string>

namespace perfield {

// From this step on, this factor or interval; 0, 0: nothing is agreed yet. of: what it is about,
// where that is not said by the note's name. every: how many hits of a call site it counts as one.
// between: steps between two looks of a rank, where a site is agreed.
struct Change {
  unsigned long long from = 0, to = 0, of = 0, every = 1, between = 0;
};

// What the note says.
Change agreed_change(const std::string& note) noexcept;

// Leaves the note unless another rank was faster; returns what it says. Throws std::bad_alloc.
Change agree(const std::string& note, const Change& wanted);

}  // namespace perfield
