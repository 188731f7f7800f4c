// SPDX-License-Identifier: BSD-3-Clause
//
// step_sites.hpp - describes the program's MPI call sites as text: the entry from which `perfield
// steps` proposes one, and the list of sites that a configuration could name.
#pragma once

#include <string>

#include "recorder/recorder.hpp"

namespace perfield {

// The body of a `sites` entry: all sites with their hits and callers, summed over the threads.
std::string sites_json(Recorder& recorder, const std::string& step_call);

// "Allreduce@1 (200 times), Allreduce@2 (once)": the sites of that call with most hits, or of all
// calls if that call has none.
std::string sites_in_words(Recorder& recorder, uint16_t call);

}  // namespace perfield
