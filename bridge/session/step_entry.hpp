// SPDX-License-Identifier: BSD-3-Clause
//
// step_entry.hpp - turns what the recorder's shards carry into the tables of a step entry. Run by
// the thread that closes the step; allocates nothing.
#pragma once

#include "format/entry.hpp"
#include "recorder/recorder.hpp"

namespace perfield {

// The largest that one entry may become, for the writer's buffer.
size_t largest_step_body(uint32_t max_regions, uint32_t max_peers) noexcept;

// Whether what the shards carry is left as it is, for a look at a step that goes on.
enum class Carry { emptied, kept };

// Writes body and tables at `at` (room for `room` bytes) and empties the shards' carry. The counts
// of rows and the faults are filled in here. Returns the bytes used.
size_t encode_step(Recorder& recorder, StepBody body, unsigned char* at, size_t room,
                   Carry carry = Carry::emptied) noexcept;

}  // namespace perfield
