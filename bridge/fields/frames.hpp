// SPDX-License-Identifier: BSD-3-Clause
//
// frames.hpp - joins the step entries of ranks into frames. Each rank chooses alone how many steps
// its entries add up, so a frame is the smallest range of steps that no entry crosses: ranks meet
// at the coarsest of their spans, where a finer rank has several entries, which are added up.
// Used by the summary and by Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "format/entry.hpp"

namespace perfield {

struct Frames {
  std::vector<uint32_t> of_entry;     // the frame of each entry; frames are counted from 0
  std::vector<uint64_t> first, last;  // the steps of each frame; frames are in order
};

// index: the last step of each entry. span: how many steps it adds up. at_least: frames begin and
// end at multiples of so many steps, or where no entry is. Fast where entries are sorted by index.
Frames join_entries(const uint64_t* index, const uint32_t* span, size_t n, uint64_t at_least = 1);

// Adds the fixed part of a rank's next entry to those before it in a frame: times and counts add
// up, names and states are those of the newest.
void add_entry(const StepBody& next, StepBody* sum);

}  // namespace perfield
