// SPDX-License-Identifier: BSD-3-Clause
//
// elf_program.hpp - reads a program file before it starts: does the loader heed LD_PRELOAD for it,
// and which libraries does it need? Reads files, runs nothing.
#pragma once

#include <string>
#include <vector>

namespace perfield {

// Whether a file asks for __cyg_profile_func_enter or offers it. Several files together have the
// largest value of them.
enum class Hooks { none, asked, offered };

struct ElfFile {
  bool is_elf = false;
  bool other_machine = false;  // word length or processor differs from this process
  std::string loader;          // PT_INTERP; a program without it is static
  Hooks hooks = Hooks::none;
  std::vector<std::string> needed;
  std::vector<std::string> search_path;  // RUNPATH or RPATH, with $ORIGIN replaced
};

ElfFile read_elf(const std::string& path);

// The file that execvp would start: `name` itself if it has a slash, else found on PATH, or "".
std::string find_program(const std::string& name);

// True if the kernel gives this file other rights than ours, and the loader ignores LD_PRELOAD.
bool gains_rights(const std::string& path);

// All libraries that loading a file brings in, those of libraries too as far as their files are
// found.
struct Needed {
  std::vector<std::string> names;
  std::vector<std::string> files;  // where each was found; "" if nowhere
  Hooks hooks = Hooks::none;       // the largest value over the file and all of these
};

Needed needed_libraries(const std::string& path);

// Whether the loader would find a library of that name for this program.
bool finds_library(const std::string& program, const std::string& name);

}  // namespace perfield
