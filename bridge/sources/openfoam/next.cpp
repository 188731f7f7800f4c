// SPDX-License-Identifier: BSD-3-Clause
//
// next.cpp - see next.hpp.
#include "sources/openfoam/next.hpp"

#include <link.h>

void* perfield::openfoam::in_any_library(const char* symbol) noexcept {
  Dl_info own;
  if (!dladdr(reinterpret_cast<void*>(&in_any_library), &own)) return nullptr;
  void* const program = dlopen(nullptr, RTLD_LAZY);
  for (auto* library = static_cast<link_map*>(program); library; library = library->l_next) {
    if (!*library->l_name) continue;
    void* const handle = dlopen(library->l_name, RTLD_NOLOAD | RTLD_LAZY);
    void* const found = handle ? dlsym(handle, symbol) : nullptr;
    if (handle) dlclose(handle);  // stays loaded by those who loaded it
    Dl_info place;
    if (found && dladdr(found, &place) && place.dli_fbase != own.dli_fbase) return found;
  }
  return nullptr;
}
