// SPDX-License-Identifier: BSD-3-Clause
//
// step_entry.hpp - turns the carry of the recorder's shards into the tables of a step entry. Runs
// on the thread that closes the step; allocates only for new regions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "format/entry.hpp"
#include "recorder/recorder.hpp"

namespace perfield {

// The bytes that the next entry needs at least, and those that all its rows may take: they grow
// with the rows in use.
struct StepRoom {
  size_t least, all;
};
StepRoom step_body_room(Recorder& recorder) noexcept;

// Writes the definitions of the regions that must precede the next step: one for each region with
// its first row there. Regions that were never entered or are not selected have none. Calls
// write(id, JSON text without the id), which says whether it will be in the stream; else it is due
// again.
void define_regions(Recorder& recorder,
                    const std::function<bool(uint32_t id, const std::string& json)>& write);
// The same for quantities: for all declared ones, but times inside regions only once
// there are some. So a rank has not measured what it does not define, and a defined quantity is 0
// where nothing was added.
void define_quantities(Recorder& recorder,
                       const std::function<bool(uint32_t id, const std::string& json)>& write);

// The same for paths and those around them, which come first: all rows at once.
void define_paths(Recorder& recorder,
                  const std::function<bool(const std::vector<PathDefinition>& rows)>& write);

// The same text with an id, as the body of one rank's `region` or `quantity` entry.
std::string with_id(uint32_t id, const std::string& json);

// Whether the carry stays in the shards, to look at a step that goes on.
enum class Carry { emptied, kept };

// Writes body and tables at `at` (`room` bytes, no fewer than needed) and empties the shards'
// carry. Fills in the number of rows and the faults. Returns the bytes used.
size_t encode_step(Recorder& recorder, StepBody body, unsigned char* at, size_t room,
                   Carry carry = Carry::emptied) noexcept;

}  // namespace perfield
