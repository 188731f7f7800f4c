// SPDX-License-Identifier: BSD-3-Clause
//
// staging_note.hpp - the note stream/.staged-<name> of a run directory: one line of JSON with the
// host and the path on it where stream/<name>.pf (and its mesh) still lies.
#pragma once

#include <string>
#include <vector>

namespace perfield {

struct StagingNote {
  std::string name, host, directory;
};

std::string note_path(const std::string& run, const std::string& name);

// False (errno) if it cannot be written. Keeps an existing note of that name.
bool write_note(const std::string& run, const StagingNote& note);

// All notes of a run, sorted by name.
std::vector<StagingNote> read_notes(const std::string& run);

}  // namespace perfield
