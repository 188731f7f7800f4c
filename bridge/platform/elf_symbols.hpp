// SPDX-License-Identifier: BSD-3-Clause
//
// elf_symbols.hpp - reads ELF files and their symbol tables, for the launcher and for sources
// inside the measured program. It maps files while it reads them, and checks every offset, because
// a file may be truncated, damaged, or rewritten by tools that leave odd tables behind.
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace perfield {

class MappedFile {
 public:
  explicit MappedFile(const char* path) noexcept {
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) return;
    struct stat facts {};
    if (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0) {
      void* start = mmap(nullptr, size_t(facts.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (start != MAP_FAILED) {
        start_ = static_cast<const char*>(start);
        size_ = size_t(facts.st_size);
      }
    }
    close(file);
  }
  ~MappedFile() {
    if (start_) munmap(const_cast<char*>(start_), size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Copies the object at that offset; false if the file ends before the object does.
  template <class Object>
  bool read(uint64_t offset, Object* object) const noexcept {
    if (offset > size_ || size_ - offset < sizeof(Object)) return false;
    std::memcpy(object, start_ + offset, sizeof(Object));
    return true;
  }
  // "" if the text does not end inside the file.
  const char* text(uint64_t offset) const noexcept {
    if (offset >= size_ || !std::memchr(start_ + offset, 0, size_ - offset)) return "";
    return start_ + offset;
  }

 private:
  const char* start_ = nullptr;
  size_t size_ = 0;
};

// A symbol table of a file; empty if the file has none of that kind.
struct ElfSymbols {
  const MappedFile& file;
  ElfW(Shdr) table{}, names{};
  uint64_t count = 0;

  ElfSymbols(const MappedFile& file, uint32_t type) noexcept : file(file) {
    ElfW(Ehdr) header{};
    if (!file.read(0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return;
    const auto section = [&](uint64_t index, ElfW(Shdr) * found) {
      return index < header.e_shnum && file.read(header.e_shoff + index * sizeof *found, found);
    };
    for (uint64_t i = 0; section(i, &table); ++i)
      if (table.sh_type == type) {
        if (section(table.sh_link, &names)) count = table.sh_size / sizeof(ElfW(Sym));
        return;
      }
  }

  bool read(uint64_t index, ElfW(Sym) * symbol) const noexcept {
    return file.read(table.sh_offset + index * sizeof *symbol, symbol);
  }
  const char* name(const ElfW(Sym) & symbol) const noexcept {
    return symbol.st_name < names.sh_size ? file.text(names.sh_offset + symbol.st_name) : "";
  }
};

// Whether the table has that name, defined or not.
inline bool has_symbol(const ElfSymbols& exported, const char* name, bool defined) noexcept {
  ElfW(Sym) symbol{};
  for (uint64_t i = 0; i < exported.count && exported.read(i, &symbol); ++i)
    if ((symbol.st_shndx != SHN_UNDEF) == defined && std::strcmp(exported.name(symbol), name) == 0)
      return true;
  return false;
}
// Whether the file uses that name without defining it, or defines it.
inline bool asks_for(const ElfSymbols& exported, const char* name) noexcept {
  return has_symbol(exported, name, false);
}
inline bool offers(const ElfSymbols& exported, const char* name) noexcept {
  return has_symbol(exported, name, true);
}

}  // namespace perfield
