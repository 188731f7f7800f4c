// SPDX-License-Identifier: BSD-3-Clause
//
// samples.cpp - see samples.hpp. Neighbouring samples lie close in time and often in the same
// function, so each number is stated as the difference to that of the sample before.
#include "format/samples.hpp"

#include <cstring>

#include "format/varint.hpp"
#include "format/zigzag.hpp"

namespace perfield {

size_t pack_samples(SamplesStart start, const uint64_t* words, size_t n_words,
                    unsigned char* out) noexcept {
  unsigned char* to = out + sizeof start;
  uint64_t time = start.origin_ns, address = 0;
  start.n = 0;
  for (size_t k = 0; k + kSampleHead <= n_words;) {
    const auto depth = uint32_t(words[k + 1]);
    to = put_varint(to, zigzag(words[k] - time));
    time = words[k++];
    to = put_varint(to, words[k++] >> 32);
    to = put_varint(to, words[k++]);
    to = put_varint(to, depth);
    for (uint32_t d = 0; d < depth && k < n_words; ++d) {
      to = put_varint(to, zigzag(words[k] - address));
      address = words[k++];
    }
    ++start.n;
  }
  start.packed_bytes = uint32_t(to - out - sizeof start);
  memcpy(out, &start, sizeof start);
  while ((to - out) % 8) *to++ = 0;
  return size_t(to - out);
}

bool unpack_samples(const unsigned char* body, size_t bytes, SamplesStart* start,
                    std::vector<uint64_t>* words) {
  words->clear();
  if (bytes < sizeof *start) return false;
  memcpy(start, body, sizeof *start);
  const size_t left = bytes - sizeof *start;
  if (start->packed_bytes > left || left - start->packed_bytes > 7) return false;
  const unsigned char* at = body + sizeof *start;
  const unsigned char* const end = at + start->packed_bytes;
  uint64_t time = start->origin_ns, address = 0;
  for (uint32_t n = 0; n < start->n; ++n) {
    uint64_t later, thread, depth, further, where;
    if (!get_varint(&at, end, &later) || !get_varint(&at, end, &thread) ||
        !get_varint(&at, end, &where) || !get_varint(&at, end, &depth) || thread > UINT32_MAX ||
        depth > size_t(end - at))
      return false;
    time += unzigzag(later);
    words->push_back(time);
    words->push_back(thread << 32 | depth);
    words->push_back(where);
    for (; depth; --depth) {
      if (!get_varint(&at, end, &further)) return false;
      address += unzigzag(further);
      words->push_back(address);
    }
  }
  return at == end;
}

}  // namespace perfield
