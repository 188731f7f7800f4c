// SPDX-License-Identifier: BSD-3-Clause
//
// choice.hpp - which functions of a running program are regions, by their addresses. Files
// are looked at when they are loaded with the program or, if it loads them later, when the first of
// their functions is entered; so a function that is no region costs a look at its page,
// and one more where others of that page are chosen.
#pragma once

#include <atomic>
#include <cstdint>

#include "sources/functions/address_map.hpp"

namespace perfield {

struct LoadedFile;

// A chosen function.
struct Function {
  const char* name;
  std::atomic<uint32_t> region;  // 0 until it is entered first
};

class FunctionChoice {
 public:
  // Whether any file that is loaded now calls the hooks.
  static bool program_has_hooks() noexcept;

  // Looks at the files that are loaded now, if the configuration may choose any function.
  void begin() noexcept;
  // For good: in a child, say, which is no rank.
  void end() noexcept { follows_.store(false, std::memory_order_relaxed); }
  // Forgets the files that are no longer loaded.
  void forget_unloaded() noexcept;

  // Whether there is more to a function than a look or two: false for those left out.
  bool concerns(uintptr_t address) const noexcept {
    if (!follows_.load(std::memory_order_acquire)) return false;
    const uintptr_t page = pages_.find(address >> kPageBits);
    return page != kPlain && (page == kUnknown || functions_.find(address) != 0);
  }
  // The function, nullptr if it is left out. Asked where it concerns; may look at a file.
  Function* find(uintptr_t address) noexcept;

 private:
  struct Chosen;
  struct LaterFile;
  enum : uintptr_t { kUnknown = 0, kPlain = 1, kHasChosen = 2 };
  static constexpr int kPageBits = 12;

  void look_at(uintptr_t address) noexcept;
  void add(const LoadedFile& file, bool later) noexcept;
  bool note(const LoadedFile& file, Chosen& chosen) noexcept;
  void list(LaterFile* file) noexcept;

  std::atomic<bool> follows_{false};
  AddressMap pages_;      // of files that were looked at, by number
  AddressMap functions_;  // Function*, + 1 where its file is gone
  std::atomic<LaterFile*> later_{nullptr};
};

}  // namespace perfield
