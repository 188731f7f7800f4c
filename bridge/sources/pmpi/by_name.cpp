// SPDX-License-Identifier: BSD-3-Clause
//
// by_name.cpp - a program that opens MPI itself and asks it for its functions by name, as ctypes,
// numba and Julia do, gets the wrappers. All other questions go on to the C library unchanged, and
// with their own return address, by which it knows who asks for what comes next. Any thread, at any
// time, also before the constructors of this library.
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <initializer_list>

#include "unseen.hpp"

namespace perfield::pmpi {
namespace {

using Dlsym = void*(void*, const char*);

Dlsym* of_c_library() noexcept {
  static std::atomic<Dlsym*> found{nullptr};
  Dlsym* function = found.load(std::memory_order_relaxed);
  // The version that each processor's first C library had, and the one of those that have no libdl.
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5", "GLIBC_2.0"})
    if (!function) function = reinterpret_cast<Dlsym*>(dlvsym(RTLD_NEXT, "dlsym", version));
  found.store(function, std::memory_order_relaxed);
  return function;
}

bool is_of_mpi(const char* name) noexcept {
  return name && (!strncmp(name, "MPI_", 4) || !strncmp(name, "mpi_", 4) ||
                  !strncmp(name, "MPIX_", 5) || !strncmp(name, "mpix_", 5));
}

// caller: a library that has a function of that name itself, such as a tool, is looking for the one
// behind it.
[[gnu::noinline]] void* in_mpi(Dlsym* ask, void* handle, const char* name,
                               const void* caller) noexcept {
  void* const found = ask(handle, name);
  if (!found || !is_in_mpi(found)) return found;
  Dl_info own, asker;
  if (!dladdr(reinterpret_cast<void*>(&of_c_library), &own) || !dladdr(caller, &asker))
    return found;
  void* const asking = dlopen(asker.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  if (asking) {
    Dl_info place;
    void* const same = ask(asking, name);
    const bool is_its_own = same && dladdr(same, &place) && place.dli_fbase == asker.dli_fbase;
    dlclose(asking);
    if (is_its_own) return found;
  }
  void* const wrappers = dlopen(own.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  if (!wrappers) return found;
  Dl_info place;
  void* const wrapper = ask(wrappers, name);
  dlclose(wrappers);
  const bool is_ours = wrapper && dladdr(wrapper, &place) && place.dli_fbase == own.dli_fbase;
  return is_ours ? wrapper : found;
}

}  // namespace
}  // namespace perfield::pmpi

// Its last calls are jumps, so the C library sees who called this.
extern "C" __attribute__((visibility("default"), optimize("O2"))) void* dlsym(void* handle,
                                                                              const char* name) {
  using namespace perfield::pmpi;
  Dlsym* const ask = of_c_library();
  if (!ask) return nullptr;
  if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || !is_of_mpi(name)) return ask(handle, name);
  return in_mpi(ask, handle, name, __builtin_return_address(0));
}
