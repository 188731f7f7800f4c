// SPDX-License-Identifier: BSD-3-Clause
//
// groups.hpp - finds what belongs together: all with equal keys. Takes O(n) time. One thread at a
// time; throws only std::bad_alloc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <numeric>
#include <vector>

#include "waits/large_pages.hpp"

namespace perfield::waits {

// As a word of a key, whose order is that of the numbers.
inline uint64_t in_order(int64_t number) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  return uint64_t(number) ^ kSign;
}

// Numbers groups from 0 on, in the order in which their keys appear. A table with open addresses:
// keys that follow one another are often equal, so the last one is tried first.
template <size_t kWords>
class Groups {
 public:
  struct Key {
    uint64_t word[kWords];
    bool operator==(const Key& other) const {
      uint64_t differs = 0;
      for (size_t i = 0; i < kWords; ++i) differs |= word[i] ^ other.word[i];
      return differs == 0;
    }
    bool operator<(const Key& other) const {
      return std::lexicographical_compare(word, word + kWords, other.word, other.word + kWords);
    }
  };

  // expected: members; they may be more.
  explicit Groups(size_t expected = 0) : slots_(n_slots()) { added_.reserve(expected); }

  size_t size() const { return keys_.size(); }

  // The group with this key, which may be a new one.
  uint32_t of(const Key& key) {
    if (last_ < keys_.size() && keys_[last_] == key) return last_;
    const uint64_t hash = hash_of(key);
    for (size_t at = hash >> (64 - bits_);; at = (at + 1) & (n_slots() - 1)) {
      Slot& slot = slots_[at];
      if (slot.behind == 0) {
        slot = {uint32_t(hash), add(key)};
        if (2 * keys_.size() > n_slots()) grow();
        return last_;
      }
      if (slot.hash == uint32_t(hash) && keys_[slot.behind - 1] == key)
        return last_ = slot.behind - 1;
    }
  }

  // The groups in the order of their keys.
  std::vector<uint32_t> sorted() const {
    std::vector<uint32_t> groups(size());
    std::iota(groups.begin(), groups.end(), 0u);
    std::sort(groups.begin(), groups.end(),
              [this](uint32_t a, uint32_t b) { return keys_[a] < keys_[b]; });
    return groups;
  }
  const Key& key(uint32_t group) const { return keys_[group]; }

  // Adds a member to the group with this key.
  void add(const Key& key, uint32_t member) { added_.push_back({of(key), member}); }

  // Calls take(members, n) for each group with members, in the order of the keys. Members come in
  // the order in which they were added, and may be sorted.
  template <typename Take>
  void for_each(Take take) const {
    std::vector<size_t> end(size() + 1);
    LargeVector<uint32_t> members(added_.size());
    for (const Added& one : added_) ++end[one.group + 1];
    for (size_t group = 0; group < size(); ++group) end[group + 1] += end[group];
    for (const Added& one : added_) members[end[one.group]++] = one.member;
    for (const uint32_t group : sorted()) {
      const size_t first = group ? end[group - 1] : 0;
      if (end[group] > first) take(&members[first], end[group] - first);
    }
  }

 private:
  struct Slot {
    uint32_t hash, behind;  // of the key; the group's number plus 1, 0: free
  };
  struct Added {
    uint32_t group, member;
  };

  size_t n_slots() const { return size_t{1} << bits_; }

  static uint64_t hash_of(const Key& key) {
    uint64_t hash = 0;
    for (const uint64_t word : key.word) {
      hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 32;
    }
    return hash * 0xD6E8FEB86659FD93u;
  }

  uint32_t add(const Key& key) {
    if (keys_.size() >= std::numeric_limits<uint32_t>::max()) throw std::bad_alloc();
    last_ = uint32_t(keys_.size());
    keys_.push_back(key);
    return last_ + 1;
  }

  void grow() {
    bits_ += 2;
    slots_.assign(n_slots(), {});
    for (size_t group = 0; group < keys_.size(); ++group) {
      const uint64_t hash = hash_of(keys_[group]);
      size_t at = hash >> (64 - bits_);
      while (slots_[at].behind) at = (at + 1) & (n_slots() - 1);
      slots_[at] = {uint32_t(hash), uint32_t(group + 1)};
    }
  }

  unsigned bits_ = 6;
  uint32_t last_ = 0;
  LargeVector<Key> keys_;  // of each group
  LargeVector<Slot> slots_;
  LargeVector<Added> added_;
};

}  // namespace perfield::waits
