// SPDX-License-Identifier: BSD-3-Clause
//
// large_pages.hpp - vectors for millions of elements. Linux gives memory in pages of 4 kB unless it
// is asked for large ones; handing out small pages can take longer than all that is then computed.
// Throws only std::bad_alloc.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <vector>

namespace perfield::waits {

template <typename T>
struct LargePages {
  using value_type = T;

  LargePages() = default;
  template <typename U>
  LargePages(const LargePages<U>&) noexcept {}

  T* allocate(size_t n) {
    if (n > kMost / sizeof(T)) throw std::bad_alloc();
    const size_t bytes = n * sizeof(T);
    if (bytes < kPage) return static_cast<T*>(::operator new(bytes));
    const size_t whole = (bytes + kPage - 1) / kPage * kPage;
    void* const memory = std::aligned_alloc(kPage, whole);
    if (!memory) throw std::bad_alloc();
    madvise(memory, whole, MADV_HUGEPAGE);  // if it has none, small ones do
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t n) noexcept {
    if (n * sizeof(T) < kPage)
      ::operator delete(memory);
    else
      std::free(memory);
  }

  friend bool operator==(LargePages, LargePages) noexcept { return true; }
  friend bool operator!=(LargePages, LargePages) noexcept { return false; }

 private:
  static constexpr size_t kPage = size_t{2} << 20;
  static constexpr size_t kMost = std::numeric_limits<size_t>::max() / 2;
};

template <typename T>
using LargeVector = std::vector<T, LargePages<T>>;

}  // namespace perfield::waits
