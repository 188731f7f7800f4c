// SPDX-License-Identifier: BSD-3-Clause
//
// next.hpp - the function of OpenFOAM that a hook replaces. OpenFOAM is known by mangled names
// only. Nothing of the C++ library is used, because newer versions of that need a newer C library
// than a cluster may have. All of it is built without exceptions, so one that OpenFOAM throws
// passes through a hook unchanged; destructors of the hook do not run then.
#pragma once

#include <dlfcn.h>

#include <atomic>

// Gives a function the name of the one that it replaces.
#define PERFIELD_HOOK(symbol) __asm__(#symbol) __attribute__((visibility("default")))

namespace perfield::openfoam {

// RTLD_NEXT does not find what a host or OpenFOAM's `libs` loaded by dlopen for itself alone.
void* in_any_library(const char* symbol) noexcept;

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

}  // namespace perfield::openfoam
