// SPDX-License-Identifier: BSD-3-Clause
//
// perfield.hpp - perfield.h for C++: regions that end with their block, and arrays that know their
// type. Like perfield.h it needs no library and does nothing without perfield.
//
//   void solve() {
//     static const perfield_region solver_loop = perfield::region("solver_loop");
//     perfield::Region measured(solver_loop);  // until the end of this block
//     ...
//   }
//
// Use all functions of perfield.h (perfield_step, perfield_mesh_..., perfield_field) directly.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "perfield.h"

namespace perfield {

// The handle of the region with this name, for Region; the same name gives the same handle. Keep
// it: looking it up costs more than measuring. perfield records where this call is in the
// source as the region's file and line.
inline perfield_region region(const char* name, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) noexcept {
  return perfield_region_define(name, file, line);
}

// Measures from here to the end of the block, also if an exception leaves it. Stays on one thread.
class Region {
 public:
  explicit Region(perfield_region handle) noexcept : handle_(handle) {
    perfield_region_begin(handle_);
  }
  // Gives the time to one block of this rank's mesh.
  Region(perfield_region handle, int block) noexcept : handle_(handle) {
    perfield_region_begin_on(handle_, block);
  }
  ~Region() { perfield_region_end(handle_); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  perfield_region handle_;
};

// Pauses measuring from here to the end of the block.
class Pause {
 public:
  Pause() noexcept { perfield_pause(); }
  ~Pause() { perfield_resume(); }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
};

// The perfield_type of numbers of type T.
template <class T>
constexpr int32_t type_of() noexcept {
  constexpr size_t size = sizeof(T);
  constexpr bool is_real = std::is_floating_point_v<T> && (size == 4 || size == 8);
  constexpr bool is_signed =
      std::is_integral_v<T> && std::is_signed_v<T> && (size == 1 || size == 4 || size == 8);
  static_assert(is_real || is_signed || std::is_same_v<T, unsigned char>,
                "perfield takes float, double, signed integers of 1, 4 or 8 bytes, and uint8_t");
  if (is_real) return size == 4 ? PERFIELD_FLOAT32 : PERFIELD_FLOAT64;
  if (!is_signed) return PERFIELD_UINT8;
  return size == 1 ? PERFIELD_INT8 : size == 4 ? PERFIELD_INT32 : PERFIELD_INT64;
}

// n tuples whose components lie side by side: x0 y0 z0 x1 y1 z1 ...
template <class T>
perfield_array array(const T* data, int64_t n, int32_t components = 1) noexcept {
  return perfield_array_of(data, type_of<T>(), components, n);
}
template <class T>
perfield_array array(const std::vector<T>& data, int32_t components = 1) noexcept {
  return array(data.data(), static_cast<int64_t>(data.size()) / components, components);
}

// A block of a larger array: size[0] x size[1] x size[2] numbers, stride[d] numbers apart.
template <class T>
perfield_array array(const T* data, const int64_t (&size)[3], const int64_t (&stride)[3]) noexcept {
  return {data, type_of<T>(), 1, 1, {size[0], size[1], size[2]}, {stride[0], stride[1], stride[2]}};
}

}  // namespace perfield
