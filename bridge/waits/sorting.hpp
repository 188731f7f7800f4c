// SPDX-License-Identifier: BSD-3-Clause
//
// sorting.hpp - sorts what ranks did one after another: each rank's part is nearly in order where
// it comes from streams, which takes O(n) time, and O(n log n) where it is not. One thread at a
// time; throws only std::bad_alloc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "waits/memory.hpp"

namespace perfield::waits {

// Sorts by insertion as long as few elements are in the way.
template <typename T>
void sort_nearly_sorted(T* first, T* last) {
  constexpr size_t kMostPerElement = 32;
  size_t left = kMostPerElement * size_t(last - first);
  for (T* next = first; next < last; ++next) {
    T* at = next;
    if (at == first || !(*at < at[-1])) continue;
    const T moved = *at;
    for (; at > first && moved < at[-1]; --at) *at = at[-1];
    *at = moved;
    if (size_t(next - at) > left) return std::sort(first, last);
    left -= size_t(next - at);
  }
}

// Sorts elements by `rank` first, which is below n_ranks.
template <typename T>
void sort_by_ranks(ArenaVector<T>& list, size_t n_ranks, Arena& arena) {
  std::vector<size_t> end(n_ranks + 1);
  for (const T& one : list) ++end[size_t(one.rank) + 1];
  for (size_t rank = 0; rank < n_ranks; ++rank) end[rank + 1] += end[rank];
  ArenaVector<T> sorted(list.size(), arena);
  for (const T& one : list) sorted[end[size_t(one.rank)]++] = one;
  for (size_t rank = 0, first = 0; rank < n_ranks; first = end[rank++])
    sort_nearly_sorted(sorted.data() + first, sorted.data() + end[rank]);
  list = std::move(sorted);
}

}  // namespace perfield::waits
