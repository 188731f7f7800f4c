// SPDX-License-Identifier: BSD-3-Clause
//
// words.hpp - the words that the program's pipelines name: a set that only grows, up to a limit.
#pragma once

#include <cstddef>

namespace perfield::adaptors {

class Words {
 public:
  // Adds the words of a text. A word consists of letters, digits and underscores. quoted: only
  // words between quotes, as names of arrays in Python.
  void add_text(const char* text, size_t length, bool quoted) noexcept;
  // The same for a file, or for the Python files of a folder: of Python, only words between quotes.
  // Only the first megabyte is read; what cannot be read holds no words.
  void add_file(const char* path) noexcept;
  void add(const char* word, size_t length) noexcept;
  bool has(const char* word) const noexcept;

 private:
  static constexpr size_t kMost = 1 << 15, kLongest = 200;

  char** find(const char* word, size_t length) const noexcept;
  bool grow() noexcept;

  char** slots_ = nullptr;  // open addressing, at most half full
  size_t n_slots_ = 0, n_words_ = 0;
};

}  // namespace perfield::adaptors
