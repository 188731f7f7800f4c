// SPDX-License-Identifier: BSD-3-Clause
//
// shared_note.hpp - leaves a short text by one rank for all. Readers find the whole text or none,
// even if the writing rank dies. The first text with a name stays.
#pragma once

#include <string>

namespace perfield {

// False (errno) if it cannot be written; true if that name exists already.
bool leave_note(const std::string& path, const std::string& text);

}  // namespace perfield
