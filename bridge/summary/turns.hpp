// SPDX-License-Identifier: BSD-3-Clause
//
// turns.hpp - which rank has most when, where that moves from rank to rank: stretches of steps in
// each of which one rank mostly has most.
#pragma once

#include <cstddef>
#include <vector>

#include "summary/chance.hpp"

namespace perfield {

// The most likely turns by Viterbi's algorithm: in a step of its turn a rank has most with a
// probability of 0.7, else any other one has, and a new turn is one of n_steps (n_ranks - 1) that
// are possible. So a single step in which another rank has most ends no turn. Steps without
// anything belong to the turn around them; none where no step has anything. Takes time and memory
// of the order of the number of steps.
std::vector<Turn> turns_of(const Table& table);

}  // namespace perfield
