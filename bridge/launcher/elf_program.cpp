// SPDX-License-Identifier: BSD-3-Clause
//
// elf_program.cpp - see elf_program.hpp. Reads the program headers, the dynamic section and the
// names of the libraries and symbols that a file needs.
#include "launcher/elf_program.hpp"

#include <glob.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <set>
#include <sstream>

#include "platform/elf_symbols.hpp"

namespace perfield {
namespace {

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

void add_directories(const std::string& colon_list, const std::string& origin,
                     std::vector<std::string>* directories) {
  std::istringstream parts(colon_list);
  for (std::string part; std::getline(parts, part, ':');) {
    for (const std::string name : {"${ORIGIN}", "$ORIGIN"}) {
      const size_t at = part.find(name);
      if (at != std::string::npos) part.replace(at, name.size(), origin);
    }
    if (!part.empty()) directories->push_back(part);
  }
}

void read_dynamic(const MappedFile& file, const std::vector<ElfW(Phdr)>& segments,
                  const std::string& origin, ElfFile* elf) {
  const auto offset_of = [&](uint64_t address) -> uint64_t {
    for (const ElfW(Phdr) & segment : segments)
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
          address - segment.p_vaddr < segment.p_filesz)
        return address - segment.p_vaddr + segment.p_offset;
    return UINT64_MAX;
  };
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    std::vector<ElfW(Dyn)> tags;
    uint64_t strings = UINT64_MAX;
    ElfW(Dyn) tag{};
    for (uint64_t at = segment.p_offset; file.read(at, &tag) && tag.d_tag != DT_NULL;
         at += sizeof tag) {
      if (tag.d_tag == DT_STRTAB) strings = offset_of(tag.d_un.d_ptr);
      tags.push_back(tag);
    }
    if (strings == UINT64_MAX) return;
    for (const ElfW(Dyn) & found : tags) {
      const std::string text = file.text(strings + found.d_un.d_val);
      if (found.d_tag == DT_NEEDED) elf->needed.push_back(text);
      if (found.d_tag == DT_RUNPATH || found.d_tag == DT_RPATH)
        add_directories(text, origin, &elf->search_path);
    }
  }
}

// Where the loader looks besides the program's own paths. We read /etc/ld.so.conf.d instead of the
// loader's cache, whose layout may change.
const std::vector<std::string>& system_directories() {
  static const std::vector<std::string> directories = [] {
    std::vector<std::string> found;
    if (const char* path = std::getenv("LD_LIBRARY_PATH")) add_directories(path, ".", &found);
    glob_t lists{};
    glob("/etc/ld.so.conf.d/*.conf", 0, nullptr, &lists);
    for (size_t i = 0; i < lists.gl_pathc; ++i) {
      std::ifstream file(lists.gl_pathv[i]);
      for (std::string line; std::getline(file, line);)
        if (!line.empty() && line[0] == '/') found.push_back(line);
    }
    globfree(&lists);
    for (const char* path : {"/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"})
      found.push_back(path);
    return found;
  }();
  return directories;
}

std::string find_in(const std::vector<std::string>& directories, const std::string& name) {
  for (const std::string& directory : directories)
    if (access((directory + "/" + name).c_str(), R_OK) == 0) return directory + "/" + name;
  return "";
}

}  // namespace

ElfFile read_elf(const std::string& path) {
  ElfFile elf;
  const MappedFile file(path.c_str());
  unsigned char ident[EI_NIDENT];
  if (!file.read(0, &ident) || std::memcmp(ident, ELFMAG, SELFMAG) != 0) return elf;
  elf.is_elf = true;
  ElfW(Ehdr) header{}, own{};
  const MappedFile self("/proc/self/exe");
  elf.other_machine = ident[EI_CLASS] != (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) ||
                      !file.read(0, &header) || !self.read(0, &own) ||
                      header.e_machine != own.e_machine;
  if (elf.other_machine) return elf;
  std::vector<ElfW(Phdr)> segments;
  ElfW(Phdr) segment{};
  for (int i = 0; i < header.e_phnum; ++i) {
    if (!file.read(header.e_phoff + static_cast<uint64_t>(i) * header.e_phentsize, &segment)) break;
    segments.push_back(segment);
    if (segment.p_type == PT_INTERP) elf.loader = file.text(segment.p_offset);
  }
  read_dynamic(file, segments, directory_of(path), &elf);
  const ElfSymbols exported(file, SHT_DYNSYM);
  constexpr const char* kHook = "__cyg_profile_func_enter";
  elf.hooks = offers(exported, kHook)     ? Hooks::offered
              : asks_for(exported, kHook) ? Hooks::asked
                                          : Hooks::none;
  return elf;
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), F_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream directories(path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string directory; std::getline(directories, directory, ':');) {
    const std::string candidate = (directory.empty() ? "." : directory) + "/" + name;
    struct stat facts {};
    if (stat(candidate.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
        access(candidate.c_str(), X_OK) == 0)
      return candidate;
  }
  return "";
}

bool gains_rights(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return false;
  if ((facts.st_mode & S_ISUID) && facts.st_uid != getuid()) return true;
  if ((facts.st_mode & S_ISGID) && (facts.st_mode & S_IXGRP) && facts.st_gid != getgid())
    return true;
  return geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

Needed needed_libraries(const std::string& path) {
  constexpr size_t kMost = 400;  // libraries; only damaged files have more
  Needed needed;
  std::set<std::string> seen = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1"};
  std::vector<std::string> own_path;  // the libraries it loads use the program's RPATH too
  std::deque<std::string> files = {path};
  while (!files.empty() && needed.names.size() < kMost) {
    const ElfFile elf = read_elf(files.front());
    files.pop_front();
    if (own_path.empty()) own_path = elf.search_path;
    needed.hooks = std::max(needed.hooks, elf.hooks);
    for (const std::string& name : elf.needed) {
      if (!seen.insert(name).second) continue;
      std::string file;
      for (const std::vector<std::string>& directories :
           {elf.search_path, own_path, system_directories()})
        if (file = find_in(directories, name); !file.empty()) break;
      if (!file.empty()) files.push_back(file);
      needed.names.push_back(name);
      needed.files.push_back(file);
    }
  }
  return needed;
}

bool finds_library(const std::string& program, const std::string& name) {
  // A virtual environment's Python is a link; packages installed there lie beside the link.
  const std::vector<std::string> beside = {directory_of(program) + "/../lib"};
  for (const auto& directories : {read_elf(program).search_path, beside, system_directories()})
    if (!find_in(directories, name).empty()) return true;
  return false;
}

}  // namespace perfield
