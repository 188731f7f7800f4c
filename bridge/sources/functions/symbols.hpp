// SPDX-License-Identifier: BSD-3-Clause
//
// symbols.hpp - the files that a running program consists of, where the loader has put
// them, and their functions by address, from the symbols in the files.
#pragma once

#include <cstdint>

namespace perfield {

// A loaded file. Its path is cut where it is too long to be opened.
struct LoadedFile {
  char path[1024];
  uintptr_t base;        // what its symbols' values are counted from
  uintptr_t begin, end;  // of all of it
  uintptr_t code[8][2];  // begin and end of what can be executed
  int codes;
};

// The file that holds an address; false if it is in none.
bool find_loaded_file(uintptr_t address, LoadedFile* found) noexcept;
// Whether a file still lies where it was found.
bool is_loaded(const LoadedFile& file) noexcept;
// Calls visit(argument, file) for every loaded file.
void visit_files(void (*visit)(void* argument, const LoadedFile& file), void* argument) noexcept;

// Whether a file calls a function of that name, which it finds elsewhere.
bool asks_for(const LoadedFile& file, const char* name) noexcept;
// Calls visit(argument, address, symbol) for every function of a file. One without a symbol table
// shows what it exports.
void visit_functions(const LoadedFile& file,
                     void (*visit)(void* argument, uintptr_t address, const char* symbol),
                     void* argument) noexcept;

}  // namespace perfield
