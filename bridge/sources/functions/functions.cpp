// SPDX-License-Identifier: BSD-3-Clause
//
// functions.cpp - functions as regions in programs compiled with -finstrument-functions: the
// compiler calls a hook at each entry and exit. When the program closes a library, its functions
// are forgotten.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#define PERFIELD_BUILDING_LIBRARY  // calls libperfield.so itself, which this library needs
#include "include/perfield.h"
#include "recorder/source.h"
#include "sources/functions/choice.hpp"

namespace {

using perfield::Function;

perfield::FunctionChoice choice;

// While this thread is inside perfield, calls made there (of the program's own malloc, say) are not
// the program's.
thread_local bool inside __attribute__((tls_model("initial-exec"))) = false;

__attribute__((noinline)) void enter(uintptr_t address) noexcept {
  if (!choice.concerns(address) || inside) return;
  inside = true;
  if (Function* function = choice.find(address)) {
    perfield_region region = function->region.load(std::memory_order_relaxed);
    if (!region) {
      const int error = errno;
      region = perfield_source_function_entered(function->name);
      function->region.store(region, std::memory_order_relaxed);
      errno = error;
    }
    perfield_region_begin(region);
  }
  inside = false;
}

__attribute__((noinline)) void leave(uintptr_t address) noexcept {
  if (!choice.concerns(address) || inside) return;
  inside = true;
  if (Function* function = choice.find(address))
    perfield_region_end(function->region.load(std::memory_order_relaxed));
  inside = false;
}

bool in_child = false;  // a forked child is not a rank

__attribute__((constructor)) void begin() {
  choice.begin();
  pthread_atfork(nullptr, nullptr, [] {
    choice.end();
    in_child = true;
  });
}

// A program without MPI is measured from its first region on. Without any region it ends with an
// empty run directory. (PERFIELD_RUN is removed from the environment when measuring starts.)
__attribute__((destructor)) void say_if_nothing_was_measured() {
  if (in_child || !std::getenv("PERFIELD_RUN") || dlsym(RTLD_DEFAULT, "PMPI_Init") ||
      !perfield::FunctionChoice::program_has_hooks())
    return;
  perfield_warn_once_per_node(
      "functions-none",
      "nothing was measured: this program does not use MPI, and it entered no function that "
      "`regions` or `step_region` names (a lone * names none); name some, for example "
      "PERFIELD_REGIONS='solve*,flow::*' PERFIELD_STEP_REGION=time_step");
}

}  // namespace

// --- what the program calls ---------------------------------------------------------------------
#define PERFIELD_SHOWN extern "C" __attribute__((visibility("default")))

PERFIELD_SHOWN void __cyg_profile_func_enter(void* function, void*) {
  const auto address = reinterpret_cast<uintptr_t>(function);
  if (__builtin_expect(!choice.is_plain(address), 0)) enter(address);
}

PERFIELD_SHOWN void __cyg_profile_func_exit(void* function, void*) {
  const auto address = reinterpret_cast<uintptr_t>(function);
  if (__builtin_expect(!choice.is_plain(address), 0)) leave(address);
}

// The loader may load another library at the addresses of a closed one.
PERFIELD_SHOWN int dlclose(void* library) noexcept {
  static std::atomic<int (*)(void*)> next{nullptr};
  auto close = next.load(std::memory_order_relaxed);
  if (!close) next = close = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_NEXT, "dlclose"));
  const int result = close(library);
  choice.forget_unloaded();
  return result;
}
