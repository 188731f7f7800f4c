// SPDX-License-Identifier: BSD-3-Clause
//
// call_kinds.hpp - which kind of call each function of MPI counts as, for sources that learn of
// calls by the functions' names.
#pragma once

#include <string>
#include <vector>

#include "table.hpp"

namespace perfield::generate {

// call_kinds.def: PERFIELD_CALL_KIND(MPI_Isend, isend), ..., by name as strcmp sorts them.
std::string call_kinds(const std::vector<Function>& functions);

}  // namespace perfield::generate
