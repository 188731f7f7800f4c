// SPDX-License-Identifier: BSD-3-Clause
//
// step_entry.hpp - encodes what the tables of the recorder's threads have pending as a step's
// entry. Runs on the thread that closes the step.
#pragma once

#include <string>

#include "format/entry.hpp"
#include "recorder/recorder.hpp"

namespace perfield {

// The bytes that the next entry needs at least, and those that all its rows may take: they grow
// with the rows in use.
struct StepRoom {
  size_t least, all;
};
StepRoom step_body_room(Recorder& recorder) noexcept;

// The same text with an id, as the body of one rank's `region` or `quantity` entry.
std::string with_id(uint32_t id, const std::string& json);

// Writes body and tables at `at` (`room` bytes, no fewer than needed). Fills in the number of rows
// and the faults. empties: what is written is pending no more; else somebody looks at a step that
// goes on. Returns the bytes used.
size_t encode_step(Recorder& recorder, StepBody body, unsigned char* at, size_t room,
                   bool empties = true) noexcept;

}  // namespace perfield
