// SPDX-License-Identifier: BSD-3-Clause
//
// carried.cpp - see carried.hpp.
#include "recorder/carried.hpp"

#include <sys/mman.h>

namespace perfield {

bool Carried::start(uint32_t max_shards, uint32_t max_regions, uint32_t max_paths) noexcept {
  if (memory_) return true;
  const size_t rows = (size_t{max_regions} * sizeof(RegionRow) + 63) / 64 * 64;
  const size_t quantities = (size_t{max_regions} * sizeof(uint64_t) + 63) / 64 * 64;
  const size_t only_paths = (size_t{max_regions} * sizeof(uint32_t) + 63) / 64 * 64;
  const size_t bits = Bits::bytes(max_regions), bits_of_paths = Bits::bytes(max_paths);
  const size_t total =
      Bits::bytes(max_shards) + 3 * bits + 3 * bits_of_paths + quantities + rows + only_paths;
  // Fresh pages are zero and cost nothing until touched.
  void* memory = mmap(nullptr, total, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = memory;
  memory_bytes_ = total;
  char* at = static_cast<char*>(memory);
  const auto take = [&at](size_t bytes) {
    at += bytes;
    return at - bytes;
  };
  shards.place(take(Bits::bytes(max_shards)), max_shards);
  for (Bits* of_regions : {&regions, &defined_regions, &regions_with_quantities})
    of_regions->place(take(bits), max_regions);
  for (Bits* of_paths : {&paths, &defined_paths, &sampled_paths})
    of_paths->place(take(bits_of_paths), max_paths);
  only_path = reinterpret_cast<uint32_t*>(take(only_paths));
  quantities_of = reinterpret_cast<uint64_t*>(take(quantities));
  region_rows = reinterpret_cast<RegionRow*>(take(rows));
  return true;
}

void Carried::end() noexcept {
  if (memory_) munmap(memory_, memory_bytes_);
  memory_ = nullptr;
}

}  // namespace perfield
