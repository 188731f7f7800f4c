// SPDX-License-Identifier: BSD-3-Clause
//
// warnings.hpp - perfield's messages to the user from inside a measured program: one line on
// stderr, at most once per node for each topic, from the rank that comes first.
#pragma once

#include <string>

namespace perfield {

// The run directory, which notes what this node has printed already. "" before it exists; then only
// the first rank of each node prints.
void set_warnings_directory(const std::string& run_directory);

// Writes to stderr, if the program was started with one and has not put another file there.
void print(const std::string& text) noexcept;

// Whether this rank is the first of its node to ask with this topic.
bool first_on_node(const char* topic) noexcept;

void warn_once_per_node(const std::string& topic, const std::string& sentence) noexcept;
// The same for literals; it cannot throw.
void warn_once_per_node(const char* topic, const char* sentence) noexcept;

// Looks at no file, which may hang: prints on the first rank of each node that the launcher names.
void warn_at_once(const std::string& sentence) noexcept;

}  // namespace perfield
