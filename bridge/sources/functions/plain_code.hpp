// SPDX-License-Identifier: BSD-3-Clause
//
// plain_code.hpp - says in a few instructions that a function is not a region. Keeps one bit for
// each 16 bytes of code, by kB: set where surely no chosen function begins. All threads read it
// without a lock, while one thread at a time changes it. What finds no room here is looked up in
// the maps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace perfield {

class PlainCode {
 public:
  bool holds(uintptr_t address) const noexcept {
    const Part* parts = parts_;
    const uintptr_t index = index_of(address);
#if defined(__x86_64__)
    // Compilers compute the address twice, and do not compare with an atomic in one instruction.
    bool found;
    __asm__("" : "+r"(parts));
    __asm__ volatile("cmpq (%1,%2), %3"
                     : "=@cce"(found)
                     : "r"(parts), "r"(index * sizeof(Part)), "r"(number_of(address))
                     : "memory");
#else
    const bool found = parts[index].number.load(std::memory_order_acquire) == number_of(address);
#endif
    return found && parts[index].plain.load(std::memory_order_relaxed) >> bit_of(address) & 1;
  }

  // One thread at a time: code from `begin` to `end` of a file just read, in which
  // for_each_chosen(f) calls f(address) for each chosen function.
  template <class ForEachChosen>
  void add(uintptr_t begin, uintptr_t end, ForEachChosen for_each_chosen) noexcept {
    const uintptr_t first = number_of(begin), last = number_of(end - 1);
    if (end <= begin) return;
    // A part holds nothing until it has its number.
    for (uintptr_t number = first; number <= last; ++number)
      if (Part& part = part_of(number); is_free(part)) part.plain = ~uint64_t(0);
    for_each_chosen([&](uintptr_t address) {
      Part& part = part_of(number_of(address));
      if (is_free(part)) part.plain = part.plain & ~(uint64_t(1) << bit_of(address));
    });
    for (uintptr_t number = first; number <= last; ++number)
      if (Part& part = part_of(number); is_free(part))
        part.number.store(number, std::memory_order_release);
  }

  // One thread at a time: that code is gone.
  void forget(uintptr_t begin, uintptr_t end) noexcept {
    for (Part& part : parts_) {
      const uintptr_t number = part.number.load(std::memory_order_relaxed);
      if (number >= number_of(begin) && number <= number_of(end)) part.number = part.plain = 0;
    }
  }

 private:
  struct Part {
    std::atomic<uintptr_t> number{0};  // of the kB of code; 0: free
    std::atomic<uint64_t> plain{0};
  };
  static constexpr size_t kParts = size_t(1) << 16;  // only touched pages of them take memory

  static uintptr_t number_of(uintptr_t address) noexcept { return address >> 10; }
  static size_t index_of(uintptr_t address) noexcept { return number_of(address) % kParts; }
  static unsigned bit_of(uintptr_t address) noexcept { return address >> 4 & 63; }
  static bool is_free(const Part& part) noexcept {
    return part.number.load(std::memory_order_relaxed) == 0;
  }
  Part& part_of(uintptr_t number) noexcept { return parts_[number % kParts]; }

  Part parts_[kParts] = {};  // in the program before any constructor runs
};

}  // namespace perfield
