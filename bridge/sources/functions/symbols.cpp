// SPDX-License-Identifier: BSD-3-Clause
//
// symbols.cpp - see symbols.hpp. The loader says which files are loaded, and where.
#include "sources/functions/symbols.hpp"

#include <link.h>

#include <cstdio>

#include "platform/elf_symbols.hpp"

namespace perfield {
namespace {

void describe(const dl_phdr_info& loaded, LoadedFile* file) noexcept {
  const bool program = !loaded.dlpi_name || !*loaded.dlpi_name;
  snprintf(file->path, sizeof file->path, "%s", program ? "/proc/self/exe" : loaded.dlpi_name);
  file->base = loaded.dlpi_addr;
  file->begin = UINTPTR_MAX;
  file->end = 0;
  file->codes = 0;
  for (int i = 0; i < loaded.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = loaded.dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const uintptr_t begin = loaded.dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
    if (begin < file->begin) file->begin = begin;
    if (end > file->end) file->end = end;
    if (!(part.p_flags & PF_X) || file->codes == 8) continue;
    file->code[file->codes][0] = begin;
    file->code[file->codes++][1] = end;
  }
}

struct Search {
  uintptr_t address;
  LoadedFile* found;
};

int compare_with_address(dl_phdr_info* loaded, size_t, void* data) {
  const Search& search = *static_cast<Search*>(data);
  describe(*loaded, search.found);
  return search.address >= search.found->begin && search.address < search.found->end;
}

struct Visitor {
  void (*visit)(void*, const LoadedFile&);
  void* argument;
};

int visit_file(dl_phdr_info* loaded, size_t, void* data) {
  const Visitor& visitor = *static_cast<Visitor*>(data);
  LoadedFile file;
  describe(*loaded, &file);
  visitor.visit(visitor.argument, file);
  return 0;
}

}  // namespace

bool find_loaded_file(uintptr_t address, LoadedFile* found) noexcept {
  Search search{address, found};
  return dl_iterate_phdr(compare_with_address, &search) != 0;
}

bool is_loaded(const LoadedFile& file) noexcept {
  LoadedFile now;
  return find_loaded_file(file.begin, &now) && now.base == file.base && now.end == file.end &&
         std::strcmp(now.path, file.path) == 0;
}

void visit_files(void (*visit)(void*, const LoadedFile&), void* argument) noexcept {
  Visitor visitor{visit, argument};
  dl_iterate_phdr(visit_file, &visitor);
}

bool asks_for(const LoadedFile& file, const char* name) noexcept {
  const MappedFile mapped(file.path);
  return asks_for(ElfSymbols(mapped, SHT_DYNSYM), name);
}

void visit_functions(const LoadedFile& file, void (*visit)(void*, uintptr_t, const char*),
                     void* argument) noexcept {
  const MappedFile mapped(file.path);
  const ElfSymbols exported(mapped, SHT_DYNSYM), all(mapped, SHT_SYMTAB);
  const ElfSymbols& symbols = all.count ? all : exported;
  ElfW(Sym) symbol{};
  // A function of another file has a value here if its address is a place in this file (its PLT).
  for (uint64_t i = 0; i < symbols.count && symbols.read(i, &symbol); ++i)
    if ((symbol.st_info & 0xf) == STT_FUNC && symbol.st_value)
      visit(argument, file.base + symbol.st_value, symbols.name(symbol));
}

}  // namespace perfield
