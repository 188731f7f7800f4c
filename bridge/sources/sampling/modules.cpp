// SPDX-License-Identifier: BSD-3-Clause
//
// modules.cpp - see modules.hpp. The loader knows them all. It counts what it has loaded so far, so
// that most calls look at one number.
#include "sources/sampling/modules.hpp"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "recorder/source.h"
#include "sources/sampling/text.hpp"

namespace perfield::sampling {
namespace {

constexpr size_t kMostBuildId = 32;

size_t padded(size_t bytes) noexcept { return (bytes + 3) / 4 * 4; }

// The build id in the notes of a module, as hexadecimal digits; "" if it has none.
void build_id_of(const dl_phdr_info* module, char* digits) noexcept {
  *digits = 0;
  for (int k = 0; k < module->dlpi_phnum; ++k) {
    const ElfW(Phdr)& part = module->dlpi_phdr[k];
    if (part.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const char*>(module->dlpi_addr + part.p_vaddr);
    for (size_t left = part.p_memsz; left >= sizeof(ElfW(Nhdr));) {
      ElfW(Nhdr) note;
      memcpy(&note, at, sizeof note);
      const size_t whole = sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
      if (whole > left) break;
      const char* const name = at + sizeof note;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
          note.n_descsz <= kMostBuildId) {
        const auto* id = reinterpret_cast<const unsigned char*>(name + 4);
        for (size_t n = 0; n < note.n_descsz; ++n) snprintf(digits + 2 * n, 3, "%02x", id[n]);
        return;
      }
      at += whole;
      left -= whole;
    }
  }
}

struct Asked {
  unsigned long long adds_before, adds;
  bool is_first;
  Text text;
};

void describe(const dl_phdr_info* module, bool is_program, Text* text) noexcept {
  char own_path[PATH_MAX], build_id[2 * kMostBuildId + 1];
  const char* path = module->dlpi_name ? module->dlpi_name : "";
  if (is_program && !*path) {
    const ssize_t n = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
    own_path[n > 0 ? n : 0] = 0;
    path = own_path;
  }
  build_id_of(module, build_id);
  for (int k = 0; k < module->dlpi_phnum; ++k) {
    const ElfW(Phdr)& part = module->dlpi_phdr[k];
    if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
    text->add(text->used ? ",{" : "{\"modules\":[{");
    text->hex("begin", module->dlpi_addr + part.p_vaddr);
    text->hex("end", module->dlpi_addr + part.p_vaddr + part.p_memsz);
    text->hex("bias", module->dlpi_addr);
    text->add("\"build_id\":\"");
    text->add(build_id);
    text->add("\",\"path\":");
    text->quoted(path);
    text->add("}");
  }
}

// The loader lists the program first.
int look(dl_phdr_info* module, size_t, void* data) noexcept {
  auto* asked = static_cast<Asked*>(data);
  asked->adds = module->dlpi_adds;
  if (asked->adds == asked->adds_before) return 1;
  describe(module, asked->is_first, &asked->text);
  asked->is_first = false;
  return 0;
}

}  // namespace

void record_new_modules() noexcept {
  static unsigned long long adds = 0;
  Asked asked{adds, 0, true, {}};
  dl_iterate_phdr(look, &asked);
  adds = asked.adds;
  if (!asked.text.used) return;
  asked.text.add("]}");
  perfield_source_modules(asked.text.at);
  asked.text.clear();
}

}  // namespace perfield::sampling
