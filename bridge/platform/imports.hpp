// SPDX-License-Identifier: BSD-3-Clause
//
// imports.hpp - what a loaded program or library takes from others: the rows of its relocation
// tables. It reads memory only, so it may run inside dl_iterate_phdr. Needs 64-bit ELF.
#pragma once

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <cstddef>

namespace perfield {

// One row: the symbol's name, the word of memory that holds its address, and how it is bound.
struct Import {
  const char* name;
  void** slot;
  const ElfW(Sym) * symbol;
  ElfW(Sxword) addend;
  unsigned type;

  // Whether the slot holds the address of the symbol, for a call, a pointer or a virtual function.
  bool is_address() const noexcept {
#if defined(__x86_64__)
    const bool is = type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
#elif defined(__aarch64__)
    const bool is =
        type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64;
#else
    const bool is = false;
#endif
    return is && addend == 0;
  }
  // Whether the slot begins a copy of the symbol's object, as large as the symbol says.
  bool is_copy() const noexcept {
#if defined(__x86_64__)
    return type == R_X86_64_COPY;
#elif defined(__aarch64__)
    return type == R_AARCH64_COPY;
#else
    return false;
#endif
  }
};

// Calls look(import) for each row, until it returns true; returns whether it did.
template <typename Look>
bool look_at_imports(const dl_phdr_info& object, Look look) noexcept {
  const ElfW(Dyn)* tag = nullptr;
  for (int i = 0; i < object.dlpi_phnum; ++i)
    if (object.dlpi_phdr[i].p_type == PT_DYNAMIC)
      tag = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  struct {
    const ElfW(Rela) * rows;
    size_t bytes;
  } tables[2] = {};
  for (; tag && tag->d_tag != DT_NULL; ++tag) {
    const auto address = tag->d_un.d_ptr;
    if (tag->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (tag->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(address);
    if (tag->d_tag == DT_JMPREL) tables[0].rows = reinterpret_cast<const ElfW(Rela)*>(address);
    if (tag->d_tag == DT_PLTRELSZ) tables[0].bytes = tag->d_un.d_val;
    if (tag->d_tag == DT_RELA) tables[1].rows = reinterpret_cast<const ElfW(Rela)*>(address);
    if (tag->d_tag == DT_RELASZ) tables[1].bytes = tag->d_un.d_val;
  }
  if (!symbols || !names || reinterpret_cast<ElfW(Addr)>(symbols) < object.dlpi_addr) return false;
  for (const auto& table : tables)
    for (size_t i = 0; table.rows && i < table.bytes / sizeof *table.rows; ++i) {
      const ElfW(Rela)& row = table.rows[i];
      if (!ELF64_R_SYM(row.r_info)) continue;
      const ElfW(Sym)& symbol = symbols[ELF64_R_SYM(row.r_info)];
      if (look(Import{names + symbol.st_name,
                      reinterpret_cast<void**>(object.dlpi_addr + row.r_offset), &symbol,
                      row.r_addend, unsigned(ELF64_R_TYPE(row.r_info))}))
        return true;
    }
  return false;
}

// Whether memory of the program's own file holds the address; true if its headers do not say. Looks
// at no symbols, as dladdr does, which takes long in large libraries.
inline bool may_be_of_program(const void* address) noexcept {
  const auto* const parts = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  const size_t n_parts = getauxval(AT_PHNUM);
  const ElfW(Phdr)* headers = nullptr;
  for (size_t i = 0; i < n_parts; ++i)
    if (parts[i].p_type == PT_PHDR) headers = &parts[i];
  if (!headers) return true;
  const auto base = reinterpret_cast<ElfW(Addr)>(parts) - headers->p_vaddr;
  for (size_t i = 0; i < n_parts; ++i)
    if (parts[i].p_type == PT_LOAD &&
        reinterpret_cast<ElfW(Addr)>(address) - base - parts[i].p_vaddr < parts[i].p_memsz)
      return true;
  return false;
}

// Whether the program's own file defines the function, as one with a PMPI tool inside does. Not
// inside dl_iterate_phdr.
inline bool program_defines(const char* name) noexcept {
  void* const address = dlsym(RTLD_DEFAULT, name);
  Dl_info program, place;
  const ElfW(Sym)* symbol = nullptr;
  return address && may_be_of_program(address) &&
         dladdr(reinterpret_cast<void*>(getauxval(AT_PHDR)), &program) &&
         dladdr1(address, &place, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)),
                 RTLD_DL_SYMENT) &&
         place.dli_fbase == program.dli_fbase && symbol && symbol->st_shndx != SHN_UNDEF;
}

}  // namespace perfield
