// SPDX-License-Identifier: BSD-3-Clause
//
// step_sites.hpp - describes the program's MPI call sites as text: the entry from which `perfield
// steps` proposes one, and the list of sites that a configuration could name.
#pragma once

#include <string>

#include "recorder/recorder.hpp"

namespace perfield {

// The body of a `sites` entry: the sites that were hit more than once, with their hits, summed over
// the threads, and their callers. "" while a thread changes the tables.
std::string sites_json(Recorder& recorder, const std::string& step_call);

// "Allreduce@norm-3f2a (200 times), Allreduce@start-81c0 (once)": the sites of that call with most
// hits, or of all calls if that call has none. Functions that the loader does not know are replaced
// by their file's name.
std::string sites_in_words(Recorder& recorder, uint16_t call);

}  // namespace perfield
