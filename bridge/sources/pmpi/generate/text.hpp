// SPDX-License-Identifier: BSD-3-Clause
//
// text.hpp - the few operations on texts and files that the generator of the wrappers needs.
#pragma once

#include <string>
#include <vector>

namespace perfield::generate {

std::string trimmed(const std::string& text);  // without blanks and line ends on both sides
std::string lower(std::string text);
bool starts_with(const std::string& text, const std::string& start);
std::vector<std::string> words(const std::string& text);  // what blanks keep apart
std::vector<std::string> split(const std::string& text, const std::string& by);  // parts trimmed
std::string joined(const std::vector<std::string>& parts, const std::string& by);

bool is_file(const std::string& path);
// Both throw std::runtime_error, naming the file.
std::vector<std::string> lines_of(const std::string& path);
void write_file(const std::string& path, const std::string& text);

}  // namespace perfield::generate
