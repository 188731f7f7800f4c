// SPDX-License-Identifier: BSD-3-Clause
//
// large_pages.hpp - memory for large arrays. Linux hands it out in pages of 4 kB unless it is asked
// for large ones, and that can take longer than all that is computed then. For readers, not for
// measured programs. Throws only std::bad_alloc.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace perfield {

// An allocator that asks for large pages where a vector fills some, and that leaves numbers as they
// are which a vector makes without a value: who resizes it writes them.
template <typename T>
struct LargePages {
  using value_type = T;

  LargePages() = default;
  template <typename U>
  LargePages(const LargePages<U>&) noexcept {}

  T* allocate(size_t n) {
    if (n > std::numeric_limits<size_t>::max() / 2 / sizeof(T)) throw std::bad_alloc();
    const size_t bytes = n * sizeof(T);
    if (bytes < kPage) return static_cast<T*>(::operator new(bytes));
    const size_t whole = (bytes + kPage - 1) / kPage * kPage;
    void* const memory = std::aligned_alloc(kPage, whole);
    if (!memory) throw std::bad_alloc();
    madvise(memory, whole, MADV_HUGEPAGE);  // where it fails, small pages do
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t n) noexcept {
    if (n * sizeof(T) < kPage)
      ::operator delete(memory);
    else
      std::free(memory);
  }

  template <typename U>
  void construct(U* at) noexcept(std::is_nothrow_default_constructible<U>::value) {
    ::new (static_cast<void*>(at)) U;
  }
  template <typename U, typename... Values>
  void construct(U* at, Values&&... values) {
    ::new (static_cast<void*>(at)) U(std::forward<Values>(values)...);
  }

  friend bool operator==(LargePages, LargePages) noexcept { return true; }
  friend bool operator!=(LargePages, LargePages) noexcept { return false; }

 private:
  static constexpr size_t kPage = size_t{2} << 20;
};

template <typename T>
using LargeVector = std::vector<T, LargePages<T>>;

}  // namespace perfield
