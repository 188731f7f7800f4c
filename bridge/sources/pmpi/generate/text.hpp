// SPDX-License-Identifier: BSD-3-Clause
//
// text.hpp - operations on texts and files for the generator of the wrappers.
#pragma once

#include <string>
#include <vector>

namespace perfield::generate {

std::string trimmed(const std::string& text);  // without blanks and line ends at both ends
std::string lower(std::string text);
bool starts_with(const std::string& text, const std::string& start);
std::vector<std::string> words(const std::string& text);                         // split at blanks
std::vector<std::string> split(const std::string& text, const std::string& by);  // parts trimmed
std::string joined(const std::vector<std::string>& parts, const std::string& by);

bool is_file(const std::string& path);
// Both throw std::runtime_error with the file's name.
std::vector<std::string> lines_of(const std::string& path);
void write_file(const std::string& path, const std::string& text);

}  // namespace perfield::generate
