// SPDX-License-Identifier: BSD-3-Clause
//
// rows.hpp - a growing array of plain values on malloc, without the C++ library. Without memory it
// keeps what it has.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <type_traits>

namespace perfield {

template <class T>
class Rows {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  constexpr Rows() noexcept = default;
  ~Rows() { std::free(rows_); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  // False without memory.
  bool push(const T& row) noexcept { return reserve(size_ + 1) && (rows_[size_++] = row, true); }
  // Rows beyond the old size are unset. False without memory: the size stays.
  bool resize(size_t n) noexcept {
    if (!reserve(n)) return false;
    size_ = n;
    return true;
  }
  void clear() noexcept { size_ = 0; }

  size_t size() const noexcept { return size_; }
  T* data() noexcept { return rows_; }
  T& operator[](size_t n) noexcept { return rows_[n]; }
  T* begin() noexcept { return rows_; }
  T* end() noexcept { return rows_ + size_; }

 private:
  bool reserve(size_t n) noexcept {
    if (n <= room_) return true;
    const size_t room = n < 16 ? 16 : n > 2 * room_ ? n : 2 * room_;
    auto* rows = static_cast<T*>(std::realloc(rows_, room * sizeof(T)));
    if (!rows) return false;
    rows_ = rows;
    room_ = room;
    return true;
  }

  T* rows_ = nullptr;
  size_t size_ = 0, room_ = 0;
};

// An object that is never destroyed: the program may need it until its very end.
template <class T>
union Forever {
  constexpr Forever() noexcept : it() {}
  ~Forever() {}
  T it;
};

}  // namespace perfield
