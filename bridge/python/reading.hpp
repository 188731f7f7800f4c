// SPDX-License-Identifier: BSD-3-Clause
//
// reading.hpp - shared by the bindings that read streams: rows as NumPy arrays, and entries at
// known offsets of a file.
#pragma once

#include <pybind11/numpy.h>

#include <string>
#include <vector>

#include "format/decode.hpp"

namespace py = pybind11;

using Offsets = py::array_t<uint64_t, py::array::c_style | py::array::forcecast>;

template <class Row>
py::array to_array(std::vector<Row>&& rows) {
  auto* kept = new std::vector<Row>(std::move(rows));  // lives as long as the array
  py::capsule owner(kept, [](void* vector) { delete static_cast<std::vector<Row>*>(vector); });
  return py::array_t<Row>(static_cast<py::ssize_t>(kept->size()), kept->data(), owner);
}

// Calls take(n, header, body) for each offset; body is nullptr if the entry is damaged. Adjacent
// entries are read at once.
template <class Take>
void read_at(const std::string& path, const uint64_t* offsets, size_t count, Take take) {
  constexpr uint64_t kClose = 64 << 10;
  perfield::StreamFile file(path);
  for (size_t n = 0, behind = 0; n < count; ++n) {
    if (n >= behind) {
      for (behind = n + 1; behind < count && offsets[behind] > offsets[behind - 1] &&
                           offsets[behind] - offsets[behind - 1] < kClose &&
                           offsets[behind] - offsets[n] < perfield::StreamFile::kAhead;)
        ++behind;
      const uint64_t length = offsets[behind - 1] - offsets[n];
      file.window(offsets[n], sizeof(perfield::EntryHeader), size_t(length) + (16 << 10));
    }
    perfield::EntryHeader header{};
    const unsigned char* body = nullptr;
    if (perfield::read_header(file, offsets[n], &header))
      perfield::read_body(file, offsets[n], header, &body) || (body = nullptr);
    take(n, header, body);
  }
}

inline bool is_step(const perfield::EntryHeader& header) {
  return header.type == static_cast<uint16_t>(perfield::EntryType::step) &&
         header.version == perfield::body_version(perfield::EntryType::step);
}
