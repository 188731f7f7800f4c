// SPDX-License-Identifier: BSD-3-Clause
//
// step_entry.hpp - turns what the recorder's shards carry into the tables of a step entry. Run by
// the thread that closes the step; allocates only for regions that are new.
#pragma once

#include <functional>
#include <string>

#include "format/entry.hpp"
#include "recorder/recorder.hpp"

namespace perfield {

// The largest that one entry may become, for the writer's buffer.
size_t largest_step_body(uint32_t max_regions, uint32_t max_peers) noexcept;

// The `region` entries that must stand before the next step: of each region that has its first row
// there. Regions that were never entered, or are not selected, have none. Calls write(id, JSON
// text).
void define_regions(Recorder& recorder,
                    const std::function<void(uint32_t id, const std::string& json)>& write);
// The same of `quantity` entries: of all that were declared, but of times inside regions only once
// there are some. So what a rank does not define it has not measured, and what it defines is 0
// where nothing was added.
void define_quantities(Recorder& recorder,
                       const std::function<void(uint32_t id, const std::string& json)>& write);

// Whether what the shards carry is left as it is, for a look at a step that goes on.
enum class Carry { emptied, kept };

// Writes body and tables at `at` (room for `room` bytes) and empties the shards' carry. The counts
// of rows and the faults are filled in here. Returns the bytes used.
size_t encode_step(Recorder& recorder, StepBody body, unsigned char* at, size_t room,
                   Carry carry = Carry::emptied) noexcept;

}  // namespace perfield
