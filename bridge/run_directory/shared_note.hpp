// SPDX-License-Identifier: BSD-3-Clause
//
// shared_note.hpp - a short text that one rank leaves for all: it stands under its name whole or
// not at all, whatever becomes of the rank that writes it, and the first that is there stays.
#pragma once

#include <string>

namespace perfield {

// False (errno) if it cannot be written; true also if one of that name is there already.
bool leave_note(const std::string& path, const std::string& text);

}  // namespace perfield
