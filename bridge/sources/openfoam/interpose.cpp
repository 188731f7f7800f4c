// SPDX-License-Identifier: BSD-3-Clause
//
// interpose.cpp - see interpose.hpp. dl_iterate_phdr locks the list of objects. So it is called
// twice: what is looked up by name is looked up between the calls.
#include "sources/openfoam/interpose.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "platform/imports.hpp"
#include "recorder/source.h"
#include "sources/next.hpp"
#include "sources/rows.hpp"

namespace perfield::openfoam {

namespace {

// A function that is measured. Kept for good: libraries that are loaded later may call it, too.
struct Function {
  char* symbol;
  void* real;               // nullptr: not found
  Replacement replacement;  // without function: not replaced

  // Whether the library that has the real function may have been unloaded.
  bool is_lost() const noexcept {
    Dl_info found;
    return real && !(dladdr(real, &found) && found.dli_sname && !strcmp(found.dli_sname, symbol));
  }
};
Forever<Rows<Function>> known;
Rows<Function>& functions = known.it;

// The functions by their symbols. Also knows symbols of no use for as long as their names stay in
// memory, which is one look.
class Symbols {
 public:
  Symbols() noexcept {
    for (size_t i = 0; i < functions.size(); ++i) *row_of(functions[i].symbol) = int32_t(i + 1);
  }
  // The function's number, or -1. object: the memory that takes it from elsewhere.
  int find(const char* symbol, void* object) noexcept {
    const char*& last = useless_[(uintptr_t(symbol) >> 2) % kRows];
    if (last == symbol) return -1;
    const int found = look(symbol, object);
    if (found < 0) last = symbol;
    return found;
  }
  // A library was unloaded: find() notes known functions, too, since another one may have them now.
  bool was_unloaded = false;
  // Finds the real functions of those that find() has noted.
  void resolve() noexcept {
    for (Noted& noted : noted_) {
      Function& function = functions[noted.function];
      // The program's own definition goes first for all libraries, and for this one, too.
      void* const real =
          program_defines(function.symbol) ? nullptr : find_real(function.symbol, noted.object);
      if (noted.name.region) {
        if (real) function.replacement = make_replacement(noted.name.region, noted.name.returns);
        if (!function.replacement.function) free(noted.name.region);
      } else if (real == function.real || !function.is_lost()) {
        continue;
      }
      function.real = real;
      if (real && function.replacement.function) *function.replacement.real = real;
    }
    dlerror();  // hides failed look-ups from the program
  }

 private:
  static constexpr size_t kRows = 1 << 13;  // a power of two, above the number of replacements
  struct Noted {
    size_t function;
    ScopeName name;  // of a new one
    void* object;
  };

  int look(const char* symbol, void* object) noexcept {
    int32_t* const row = row_of(symbol);
    if (*row) {
      if (was_unloaded && !is_noted_[*row - 1])
        is_noted_[*row - 1] = noted_.push({size_t(*row - 1), {}, object});
      return *row - 1;
    }
    const ScopeName name = find_scope_name(symbol);
    if (!name.region) return -1;
    char* const copy = functions.size() < kRows / 2 ? strdup(symbol) : nullptr;
    if (!copy || !functions.push({copy, nullptr, {}})) {
      free(copy);
      free(name.region);
      return -1;
    }
    *row = int32_t(functions.size());
    if (!noted_.push({functions.size() - 1, name, object})) free(name.region);
    return *row - 1;
  }
  int32_t* row_of(const char* symbol) noexcept {
    uint32_t hash = 2166136261u;
    for (const char* at = symbol; *at; ++at) hash = (hash ^ uint8_t(*at)) * 16777619u;
    for (;; ++hash) {
      int32_t* const row = &numbers_[hash % kRows];
      if (!*row || !strcmp(functions[*row - 1].symbol, symbol)) return row;
    }
  }
  // In libraries that a host has loaded for itself alone, the function is looked for from the one
  // that calls it.
  static void* find_real(const char* symbol, void* object) noexcept {
    void* real = dlsym(RTLD_NEXT, symbol);
    if (real) return real;
    void* const library = library_of(object);
    if (library) {
      real = dlsym(library, symbol);
      dlclose(library);
    }
    return real;
  }

