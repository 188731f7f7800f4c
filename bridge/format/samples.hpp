// SPDX-License-Identifier: BSD-3-Clause
//
// samples.hpp - the body of a `samples` entry: where threads of a rank were, many times a second.
// docs/stream.md gives the layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfield {

struct SamplesStart {
  uint32_t n;             // samples
  uint32_t packed_bytes;  // behind this start
  uint64_t period_ns;     // CPU time that a sample stands for
  uint64_t origin_ns;     // time from which the first sample counts
  uint64_t lost;          // samples that found no room, since the entry before
};
static_assert(sizeof(SamplesStart) == 32);

// Samples as words: the time on CLOCK_MONOTONIC in ns, thread << 32 | n_addresses, in which region
// it was taken, and the addresses, that of the instruction first and those of its callers behind
// it.
inline constexpr size_t kSampleHead = 3;
// In which region: on a path (0: outside of all), on other paths of a region, or not known.
inline constexpr uint64_t kWhereUnknown = 0;
constexpr uint64_t where_on_path(uint32_t path) noexcept { return 2 * uint64_t{path} + 1; }
constexpr uint64_t where_on_other_paths(uint32_t region) noexcept {
  return 2 * uint64_t{region} + 2;
}
inline constexpr size_t kMostSampleWords = 4096;
inline constexpr size_t kMostBytesOfSamples = sizeof(SamplesStart) + 10 * kMostSampleWords + 8;

// Packs words of whole samples, at most kMostSampleWords, at `out`, which has kMostBytesOfSamples.
// Returns the bytes of the body, a multiple of 8.
size_t pack_samples(SamplesStart start, const uint64_t* words, size_t n_words,
                    unsigned char* out) noexcept;

// The words again. False if the body is damaged.
bool unpack_samples(const unsigned char* body, size_t bytes, SamplesStart* start,
                    std::vector<uint64_t>* words);

}  // namespace perfield
