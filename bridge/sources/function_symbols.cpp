// SPDX-License-Identifier: BSD-3-Clause
//
// function_symbols.cpp - see function_symbols.hpp. The loader tells which files are loaded, and
// where.
#include "sources/function_symbols.hpp"

#include <link.h>

#include "recorder/elf_symbols.hpp"

namespace perfield {
namespace {

struct Visitor {
  const char* hook;
  void (*visit)(void*, uintptr_t, const char*);
  void* argument;
};

int visit_file(dl_phdr_info* loaded, size_t, void* data) {
  const Visitor& visitor = *static_cast<Visitor*>(data);
  const bool program = !loaded->dlpi_name || !*loaded->dlpi_name;
  const MappedFile file(program ? "/proc/self/exe" : loaded->dlpi_name);
  const ElfSymbols exported(file, SHT_DYNSYM), all(file, SHT_SYMTAB);
  if (!asks_for(exported, visitor.hook)) return 0;
  const ElfSymbols& symbols = all.count ? all : exported;
  ElfW(Sym) symbol{};
  for (uint64_t i = 0; i < symbols.count && symbols.read(i, &symbol); ++i)
    if ((symbol.st_info & 0xf) == STT_FUNC && symbol.st_shndx != SHN_UNDEF && symbol.st_value)
      visitor.visit(visitor.argument, loaded->dlpi_addr + symbol.st_value, symbols.name(symbol));
  return 0;
}

}  // namespace

void visit_functions(const char* hook, void (*visit)(void*, uintptr_t, const char*),
                     void* argument) noexcept {
  Visitor visitor{hook, visit, argument};
  dl_iterate_phdr(visit_file, &visitor);
}

}  // namespace perfield
