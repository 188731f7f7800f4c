// SPDX-License-Identifier: BSD-3-Clause
//
// step_sites.hpp - what was seen of the program's call sites of MPI, put into words: the entry from
// which `perfield steps` proposes one, and the list of those that a configuration could name.
#pragma once

#include <string>

#include "recorder/recorder.hpp"

namespace perfield {

// The body of a `sites` entry: all sites with their hits and callers, added up over the threads.
std::string sites_json(Recorder& recorder, const std::string& step_call);

// "Allreduce@1 (200 times), Allreduce@2 (once)": the sites of that call, or of all calls if it has
// none; at most a few of them, by hits.
std::string sites_in_words(Recorder& recorder, uint16_t call);

}  // namespace perfield
