// SPDX-License-Identifier: BSD-3-Clause
//
// rings.hpp - the kernel's samples of each thread of the process, in a ring buffer for each. The
// kernel writes them by itself, so no signal interrupts a call of the program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfield::sampling {

// Each thread has two rings. The sparse one gets one sample of kSparser, so it still has room where
// the dense one overflows before it is emptied. All samples of that time come from one of both, so
// that its begin counts no more than its end.
inline constexpr uint64_t kSparser = 64;

// Opens rings for new threads, and closes those of threads that are gone, once they are empty.
// period_ns: of CPU time between two samples of a thread in its dense ring. False if the kernel
// refuses it for the first thread: *error is its errno.
bool follow_threads(uint64_t period_ns, int* error) noexcept;
// Changes the period of all threads.
void set_period(uint64_t period_ns) noexcept;

// Looks which rings have overflowed. Returns true if any dense one has. take() then moves samples
// out of those that have not, until the next call.
bool choose_rings() noexcept;
// Moves samples of dense or of sparse rings, as words (format/samples.hpp). Returns how many words
// were written; fewer than most - kMostWordsOfSample once nothing is left.
inline constexpr size_t kMostWordsOfSample = 3 + 32;
size_t take(bool is_sparse, uint64_t* words, size_t most) noexcept;
// Samples that found no room in a sparse ring, since the last call.
uint64_t lost() noexcept;
// Threads without rings: the table is full, or the kernel refuses more.
uint64_t unfollowed() noexcept;

}  // namespace perfield::sampling
