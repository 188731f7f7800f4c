// SPDX-License-Identifier: BSD-3-Clause
//
// symbols.hpp - the files of a running program, where the loader has put them, and the addresses of
// their functions, from the symbols in the files.
#pragma once

#include <cstdint>

namespace perfield {

// A loaded file. A path that is too long to open is truncated.
struct LoadedFile {
  char path[1024];
  uintptr_t base;        // origin of its symbols' values
  uintptr_t begin, end;  // of the whole file
  uintptr_t code[8][2];  // begin and end of each executable part
  int codes;
};

// The file that contains an address; false if none does.
bool find_loaded_file(uintptr_t address, LoadedFile* found) noexcept;
// Whether a file is still loaded at the same place.
bool is_loaded(const LoadedFile& file) noexcept;
// Calls visit(argument, file) for every loaded file.
void visit_files(void (*visit)(void* argument, const LoadedFile& file), void* argument) noexcept;

// Whether a file calls a function of that name from another file.
bool asks_for(const LoadedFile& file, const char* name) noexcept;
// Calls visit(argument, address, symbol) for every function of a file. Without a symbol table these
// are the exported ones.
void visit_functions(const LoadedFile& file,
                     void (*visit)(void* argument, uintptr_t address, const char* symbol),
                     void* argument) noexcept;

}  // namespace perfield
