// SPDX-License-Identifier: BSD-3-Clause
//
// choice.hpp - decides by address which functions of a running program are regions. It reads a
// file's functions when the program starts or, for a file loaded later, when its first function is
// entered. So a function that is not a region costs one look at a bit.
#pragma once

#include <atomic>
#include <cstdint>

#include "sources/functions/address_map.hpp"
#include "sources/functions/plain_code.hpp"

namespace perfield {

struct LoadedFile;

// A chosen function.
struct Function {
  const char* name;
  std::atomic<uint32_t> region;  // 0 until first entered
};

class FunctionChoice {
 public:
  // Whether any file loaded now calls the hooks.
  static bool program_has_hooks() noexcept;

  // Reads the files loaded now, if the configuration may choose any function.
  void begin() noexcept;
  // Stops for good, for example in a forked child, which is not a rank.
  void end() noexcept { follows_.store(false, std::memory_order_relaxed); }
  // Forgets files that are no longer loaded.
  void forget_unloaded() noexcept;

  // Whether a function is surely not chosen. Costs a few instructions.
  bool is_plain(uintptr_t address) const noexcept { return plain_.holds(address); }
  // The same for all functions, by one or two look-ups. False for one that is surely not chosen.
  bool concerns(uintptr_t address) const noexcept {
    if (!follows_.load(std::memory_order_acquire)) return false;
    const uintptr_t page = pages_.find(address >> kPageBits);
    return page != kPlain && (page == kUnknown || functions_.find(address) != 0);
  }
  // The function, nullptr if not chosen. Call it if concerns() is true; it may read a file.
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
  PlainCode plain_;
  AddressMap pages_;      // pages of files already read, by page number
  AddressMap functions_;  // Function*, + 1 if its file was unloaded
  std::atomic<LaterFile*> later_{nullptr};
};

}  // namespace perfield
