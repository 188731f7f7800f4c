// SPDX-License-Identifier: BSD-3-Clause
//
// made_code.cpp - see made_code.hpp. A line of the list is "BEGIN SIZE NAME", in hexadecimal
// digits.
#include "sources/sampling/made_code.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "recorder/source.h"
#include "sources/sampling/text.hpp"

namespace perfield::sampling {
namespace {

constexpr off_t kMostBytes = 2 << 20;  // of the list: some 30,000 functions
constexpr size_t kPart = 64 << 10, kLongestName = 300;

// This user's own list; another one may have put a file there. -1: there is none.
int open_list() noexcept {
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%ld.map", long(getpid()));
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat about;
  if (file < 0 || (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid()))
    return file;
  close(file);
  return -1;
}

void describe(char* line, Text* text) noexcept {
  char* end = nullptr;
  const uint64_t begin = strtoull(line, &end, 16);
  if (end == line || *end != ' ') return;
  char* name = nullptr;
  const uint64_t size = strtoull(end, &name, 16);
  if (name == end || *name != ' ' || !size) return;
  ++name;
  if (strlen(name) > kLongestName) name[kLongestName] = 0;
  for (char* c = name; *c; ++c)
    if (static_cast<unsigned char>(*c) >= 0x80) *c = '?';  // in JSON it might be no character
  text->add(text->used ? ",{" : "{\"functions\":[{");
  text->hex("begin", begin);
  text->hex("end", begin + size);
  text->add("\"name\":");
  text->quoted(name);
  text->add("}");
}

// Describes the whole lines of a part. Returns how many bytes they have.
size_t describe_lines(char* part, size_t n, Text* text) noexcept {
  size_t begin = 0;
  while (auto* const end = static_cast<char*>(memchr(part + begin, '\n', n - begin))) {
    *end = 0;
    describe(part + begin, text);
    begin = size_t(end - part) + 1;
  }
  return begin;
}

}  // namespace

void record_made_functions() noexcept {
  static off_t recorded = 0;
  static char part[kPart];
  if (recorded >= kMostBytes) return;
  const int file = open_list();
  if (file < 0) return;
  Text text;
  for (ssize_t n = 0; recorded < kMostBytes && (n = pread(file, part, kPart, recorded)) > 0;) {
    size_t whole = describe_lines(part, size_t(n), &text);
    if (!whole && size_t(n) == kPart) whole = kPart;  // no line is so long
    if (!whole) break;                                // it is being written
    recorded += off_t(whole);
  }
  close(file);
  if (recorded >= kMostBytes)
    perfield_warn_once_per_node(
        "made-functions",
        "a compiler in this program lists more functions than perfield keeps "
        "(2 MiB of /tmp/perf-PID.map); later ones have no names in samples");
  if (!text.used) return;
  text.add("]}");
  perfield_source_modules(text.at);
  text.clear();
}

}  // namespace perfield::sampling
