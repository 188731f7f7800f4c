// SPDX-License-Identifier: BSD-3-Clause
//
// kernel_names.hpp - maps names from Kokkos to regions. A kernel without a label has the mangled
// type of its functor as its name, which is made readable once. All threads find names by their
// hash, without a lock.
#pragma once

#include "include/perfield.h"

namespace perfield::kokkos {

// The region of that name. Allocates only when a name is new.
perfield_region region_of(const char* name) noexcept;

}  // namespace perfield::kokkos
