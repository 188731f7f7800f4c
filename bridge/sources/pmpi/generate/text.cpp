// SPDX-License-Identifier: BSD-3-Clause
//
// text.cpp - see text.hpp.
#include "text.hpp"

#include <sys/stat.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace perfield::generate {

std::string trimmed(const std::string& text) {
  const char* blanks = " \t\r\n";
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> found;
  for (std::string word; stream >> word;) found.push_back(word);
  return found;
}

std::vector<std::string> split(const std::string& text, const std::string& by) {
  std::vector<std::string> parts;
  size_t start = 0;
  for (size_t end; (end = text.find(by, start)) != std::string::npos; start = end + by.size())
    parts.push_back(trimmed(text.substr(start, end - start)));
  parts.push_back(trimmed(text.substr(start)));
  return parts;
}

std::string joined(const std::vector<std::string>& parts, const std::string& by) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) text += (i ? by : "") + parts[i];
  return text;
}

bool is_file(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  if (!file.eof()) throw std::runtime_error("cannot read " + path + ": " + std::strerror(errno));
  return lines;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  if (!(file << text).flush())
    throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
}

}  // namespace perfield::generate
