// SPDX-License-Identifier: BSD-3-Clause
//
// next.hpp - the function of a C++ library that a hook replaces. Such a library is known by mangled
// names only. Nothing of the C++ library is used, because newer versions of that need a newer C
// library than a cluster may have. All of it is built without exceptions, so one that the replaced
// function throws passes through a hook unchanged; destructors of the hook do not run then.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <atomic>

// Gives a function the name of the one that it replaces.
#define PERFIELD_HOOK(symbol) __asm__(#symbol) __attribute__((visibility("default")))

namespace perfield {

// RTLD_NEXT does not find what a host, Python or OpenFOAM's `libs` loaded by dlopen for itself
// alone.
inline void* in_any_library(const char* symbol) noexcept {
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

// The library that a function belongs to, for dlsym: it also searches what that library needs,
// where Python has loaded both for itself alone. dlclose it; it stays loaded by those who loaded
// it.
inline void* library_of(const void* function) noexcept {
  Dl_info place;
  if (!function || !dladdr(function, &place)) return nullptr;
  return dlopen(place.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
}

// The function that the program would have called without this library; found at its first use.
template <class Function>
struct Next {
  const char* symbol;
  std::atomic<void*> found{nullptr};

  Function* get() noexcept {
    void* function = found.load(std::memory_order_relaxed);
    if (!function) {
      function = dlsym(RTLD_NEXT, symbol);
      if (!function) function = in_any_library(symbol);
      found.store(function, std::memory_order_relaxed);
    }
    return reinterpret_cast<Function*>(function);
  }
};

}  // namespace perfield
