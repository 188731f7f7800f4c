// SPDX-License-Identifier: BSD-3-Clause
//
// touched.hpp - which rows of a thread's tables have changed since a step last closed, so that
// closing a step costs what it touched.
//
// The thread that counts adds to a row, then sets the mark of the row, then that of its table. The
// thread that closes a step takes the marks of the tables, then those of their rows, then reads the
// rows. It takes by an exchange that acquires, and each mark is set by a store that releases. So
// whoever takes a mark sees what was counted before it, and a mark that is set too late stays for
// the next closing, with its table's. Nothing is lost, however the two interleave; at worst a row
// is looked at twice. A thread sets its marks without looking whether they are set: that look could
// be answered before others see what it has counted, and a closing in between would miss it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfield {

// --- marks: one byte for each row, set by one thread and taken by another -----------------------

inline constexpr uint32_t kMarksInChunk = 64;  // arrays of marks have whole chunks, aligned
inline constexpr size_t bytes_of_marks(uint32_t rows) noexcept {
  return (size_t{rows} + kMarksInChunk - 1) / kMarksInChunk * kMarksInChunk;
}

// By the thread that counts.
inline void set_mark(unsigned char* mark) noexcept { __atomic_store_n(mark, 1, __ATOMIC_RELEASE); }

// Eight marks at once. The processors that perfield runs on allow that beside stores of one byte.
using EightMarks __attribute__((may_alias)) = uint64_t;
enum class Marks { taken, kept };

// By the thread that closes a step: calls visit(row) for the marked rows, in their order. Looks at
// whole chunks, so visited rows may lie beyond `rows`.
template <Marks after, class Visit>
void for_each_mark(unsigned char* marks, uint32_t rows, Visit visit) noexcept {
  for (uint32_t chunk = 0; chunk < rows; chunk += kMarksInChunk) {
    auto* const eights = reinterpret_cast<EightMarks*>(marks + chunk);
    uint64_t any = 0;
    for (int i = 0; i < 8; ++i) any |= __atomic_load_n(eights + i, __ATOMIC_RELAXED);
    if (!any) continue;
    for (uint32_t i = 0; i < 8; ++i) {
      if (!__atomic_load_n(eights + i, __ATOMIC_RELAXED)) continue;
      uint64_t set = after == Marks::taken ? __atomic_exchange_n(eights + i, 0, __ATOMIC_ACQ_REL)
                                           : __atomic_load_n(eights + i, __ATOMIC_ACQUIRE);
      for (; set; set &= set - 1) visit(chunk + i * 8 + uint32_t(__builtin_ctzll(set)) / 8);
    }
  }
}

// --- bits: the closing thread's own sets of rows ------------------------------------------------

class Bits {
 public:
  static constexpr size_t bytes(uint32_t rows) noexcept { return (size_t{rows} + 511) / 512 * 64; }
  // memory: that many bytes, zeroed and aligned.
  void place(char* memory) noexcept { words_ = reinterpret_cast<uint64_t*>(memory); }
  // Returns whether the row is new in the set.
  bool add(uint32_t row) noexcept {
    uint64_t& word = words_[row / 64];
    const uint64_t bit = uint64_t(1) << row % 64;
    const bool is_new = !(word & bit);
    word |= bit;
    return is_new;
  }
  // Returns whether the row was in the set.
  bool remove(uint32_t row) noexcept {
    uint64_t& word = words_[row / 64];
    const uint64_t before = word;
    word &= ~(uint64_t(1) << row % 64);
    return word != before;
  }
  // Calls visit(row) for the rows of the set below `rows`, in their order. It may remove its row.
  template <class Visit>
  void for_each(uint32_t rows, Visit visit) const {
    for (uint32_t word = 0; word * 64 < rows; ++word)
      for (uint64_t bits = words_[word]; bits; bits &= bits - 1)
        visit(word * 64 + uint32_t(__builtin_ctzll(bits)));
  }

 private:
  uint64_t* words_ = nullptr;
};

}  // namespace perfield
