// SPDX-License-Identifier: BSD-3-Clause
//
// find_symbol.hpp - finds the functions of a library that was opened and not linked, since it need
// not be there.
#pragma once

#include <dlfcn.h>

namespace perfield {

// Returns whether the library has the function; else it becomes nullptr.
template <class Function>
bool find_symbol(void* library, const char* name, Function* function) noexcept {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function;
}

}  // namespace perfield
