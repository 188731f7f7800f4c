// SPDX-License-Identifier: BSD-3-Clause
//
// dirty_rows.hpp - which rows of a thread's tables have changed since a step last closed, so that
// closing a step costs what it changed.
//
// The thread that counts adds to a row, then marks the row dirty, then its table. The thread that
// closes a step takes the marks of the tables, then those of their rows, then reads the rows. It
// takes by an exchange that acquires, and each mark is set by a store that releases. So whoever
// takes a mark sees what was counted before it, and a mark that is set too late stays for the next
// closing, with its table's. Nothing is lost, however the two interleave; at worst a row is looked
// at twice. A thread sets its marks without looking whether they are set: that look could be
// answered before others see what it has counted, and a closing in between would miss it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/arena.hpp"

namespace perfield {

// Calls visit(first + bit) for each bit that is set, in their order.
template <class Visit>
void for_each_bit(uint64_t bits, Visit visit, uint32_t first = 0) {
  for (; bits; bits &= bits - 1) visit(first + uint32_t(__builtin_ctzll(bits)));
}

// --- marks: one byte for each row, set by one thread and taken by another -----------------------

inline constexpr uint32_t kDirtyRowsInChunk = 64;  // arrays of marks have whole chunks, aligned

// By the thread that counts.
inline void mark_dirty(unsigned char* mark) noexcept {
  __atomic_store_n(mark, 1, __ATOMIC_RELEASE);
}

// Eight marks at once. The processors that perfield runs on allow that beside stores of one byte.
using EightBytes __attribute__((may_alias)) = uint64_t;
enum class Marks { taken, kept };

// The tables of a thread, one mark each.
enum class DirtyTable : uint8_t {
  paths,
  other_paths,
  messages,
  calls,  // or events that could not be right
  quantities,
  of_rank,
  collectives,
  kinds
};
static_assert(int(DirtyTable::kinds) <= 8);  // the closing thread takes eight marks at once
inline bool has(uint64_t dirty, DirtyTable table) noexcept { return dirty >> (8 * int(table)) & 1; }

class DirtyTables {
 public:
  void add(DirtyTable table) noexcept { mark_dirty(of_ + int(table)); }
  // By the thread that closes a step.
  uint64_t get() const noexcept {
    return __atomic_load_n(reinterpret_cast<const EightBytes*>(of_), __ATOMIC_ACQUIRE);
  }
  uint64_t take() noexcept {
    return get() ? __atomic_exchange_n(reinterpret_cast<EightBytes*>(of_), 0, __ATOMIC_ACQ_REL) : 0;
  }

 private:
  alignas(8) unsigned char of_[8] = {};
};

// By the thread that counts, after counting in a row.
inline void mark_dirty(unsigned char* rows, uint32_t row, DirtyTables& tables,
                       DirtyTable table) noexcept {
  mark_dirty(rows + row);
  tables.add(table);
}

// By the thread that closes a step: calls visit(row) for the marked rows, in their order. Looks at
// whole chunks, so visited rows may lie beyond `rows`.
template <Marks after, class Visit>
void for_each_dirty(unsigned char* marks, uint32_t rows, Visit visit) noexcept {
  for (uint32_t chunk = 0; chunk < rows; chunk += kDirtyRowsInChunk) {
    auto* const eights = reinterpret_cast<EightBytes*>(marks + chunk);
    uint64_t any = 0;
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) any |= __atomic_load_n(eights + i, __ATOMIC_RELAXED);
    if (!any) continue;
    for (uint32_t i = 0; i < 8; ++i) {
      if (!__atomic_load_n(eights + i, __ATOMIC_RELAXED)) continue;
      uint64_t set = after == Marks::taken ? __atomic_exchange_n(eights + i, 0, __ATOMIC_ACQ_REL)
                                           : __atomic_load_n(eights + i, __ATOMIC_ACQUIRE);
      for_each_bit(set, [&](uint32_t bit) { visit(chunk + i * 8 + bit / 8); });
    }
  }
}

// --- bits: the closing thread's own sets of rows ------------------------------------------------

// Which words of the set are not empty is kept as well, so that a large set with few rows is soon
// looked through.
class Bits {
 public:
  void place(Arena& arena, uint32_t rows) noexcept {
    words_ = arena.take<uint64_t>(n_words(rows));
    used_ = arena.take<uint64_t>(n_words(n_words(rows)));
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
    for_each_word(rows, [&](uint32_t word) { for_each_bit(words_[word], visit, word * 64); });
  }
  // The same for those that the other set does not have. It may add its row there.
  template <class Visit>
  void for_each_beside(const Bits& other, uint32_t rows, Visit visit) const {
    for_each_word(rows, [&](uint32_t word) {
      for_each_bit(words_[word] & ~other.words_[word], visit, word * 64);
    });
  }
  // The same where visit(row) says whether its row stays in the set.
  template <class Visit>
  void filter(uint32_t rows, Visit visit) {
    for_each_word(rows, [&](uint32_t word) {
      uint64_t kept = 0;
      for_each_bit(
          words_[word], [&](uint32_t row) { kept |= uint64_t{visit(row)} << row % 64; }, word * 64);
      words_[word] = kept;
      if (!kept) used_[word / 64] &= ~bit_of(word);
    });
  }

 private:
  static constexpr size_t n_words(size_t rows) noexcept { return (rows + 63) / 64; }
  static constexpr uint64_t bit_of(uint32_t row) noexcept { return uint64_t(1) << row % 64; }
  template <class Visit>
  void for_each_word(uint32_t rows, Visit visit) const {
    const auto end = uint32_t(n_words(rows));
    for (uint32_t first = 0; first < end; first += 64)
      for_each_bit(
          used_[first / 64],
          [&](uint32_t word) {
            if (word < end) visit(word);
          },
          first);
  }

  uint64_t *words_ = nullptr, *used_ = nullptr;
};

// Takes the marks. visit(row): whether the row has something pending; then it is in the sets from
// now on.
template <class Visit, class... Sets>
void collect_dirty(unsigned char* marks, uint32_t rows, Visit visit, Sets&... pending) noexcept {
  uint32_t word = 0;
  uint64_t bits = 0;
  const auto add = [&] {
    if (bits) (pending.add_word(word, bits), ...);
  };
  for_each_dirty<Marks::taken>(marks, rows, [&](uint32_t row) {
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
