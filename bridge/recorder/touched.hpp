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
#pragma GCC unroll 8
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

// Which words of the set are not empty is kept as well, so that a large set with few rows is soon
// looked through.
class Bits {
 public:
  static constexpr size_t bytes(uint32_t rows) noexcept {
    return 8 * (padded(n_words(rows)) + padded(n_words(n_words(rows))));
  }
  // memory: that many bytes, zeroed and aligned, of a set of `rows`.
  void place(char* memory, uint32_t rows) noexcept {
    words_ = reinterpret_cast<uint64_t*>(memory);
    used_ = words_ + padded(n_words(rows));
  }
  // Returns whether the row is new in the set.
  bool add(uint32_t row) noexcept {
    uint64_t& word = words_[row / 64];
    const uint64_t bit = bit_of(row);
    const bool is_new = !(word & bit);
    word |= bit;
    used_[row / 4096] |= bit_of(row / 64);
    return is_new;
  }
  // Returns whether the row was in the set.
  bool remove(uint32_t row) noexcept {
    uint64_t& word = words_[row / 64];
    const uint64_t before = word;
    word &= ~bit_of(row);
    if (!word) used_[row / 4096] &= ~bit_of(row / 64);
    return word != before;
  }
  // Adds these rows of one word; their bits.
  void add_word(uint32_t word, uint64_t rows) noexcept {
    words_[word] |= rows;
    used_[word / 64] |= bit_of(word);
  }
  bool has(uint32_t row) const noexcept { return words_[row / 64] & bit_of(row); }
  // Calls visit(row) for the rows of the set below `rows`, in their order. It may remove its row.
  template <class Visit>
  void for_each(uint32_t rows, Visit visit) const {
    for_each_word(rows, [&](uint32_t word) { for_each_bit(word, words_[word], visit); });
  }
  // The same for those that the other set does not have. It may add its row there.
  template <class Visit>
  void for_each_beside(const Bits& other, uint32_t rows, Visit visit) const {
    for_each_word(rows, [&](uint32_t word) {
      for_each_bit(word, words_[word] & ~other.words_[word], visit);
    });
  }
  // The same where visit(row) says whether its row stays in the set.
  template <class Visit>
  void filter(uint32_t rows, Visit visit) {
    for_each_word(rows, [&](uint32_t word) {
      uint64_t kept = 0;
      for_each_bit(word, words_[word],
                   [&](uint32_t row) { kept |= uint64_t{visit(row)} << row % 64; });
      words_[word] = kept;
      if (!kept) used_[word / 64] &= ~bit_of(word);
    });
  }

 private:
  static constexpr size_t n_words(size_t rows) noexcept { return (rows + 63) / 64; }
  static constexpr size_t padded(size_t words) noexcept { return (words + 7) / 8 * 8; }
  static constexpr uint64_t bit_of(uint32_t row) noexcept { return uint64_t(1) << row % 64; }
  template <class Visit>
  static void for_each_bit(uint32_t word, uint64_t bits, Visit visit) {
    for (; bits; bits &= bits - 1) visit(word * 64 + uint32_t(__builtin_ctzll(bits)));
  }
  template <class Visit>
  void for_each_word(uint32_t rows, Visit visit) const {
    const auto end = uint32_t(n_words(rows));
    for (uint32_t first = 0; first < end; first += 64)
      for (uint64_t bits = used_[first / 64]; bits; bits &= bits - 1)
        if (const uint32_t word = first + uint32_t(__builtin_ctzll(bits)); word < end) visit(word);
  }

  uint64_t *words_ = nullptr, *used_ = nullptr;
};

// Takes the marks. visit(row): whether the row carries something; then it is in the sets from now
// on.
template <class Visit, class... Sets>
void carry_marked(unsigned char* marks, uint32_t rows, Visit visit, Sets&... carried) noexcept {
  uint32_t word = 0;
  uint64_t bits = 0;
  const auto add = [&] {
    if (bits) (carried.add_word(word, bits), ...);
  };
  for_each_mark<Marks::taken>(marks, rows, [&](uint32_t row) {
    if (row / 64 != word) {
      add();
      word = row / 64;
      bits = 0;
    }
    bits |= uint64_t{visit(row)} << row % 64;
  });
  add();
}

}  // namespace perfield
