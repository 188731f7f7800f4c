// SPDX-License-Identifier: BSD-3-Clause
//
// scope_names.hpp - which functions of OpenFOAM are measured as regions: those whose readable name
// a row of scopes.def describes. So a function is found in any version of OpenFOAM, whatever its
// parameters and whatever the size of its labels.
#pragma once

namespace perfield::openfoam {

// What a function returns: a word or nothing, an object in memory that the caller provides, or a
// floating-point number.
enum class Returns { WORD, OBJECT, NUMBER };

struct ScopeName {
  char* region;  // nullptr if the function is not measured; free it
  Returns returns;
};

// symbol: a mangled name. Allocates; takes 0.1 µs for nearly all names, 20 µs for some.
ScopeName find_scope_name(const char* symbol) noexcept;

}  // namespace perfield::openfoam