  int32_t numbers_[kRows] = {};
  const char* useless_[kRows] = {};
  bool is_noted_[kRows / 2] = {};
  Rows<Noted> noted_;
};

// A word of memory, or a copy of a table of virtual functions, that an object binds to others.
struct Slot {
  ElfW(Addr) object;
  void** words;
  size_t size;
  int function;  // -1: any
};

struct Look {
  Symbols symbols;
  Rows<Slot> slots;
  size_t n_seen = 0, skip = 0;
};

// Objects keep their order until one is unloaded.
struct Seen {
  unsigned long long loaded, unloaded;
  size_t objects;
};
Seen seen{};

int is_new(dl_phdr_info* object, size_t, void*) noexcept {
  return object->dlpi_adds != seen.loaded || object->dlpi_subs != seen.unloaded ? 1 : -1;
}

int note_slots(dl_phdr_info* object, size_t, void* data) noexcept {
  auto* const look = static_cast<Look*>(data);
  seen.loaded = object->dlpi_adds;
  if (seen.unloaded != object->dlpi_subs) {
    look->skip = 0;
    look->symbols.was_unloaded = true;
  }
  seen.unloaded = object->dlpi_subs;
  if (look->n_seen++ < look->skip) return 0;
  look_at_imports(*object, [&](const Import& import) {
    if (import.is_copy() && !strncmp(import.name, "_ZTVN4Foam", 10))
      look->slots.push(
          {object->dlpi_addr, import.slot, import.symbol->st_size / sizeof(void*), -1});
    else if (import.is_address()) {
      const int function = look->symbols.find(import.name, import.slot);
      if (function >= 0) look->slots.push({object->dlpi_addr, import.slot, 1, function});
    }
    return false;
  });
  return 0;
}

void fill(const Slot& slot) noexcept {
  for (size_t i = 0; i < slot.size; ++i) {
    const Function* function = slot.function < 0 ? nullptr : &functions[slot.function];
    if (!function && slot.words[i])
      for (const Function& any : functions)
        if (any.real == slot.words[i]) function = &any;
    if (function && function->real && function->replacement.function)
      __atomic_store_n(&slot.words[i], function->replacement.function, __ATOMIC_RELEASE);
  }
}

// What the dynamic linker has made read-only after it has filled it.
struct Protected {
  uintptr_t begin = 0, end = 0;
  bool is_open = false, is_refused = false;

  explicit Protected(const dl_phdr_info& object) noexcept {
    const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
    for (int i = 0; i < object.dlpi_phnum; ++i) {
      const auto& part = object.dlpi_phdr[i];
      if (part.p_type != PT_GNU_RELRO) continue;
      begin = (object.dlpi_addr + part.p_vaddr) / page * page;
      end = (object.dlpi_addr + part.p_vaddr + part.p_memsz) / page * page;
    }
  }
  ~Protected() {
    if (is_open) mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ);
  }
  Protected(const Protected&) = delete;
  Protected& operator=(const Protected&) = delete;

  // Whether the slot may be written now.
  bool may_fill(const Slot& slot) noexcept {
    const uintptr_t at = uintptr_t(slot.words);
    if (at + slot.size * sizeof(void*) <= begin || at >= end || is_open) return true;
    if (is_refused) return false;
    is_open = !mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE);
    is_refused = !is_open;
    return is_open;
  }
};

// If a library was unloaded since the slots were noted, another one may lie at its address. So
// nothing is written now; the next call of interpose() notes all slots again.
int fill_slots(dl_phdr_info* object, size_t, void* data) noexcept {
  if (object->dlpi_subs != seen.unloaded) return 1;
  Protected memory(*object);
  for (const Slot& slot : static_cast<Look*>(data)->slots)
    if (slot.object == object->dlpi_addr && memory.may_fill(slot)) fill(slot);
  return 0;
}

void look_and_fill() noexcept {
  void* const memory = malloc(sizeof(Look));
  if (!memory) return;
  Look* const look = new (memory) Look;
  look->skip = seen.objects;
  dl_iterate_phdr(note_slots, look);
  seen.objects = look->n_seen;
  look->symbols.resolve();
  if (look->slots.size()) dl_iterate_phdr(fill_slots, look);
  look->~Look();
  free(memory);
}

}  // namespace

void interpose() noexcept {
  static std::atomic_flag is_busy = ATOMIC_FLAG_INIT;
  if (dl_iterate_phdr(is_new, nullptr) < 0 || is_busy.test_and_set()) return;
  look_and_fill();
  is_busy.clear();
}

}  // namespace perfield::openfoam
