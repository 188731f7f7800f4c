// SPDX-License-Identifier: BSD-3-Clause
//
// functions.cpp - functions as regions, in programs compiled with -finstrument-functions, whose
// compiler calls a hook at each entry and exit. Which functions are regions is decided before the
// program's own code runs; the table of them never changes, so other functions cost one look.
#include <atomic>
#include <cstdint>
#include <cstdlib>

#define PERFIELD_BUILDING_LIBRARY  // calls libperfield.so itself, which this library needs
#include "include/perfield.h"
#include "recorder/events.h"
#include "recorder/functions.h"
#include "sources/function_symbols.hpp"

namespace {

// A chosen function.
struct Function {
  uintptr_t address;
  const char* name;
  std::atomic<perfield_region> region;  // 0 until it is entered first
};

// Open addressing, at most a quarter full.
struct Table {
  Function* slots;
  size_t mask;
  int shift;

  Function* slot(uintptr_t address) const noexcept {
    size_t at = size_t((uint64_t(address) * 0x9E3779B97F4A7C15u) >> shift);
    while (slots[at].address && slots[at].address != address) at = (at + 1) & mask;
    return &slots[at];
  }
};

Table functions;
std::atomic<const Table*> table{nullptr};  // nullptr: no function is chosen

// While this thread is inside perfield, what is called from there (a malloc of the program's own,
// say) is not the program's.
thread_local bool inside __attribute__((tls_model("initial-exec"))) = false;

inline Function* chosen(void* address) noexcept {
  const Table* known = table.load(std::memory_order_acquire);
  if (__builtin_expect(!known, 0)) return nullptr;
  Function* function = known->slot(reinterpret_cast<uintptr_t>(address));
  return __builtin_expect(!function->address || inside, 1) ? nullptr : function;
}

__attribute__((noinline)) void enter(Function* function) noexcept {
  inside = true;
  perfield_region region = function->region.load(std::memory_order_relaxed);
  if (!region) {
    region = perfield_source_function_entered(function->name);
    function->region.store(region, std::memory_order_relaxed);
  }
  perfield_region_begin(region);
  inside = false;
}

__attribute__((noinline)) void leave(Function* function) noexcept {
  inside = true;
  perfield_region_end(function->region.load(std::memory_order_relaxed));
  inside = false;
}

// --- choosing -----------------------------------------------------------------------------------
struct Found {
  struct {
    uintptr_t address;
    const char* name;
  } * rows;
  size_t count, capacity;
};

void note_if_chosen(void* argument, uintptr_t address, const char* symbol) {
  Found& found = *static_cast<Found*>(argument);
  char* name = perfield_source_function(symbol);
  if (!name) return;
  if (found.count == found.capacity) {
    const size_t capacity = found.capacity ? 2 * found.capacity : 64;
    void* grown = std::realloc(found.rows, capacity * sizeof *found.rows);
    if (!grown) return;
    found.rows = static_cast<decltype(found.rows)>(grown);
    found.capacity = capacity;
  }
  found.rows[found.count++] = {address, name};
}

__attribute__((constructor)) void choose() {
  perfield_source_present("functions");
  Found found{};
  perfield::visit_functions("__cyg_profile_func_enter", note_if_chosen, &found);
  int bits = 4;
  while ((size_t(1) << bits) < 4 * found.count) ++bits;
  functions.mask = (size_t(1) << bits) - 1;
  functions.shift = 64 - bits;
  functions.slots = found.count
                        ? static_cast<Function*>(std::calloc(functions.mask + 1, sizeof(Function)))
                        : nullptr;
  for (size_t i = 0; functions.slots && i < found.count; ++i) {
    Function* function = functions.slot(found.rows[i].address);  // of several names the first
    if (function->address) continue;
    function->address = found.rows[i].address;
    function->name = found.rows[i].name;
  }
  std::free(found.rows);
  if (functions.slots) table.store(&functions, std::memory_order_release);
}

}  // namespace

// --- what the program calls ---------------------------------------------------------------------
extern "C" __attribute__((visibility("default"))) void __cyg_profile_func_enter(void* function,
                                                                                void*) {
  if (Function* found = chosen(function)) enter(found);
}

extern "C" __attribute__((visibility("default"))) void __cyg_profile_func_exit(void* function,
                                                                               void*) {
  if (Function* found = chosen(function)) leave(found);
}
