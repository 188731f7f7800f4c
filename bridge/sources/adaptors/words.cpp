// SPDX-License-Identifier: BSD-3-Clause
//
// words.cpp - see words.hpp.
#include "sources/adaptors/words.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace perfield::adaptors {
namespace {

constexpr size_t kMostBytes = size_t(1) << 20;
constexpr int kMostFiles = 256;  // of a folder

// As in names of fields, whatever the locale.
bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool ends_with(const char* text, const char* end) noexcept {
  const size_t length = strlen(text), wanted = strlen(end);
  return length >= wanted && !strcmp(text + length - wanted, end);
}

void read_file(Words* words, const char* path) noexcept {
  // Of a pipe or a device nobody may read, and nobody may wait for it.
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat facts {};
  if (file < 0) return;
  char* text = nullptr;
  if (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode))
    text = static_cast<char*>(malloc(kMostBytes));
  size_t length = 0;
  while (text && length < kMostBytes) {
    const ssize_t got = read(file, text + length, kMostBytes - length);
    if (got <= 0) break;
    length += size_t(got);
  }
  close(file);
  if (text) words->add_text(text, length, ends_with(path, ".py"));
  free(text);
}

}  // namespace

void Words::add_text(const char* text, size_t length, bool quoted) noexcept {
  const auto is_quote = [](char c) { return c == '\'' || c == '"'; };
  for (size_t at = 0; at < length;) {
    if (!is_letter(text[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < length && is_letter(text[at])) ++at;
    const bool is_quoted =
        begin > 0 && at < length && is_quote(text[begin - 1]) && text[at] == text[begin - 1];
    if (!quoted || is_quoted) add(text + begin, at - begin);
  }
}

void Words::add_file(const char* path) noexcept {
  DIR* folder = opendir(path);
  if (!folder) return read_file(this, path);
  int n_files = 0;
  while (const dirent* entry = readdir(folder)) {
    char file[PATH_MAX];
    if (!ends_with(entry->d_name, ".py") || ++n_files > kMostFiles) continue;
    if (snprintf(file, sizeof file, "%s/%s", path, entry->d_name) < int(sizeof file))
      read_file(this, file);
  }
  closedir(folder);
}

void Words::add(const char* word, size_t length) noexcept {
  if (!length || length > kLongest || (2 * (n_words_ + 1) > n_slots_ && !grow())) return;
  char** const slot = find(word, length);
  if (*slot) return;
  auto* copy = static_cast<char*>(malloc(length + 1));
  if (!copy) return;
  memcpy(copy, word, length);
  copy[length] = 0;
  *slot = copy;
  ++n_words_;
}

bool Words::has(const char* word) const noexcept {
  return n_slots_ && *find(word, strlen(word)) != nullptr;
}

char** Words::find(const char* word, size_t length) const noexcept {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (size_t i = 0; i < length; ++i) hash = (hash ^ uint8_t(word[i])) * 1099511628211u;
  size_t at = hash & (n_slots_ - 1);
  while (slots_[at] && (strncmp(slots_[at], word, length) != 0 || slots_[at][length]))
    at = (at + 1) & (n_slots_ - 1);
  return slots_ + at;
}

bool Words::grow() noexcept {
  if (n_words_ >= kMost) return false;
  Words larger;
  larger.n_slots_ = n_slots_ ? 2 * n_slots_ : 256;
  larger.slots_ = static_cast<char**>(calloc(larger.n_slots_, sizeof(char*)));
  if (!larger.slots_) return false;
  for (size_t i = 0; i < n_slots_; ++i)
    if (slots_[i]) *larger.find(slots_[i], strlen(slots_[i])) = slots_[i];
  free(slots_);
  slots_ = larger.slots_;
  n_slots_ = larger.n_slots_;
  return true;
}

}  // namespace perfield::adaptors
