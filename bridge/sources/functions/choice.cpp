// SPDX-License-Identifier: BSD-3-Clause
//
// choice.cpp - see choice.hpp. It reads files and compares names without holding its own lock, so
// that no thread that holds a lock of the loader or the program waits for it.
#include "sources/functions/choice.hpp"

#include <pthread.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "recorder/source.h"
#include "sources/functions/symbols.hpp"

namespace perfield {
namespace {

constexpr const char* kHook = "__cyg_profile_func_enter";

pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;   // guards the maps
pthread_mutex_t closing = PTHREAD_MUTEX_INITIALIZER;  // one thread at a time forgets files

// std::lock_guard may throw, which would pull most of the C++ library into this one.
class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) noexcept : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace

// The functions of one file that the configuration chooses.
struct FunctionChoice::Chosen {
  struct Row {
    uintptr_t address;
    Function* function;  // nullptr once handed over
  };
  Row* rows = nullptr;
  size_t count = 0, capacity = 0;

  ~Chosen() {
    for (size_t i = 0; i < count; ++i) {
      if (!rows[i].function) continue;
      std::free(const_cast<char*>(rows[i].function->name));
      std::free(rows[i].function);
    }
    std::free(rows);
  }

  static void add_if_chosen(void* argument, uintptr_t address, const char* symbol) {
    auto& chosen = *static_cast<Chosen*>(argument);
    char* name = perfield_source_function(symbol);
    if (!name) return;
    if (chosen.count == chosen.capacity) {
      const size_t capacity = chosen.capacity ? 2 * chosen.capacity : 64;
      void* larger = std::realloc(chosen.rows, capacity * sizeof(Row));
      if (!larger) return std::free(name);
      chosen.rows = static_cast<Row*>(larger);
      chosen.capacity = capacity;
    }
    auto* function = static_cast<Function*>(std::calloc(1, sizeof(Function)));
    if (!function) return std::free(name);
    function->name = name;
    chosen.rows[chosen.count++] = {address, function};
  }
};

struct FunctionChoice::LaterFile {
  LoadedFile file;
  LaterFile* next;
};

bool FunctionChoice::program_has_hooks() noexcept {
  bool found = false;
  visit_files(
      [](void* answer, const LoadedFile& file) {
        if (asks_for(file, kHook)) *static_cast<bool*>(answer) = true;
      },
      &found);
  return found;
}

void FunctionChoice::begin() noexcept {
  if (!perfield_source_follows_functions()) return;
  visit_files(
      [](void* self, const LoadedFile& file) {
        if (asks_for(file, kHook)) static_cast<FunctionChoice*>(self)->add(file, false);
      },
      this);
  follows_.store(true, std::memory_order_release);
}

Function* FunctionChoice::find(uintptr_t address) noexcept {
  for (int look = 0; look < 2; ++look) {
    if (pages_.find(address >> kPageBits) == kUnknown) look_at(address);
    const uintptr_t word = functions_.find(address);
    if (!(word & 1)) return reinterpret_cast<Function*>(word);
    // Another thread may just have forgotten this file: then the page is unknown now.
  }
  return nullptr;
}

void FunctionChoice::look_at(uintptr_t address) noexcept {
  const int error = errno;  // the program did not call us, so its errno must not change
  LoadedFile file;
  if (find_loaded_file(address, &file)) add(file, true);
  if (pages_.find(address >> kPageBits) == kUnknown) {  // code from no file
    Lock lock(adding);
    if (!pages_.set(address >> kPageBits, kPlain)) end();
  }
  errno = error;
}

void FunctionChoice::add(const LoadedFile& file, bool later) noexcept {
  perfield_source_present("functions");
  Chosen chosen;
  visit_functions(file, Chosen::add_if_chosen, &chosen);
  auto* listed = later ? static_cast<LaterFile*>(std::malloc(sizeof(LaterFile))) : nullptr;
  bool room = !later || listed;
  if (listed) {
    listed->file = file;
    list(listed);
  }
  if (room) {
    Lock lock(adding);
    room = note(file, chosen);
  }
  if (room) return;
  end();
  perfield_warn_once_per_node(
      "functions-memory",
      "no memory is left to distinguish functions; from now on functions are not "
      "measured as regions");
}

void FunctionChoice::list(LaterFile* file) noexcept {
  file->next = later_.load(std::memory_order_relaxed);
  while (!later_.compare_exchange_weak(file->next, file, std::memory_order_acq_rel)) continue;
}

bool FunctionChoice::note(const LoadedFile& file, Chosen& chosen) noexcept {
  const uintptr_t first = file.codes ? file.code[0][0] >> kPageBits : 0;
  if (pages_.find(first) != kUnknown) return true;  // another thread was faster
  for (size_t i = 0; i < chosen.count; ++i) {
    Chosen::Row& row = chosen.rows[i];
    const uintptr_t word = functions_.find(row.address);
    auto* before = reinterpret_cast<Function*>(word & ~uintptr_t(1));
    Function* function = row.function;
    if (before && std::strcmp(before->name, function->name) == 0)
      function = before;  // loaded again
    else if (before && !(word & 1))
      continue;  // a function with several names keeps the first
    else
      row.function = nullptr;
    if (!functions_.set(row.address, reinterpret_cast<uintptr_t>(function))) return false;
  }
  // Last, because as soon as a page is known, another thread relies on its functions.
  for (size_t i = 0; i < chosen.count; ++i)
    if (!pages_.set(chosen.rows[i].address >> kPageBits, kHasChosen)) return false;
  for (int i = 0; i < file.codes; ++i)
    for (uintptr_t page = file.code[i][0] >> kPageBits; page <= (file.code[i][1] - 1) >> kPageBits;
         ++page)
      if (pages_.find(page) == kUnknown && !pages_.set(page, kPlain)) return false;
  for (int i = 0; i < file.codes; ++i)
    plain_.add(file.code[i][0], file.code[i][1], [&](auto visit) {
      for (size_t row = 0; row < chosen.count; ++row) {
        const uintptr_t address = chosen.rows[row].address;
        if (address >= file.code[i][0] && address < file.code[i][1]) visit(address);
      }
    });
  return true;
}

void FunctionChoice::forget_unloaded() noexcept {
  if (!follows_.load(std::memory_order_relaxed) || !later_.load(std::memory_order_acquire)) return;
  Lock lock(closing);
  LaterFile* next = nullptr;
  for (LaterFile* later = later_.exchange(nullptr); later; later = next) {
    next = later->next;
    if (is_loaded(later->file)) {
      list(later);
      continue;
    }
    const LoadedFile& file = later->file;
    Lock change(adding);
    plain_.forget(file.begin, file.end);
    pages_.change(file.begin >> kPageBits, (file.end >> kPageBits) + 1,
                  [](uintptr_t) { return uintptr_t(kUnknown); });
    functions_.change(file.begin, file.end, [](uintptr_t word) { return word | 1; });
    std::free(later);
  }
}

}  // namespace perfield
