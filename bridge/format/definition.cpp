// SPDX-License-Identifier: BSD-3-Clause
//
// definition.cpp - the hash that names a definition's text; entry.hpp has its place in a stream.
#include "format/entry.hpp"

namespace perfield {

uint64_t hash_of_definition(const char* text, size_t bytes) noexcept {
  uint64_t hash = 14695981039346656037u;
  while (bytes && text[bytes - 1] == ' ') --bytes;  // an entry's body is padded
  for (size_t n = 0; n < bytes; ++n)
    hash = (hash ^ static_cast<unsigned char>(text[n])) * 1099511628211u;
  return hash ? hash : 1;
}

}  // namespace perfield
