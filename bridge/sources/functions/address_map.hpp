// SPDX-License-Identifier: BSD-3-Clause
//
// address_map.hpp - maps an address to a word. All threads read it without a lock, while one thread
// at a time adds or changes words. It grows by copying. Old copies stay, because others may be
// reading them; together they are smaller than the current one.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace perfield {

class AddressMap {
 public:
  // The word of an address; 0 if it has none.
  uintptr_t find(uintptr_t address) const noexcept {
    const Table* table = table_.load(std::memory_order_acquire);
    return table ? table->find(address)->word.load(std::memory_order_acquire) : 0;
  }

  // One thread at a time. address: not 0. False without memory.
  bool set(uintptr_t address, uintptr_t word) noexcept {
    Table* table = table_.load(std::memory_order_relaxed);
    if (!table || 4 * (count_ + 1) > table->mask + 1) {
      if (!(table = grown(table))) return false;
      table_.store(table, std::memory_order_release);
    }
    Slot* slot = table->find(address);
    slot->word.store(word, std::memory_order_release);
    if (slot->address.load(std::memory_order_relaxed)) return true;
    ++count_;
    slot->address.store(address, std::memory_order_release);
    return true;
  }

  // One thread at a time: sets word = change(word) for every address from `begin` to `end`.
  template <class Change>
  void change(uintptr_t begin, uintptr_t end, Change change) noexcept {
    Table* table = table_.load(std::memory_order_relaxed);
    for (size_t at = 0; table && at <= table->mask; ++at) {
      Slot& slot = table->slots[at];
      const uintptr_t address = slot.address.load(std::memory_order_relaxed);
      if (address >= begin && address < end && address)
        slot.word.store(change(slot.word.load(std::memory_order_relaxed)),
                        std::memory_order_release);
    }
  }

 private:
  struct Slot {
    std::atomic<uintptr_t> address, word;  // 0: free
  };

  // Open addressing, at most a quarter full.
  struct Table {
    size_t mask;
    int shift;
    Slot slots[];

    Slot* find(uintptr_t address) const noexcept {
      size_t at = size_t((uint64_t(address) * 0x9E3779B97F4A7C15u) >> shift);
      for (;; at = (at + 1) & mask) {
        const uintptr_t found = slots[at].address.load(std::memory_order_acquire);
        if (!found || found == address) return const_cast<Slot*>(&slots[at]);
      }
    }
  };

  // Pages of its own: the program's malloc may hold a lock that waits for ours.
  static Table* grown(const Table* before) noexcept {
    const int bits = before ? 64 - before->shift + 1 : 8;
    const size_t slots = size_t(1) << bits;
    void* memory = mmap(nullptr, sizeof(Table) + slots * sizeof(Slot), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* table = static_cast<Table*>(memory);
    table->mask = slots - 1;
    table->shift = 64 - bits;
    for (size_t at = 0; before && at <= before->mask; ++at) {
      const Slot& slot = before->slots[at];
      const uintptr_t address = slot.address.load(std::memory_order_relaxed);
      if (!address) continue;
      Slot* place = table->find(address);
      place->word.store(slot.word.load(std::memory_order_relaxed), std::memory_order_relaxed);
      place->address.store(address, std::memory_order_relaxed);
    }
    return table;
  }

  std::atomic<Table*> table_{nullptr};
  size_t count_ = 0;
};

}  // namespace perfield
