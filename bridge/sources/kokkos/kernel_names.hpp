// SPDX-License-Identifier: BSD-3-Clause
//
// kernel_names.hpp - regions of Kokkos by the names that it tells. A kernel that the program gave
// no label is called after its functor's type, as the compiler writes it: that is made readable
// once, and each name is found again by its hash alone, by all threads without a lock.
#pragma once

#include "include/perfield.h"

namespace perfield::kokkos {

// The region of that name. Allocates at a name's first time only.
perfield_region region_of(const char* name) noexcept;

}  // namespace perfield::kokkos
