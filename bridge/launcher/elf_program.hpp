// SPDX-License-Identifier: BSD-3-Clause
//
// elf_program.hpp - what a program file tells before it is started: whether the loader would heed
// LD_PRELOAD for it, and which libraries it names. Reads files, runs nothing.
#pragma once

#include <string>
#include <vector>

namespace perfield {

// Whether __cyg_profile_func_enter is to come from elsewhere, or comes from here. Of several files
// together the largest holds.
enum class Hooks { none, asked, offered };

struct ElfFile {
  bool is_elf = false;
  bool other_machine = false;    // of another word length or processor than this process
  bool asks_for_loader = false;  // PT_INTERP: without it a program is static
  Hooks hooks = Hooks::none;
  std::vector<std::string> needed;
  std::vector<std::string> search_path;  // RUNPATH or RPATH, with $ORIGIN replaced
};

ElfFile read_elf(const std::string& path);

// The file that execvp would start: as it is if it has a slash, else found on PATH; "" if none.
std::string find_program(const std::string& name);

// True if the kernel starts this file with other rights than ours, so that LD_PRELOAD is ignored.
bool gains_rights(const std::string& path);

// Names of all libraries that loading this file brings, as far as their files can be found.
// hooks: what holds for the file and all of them together.
std::vector<std::string> needed_libraries(const std::string& path, Hooks* hooks);

// Whether the loader would find a library of that name for this program.
bool finds_library(const std::string& program, const std::string& name);

}  // namespace perfield
