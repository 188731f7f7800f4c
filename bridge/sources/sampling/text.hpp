// SPDX-License-Identifier: BSD-3-Clause
//
// text.hpp - the JSON in which this source describes code.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace perfield::sampling {

// A growing text; without memory for more it stays as it is.
struct Text {
  char* at = nullptr;
  size_t used = 0, room = 0;

  void add(const char* words, size_t n) noexcept {
    if (used + n + 1 > room) {
      const size_t wanted = 2 * (used + n + 1);
      auto* more = static_cast<char*>(realloc(at, wanted));
      if (!more) return;
      at = more;
      room = wanted;
    }
    memcpy(at + used, words, n);
    used += n;
    at[used] = 0;
  }
  void add(const char* words) noexcept { add(words, strlen(words)); }
  void hex(const char* key, uint64_t value) noexcept {
    char words[64];
    snprintf(words, sizeof words, "\"%s\":\"%llx\",", key, static_cast<unsigned long long>(value));
    add(words);
  }
  void quoted(const char* words) noexcept {
    add("\"");
    for (; *words; ++words) {
      char escaped[8];
      const auto c = static_cast<unsigned char>(*words);
      if (c < 0x20 || c == '"' || c == '\\')
        snprintf(escaped, sizeof escaped, "\\u%04x", c);
      else
        snprintf(escaped, sizeof escaped, "%c", c);
      add(escaped);
    }
    add("\"");
  }
  void clear() noexcept {
    free(at);
    *this = {};
  }
};

}  // namespace perfield::sampling
