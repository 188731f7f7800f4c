// SPDX-License-Identifier: BSD-3-Clause
//
// arrays.hpp - reads the simulation's arrays as perfield.h describes them: types, sizes, strides.
// Pure functions; the caller has checked the array before.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "perfield.h"

namespace perfield {

struct TypeFacts {
  const char* name;
  size_t bytes;
};

inline const TypeFacts* facts(int32_t type) {
  static const TypeFacts table[] = {{"i1", 1}, {"u1", 1}, {"i4", 4},
                                    {"i8", 8}, {"f4", 4}, {"f8", 8}};
  return type >= PERFIELD_INT8 && type <= PERFIELD_FLOAT64 ? &table[type - 1] : nullptr;
}

inline int64_t tuples(const perfield_array& a) { return a.size[0] * a.size[1] * a.size[2]; }
inline size_t bytes_of(const perfield_array& a) {
  return size_t(tuples(a)) * size_t(a.components) * facts(a.type)->bytes;
}

inline bool packed(const perfield_array& a) {
  int64_t expected = a.components;
  if (a.components > 1 && a.component_stride != 1) return false;
  for (int d = 0; d < 3; ++d) {
    if (a.size[d] > 1 && a.stride[d] != expected) return false;
    expected *= a.size[d];
  }
  return true;
}

// Calls visit(address of the number) for every number, components fastest, then i, j, k.
template <typename Visit>
void for_each_number(const perfield_array& a, Visit visit) {
  auto* base = static_cast<const unsigned char*>(a.data);
  size_t width = facts(a.type)->bytes;
  for (int64_t k = 0; k < a.size[2]; ++k)
    for (int64_t j = 0; j < a.size[1]; ++j)
      for (int64_t i = 0; i < a.size[0]; ++i)
        for (int32_t c = 0; c < a.components; ++c)
          visit(base + width * size_t(i * a.stride[0] + j * a.stride[1] + k * a.stride[2] +
                                      c * a.component_stride));
}

inline int64_t whole_number(const perfield_array& a, const unsigned char* at) {
  int32_t i4;
  int64_t i8;
  switch (a.type) {
    case PERFIELD_INT8:
      return static_cast<signed char>(*at);
    case PERFIELD_UINT8:
      return *at;
    case PERFIELD_INT32:
      memcpy(&i4, at, sizeof i4);
      return i4;
    default:
      memcpy(&i8, at, sizeof i8);
      return i8;
  }
}

template <typename T>
perfield_array array_over(const std::vector<unsigned char>& memory, int32_t type) {
  return perfield_array_of(memory.data(), type, 1, int64_t(memory.size() / sizeof(T)));
}

}  // namespace perfield
