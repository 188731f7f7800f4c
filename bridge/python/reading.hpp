// SPDX-License-Identifier: BSD-3-Clause
//
// reading.hpp - shared by the bindings that read streams: rows as NumPy arrays, and entries at
// known offsets of a file.
#pragma once

#include <pybind11/numpy.h>

#include <string>
#include <vector>

#include "format/decode.hpp"
#include "format/events.hpp"

namespace py = pybind11;

using Offsets = py::array_t<uint64_t, py::array::c_style | py::array::forcecast>;

template <class Row, class Allocator>
py::array to_array(std::vector<Row, Allocator>&& rows) {
  using Rows = std::vector<Row, Allocator>;
  auto* kept = new Rows(std::move(rows));  // lives as long as the array
  py::capsule owner(kept, [](void* vector) { delete static_cast<Rows*>(vector); });
  return py::array_t<Row>(static_cast<py::ssize_t>(kept->size()), kept->data(), owner);
}

// Reads entries that lie close to one another at once, and no more than these.
class ReadingAhead {
 public:
  ReadingAhead(perfield::StreamFile& file, const uint64_t* offsets, size_t count)
      : file_(file), offsets_(offsets), count_(count) {}
  // Call before reading the entry at offsets[n]; n rises.
  void prepare(size_t n) {
    constexpr uint64_t kClose = 64 << 10, kAtOnce = 1 << 20;  // bytes
    if (n < behind_) return;
    for (behind_ = n + 1; behind_ < count_ && offsets_[behind_] > offsets_[behind_ - 1] &&
                          offsets_[behind_] - offsets_[behind_ - 1] < kClose &&
                          offsets_[behind_] - offsets_[n] < kAtOnce;)
      ++behind_;
    const uint64_t length = offsets_[behind_ - 1] - offsets_[n];
    file_.window(offsets_[n], sizeof(perfield::EntryHeader), size_t(length) + (16 << 10));
  }

 private:
  perfield::StreamFile& file_;
  const uint64_t* offsets_;
  size_t count_, behind_ = 0;
};

// Calls take(n, body, bytes) with the plain body of the step at each offset; body is nullptr if
// there is none, or it is damaged. references: of each, the offset of the full entry that it is
// unpacked with, as an index says. Adjacent entries are read at once.
template <class Take>
void read_steps_at(const std::string& path, const uint64_t* offsets, const uint64_t* references,
                   size_t count, Take take) {
  perfield::StreamFile file(path);
  perfield::StepBodies bodies;
  ReadingAhead ahead(file, offsets, count);
  for (size_t n = 0; n < count; ++n) {
    ahead.prepare(n);
    perfield::EntryHeader header{};
    const unsigned char* body = nullptr;
    perfield::PlainBody plain;
    if (perfield::read_header(file, offsets[n], &header) && perfield::is_step(header) &&
        perfield::read_body(file, offsets[n], header, &body) && body)
      plain = bodies.plain_with(file, header, offsets[n], body, references[n]).body;
    take(n, plain.at, plain.bytes);
  }
}

// Reads the `events` entry at each offset into `events` and calls take(header, start); start is
// nullptr if there is no such entry, or it is damaged, and then `events` are none.
template <class Take>
void read_events_at(const std::string& path, const uint64_t* offsets, size_t count,
                    std::vector<perfield::LoggedEvent>* events, Take take) {
  perfield::StreamFile file(path);
  ReadingAhead ahead(file, offsets, count);
  for (size_t n = 0; n < count; ++n) {
    ahead.prepare(n);
    perfield::EntryHeader header{};
    perfield::EventsStart start{};
    const unsigned char* body = nullptr;
    const bool is_whole = perfield::read_header(file, offsets[n], &header) &&
                          perfield::is_events(header) &&
                          perfield::read_body(file, offsets[n], header, &body) && body &&
                          perfield::unpack_events(body, header.body_bytes, &start, events);
    if (!is_whole) events->clear();
    take(header, is_whole ? &start : nullptr);
  }
}
