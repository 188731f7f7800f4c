// SPDX-License-Identifier: BSD-3-Clause
//
// function_symbols.hpp - the functions of a running program by address, from the symbols in the
// files of the program and its libraries.
#pragma once

#include <cstdint>

namespace perfield {

// Calls visit(argument, address, symbol) for every function of those loaded files that call
// `hook`, which they find elsewhere. A file without a symbol table shows what it exports.
void visit_functions(const char* hook,
                     void (*visit)(void* argument, uintptr_t address, const char* symbol),
                     void* argument) noexcept;

}  // namespace perfield
