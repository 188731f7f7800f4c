// SPDX-License-Identifier: BSD-3-Clause
//
// call_kinds.hpp - the kind of call that each MPI function counts as, for sources that know calls
// by the functions' names.
#pragma once

#include <string>
#include <vector>

#include "table.hpp"

namespace perfield::generate {

// call_kinds.def: PERFIELD_CALL_KIND(MPI_Isend, isend), ..., sorted by name as with strcmp.
std::string call_kinds(const std::vector<Function>& functions);

}  // namespace perfield::generate
