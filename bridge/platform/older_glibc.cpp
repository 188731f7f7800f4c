// SPDX-License-Identifier: BSD-3-Clause
//
// older_glibc.cpp - defines two functions of newer C libraries that the static libstdc++ and libgcc
// need. So our binaries also load with a C library older than the one on the build machine. Every
// binary of the measured side links it; the symbols are hidden in each.
#include <dlfcn.h>
#include <link.h>

#include <cstdint>

#include "platform/kernel_calls.hpp"

extern "C" {

// glibc 2.36. Only std::random_device needs it, which nothing here uses.
uint32_t arc4random() {
  uint32_t number = 0;
  return perfield::try_random(&number, sizeof number) ? number : 1;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
// glibc 2.35. The unwinder finds the tables of the object at `address` with it.
int _dl_find_object(void* address, dl_find_object* result) {
  struct Search {
    uintptr_t address;
    dl_find_object* result;
  } search{reinterpret_cast<uintptr_t>(address), result};
  const auto look = [](dl_phdr_info* object, size_t, void* data) {
    auto* search = static_cast<Search*>(data);
    uintptr_t tables = 0, start = 0, end = 0;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = object->dlpi_phdr[i];
      const uintptr_t at = object->dlpi_addr + segment.p_vaddr;
      if (segment.p_type == PT_GNU_EH_FRAME) tables = at;
      if (segment.p_type != PT_LOAD || search->address - at >= segment.p_memsz) continue;
      start = at;
      end = at + segment.p_memsz;
    }
    if (end == 0 || tables == 0) return 0;
    *search->result = {};
    search->result->dlfo_map_start = reinterpret_cast<void*>(start);
    search->result->dlfo_map_end = reinterpret_cast<void*>(end);
    search->result->dlfo_eh_frame = reinterpret_cast<void*>(tables);
    return 1;
  };
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
#endif

}  // extern "C"
