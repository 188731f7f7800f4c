// SPDX-License-Identifier: BSD-3-Clause
//
// groups.hpp - finds what belongs together: all with equal keys. A hash table takes O(n) time. One
// thread at a time; throws only std::bad_alloc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <numeric>
#include <tuple>
#include <vector>

#include "waits/memory.hpp"

namespace perfield::waits {

struct Key {
  uint64_t first, second;
  bool operator==(const Key& other) const { return first == other.first && second == other.second; }
  bool operator<(const Key& other) const {
    return std::tie(first, second) < std::tie(other.first, other.second);
  }
};

// As a word of a key, whose order is that of the numbers.
inline uint64_t in_order(int64_t number) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  return uint64_t(number) ^ kSign;
}

// Numbers groups from 0 on, in the order in which their keys appear.
class Groups {
 public:
  explicit Groups(Arena& arena) : keys_(arena), slots_(n_slots(), arena), added_(arena) {}

  size_t size() const { return keys_.size(); }

  // The group with this key, which may be a new one.
  uint32_t of(const Key& key) {
    const uint64_t hash = hash_of(key);
    Slot& slot = slots_[slot_of(key, hash)];
    if (slot.behind) return slot.behind - 1;
    if (keys_.size() >= std::numeric_limits<uint32_t>::max()) throw std::bad_alloc();
    keys_.push_back(key);
    const auto n = uint32_t(keys_.size());
    slot = {uint32_t(hash), n};
    if (2 * keys_.size() > n_slots()) grow();
    return n - 1;
  }
  // Whether there is a group with this key.
  bool has(const Key& key) const { return slots_[slot_of(key, hash_of(key))].behind != 0; }

  // Adds a member to the group with this key.
  void add(const Key& key, uint32_t member) { added_.push_back({of(key), member}); }

  // Calls take(members, n) for each group with members, in the order of the keys. Members come in
  // the order in which they were added, and may be sorted.
  template <typename Take>
  void for_each(Take take) const {
    std::vector<size_t> end(size() + 1);
    ArenaVector<uint32_t> members(added_.size(), added_.get_allocator());
    for (const Added& one : added_) ++end[one.group + 1];
    for (size_t group = 0; group < size(); ++group) end[group + 1] += end[group];
    for (const Added& one : added_) members[end[one.group]++] = one.member;
    std::vector<uint32_t> order(size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [this](uint32_t a, uint32_t b) { return keys_[a] < keys_[b]; });
    for (const uint32_t group : order) {
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
    uint64_t hash = key.first * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 32 ^ key.second) * 0x9E3779B97F4A7C15u;
    return (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
  }

  // The slot that holds the key, or else the free one where it belongs.
  size_t slot_of(const Key& key, uint64_t hash) const {
    for (size_t at = hash >> (64 - bits_);; at = (at + 1) & (n_slots() - 1)) {
      const Slot& slot = slots_[at];
      if (!slot.behind || (slot.hash == uint32_t(hash) && keys_[slot.behind - 1] == key)) return at;
    }
  }

  void grow() {
    bits_ += 2;
    slots_.assign(n_slots(), {});
    for (uint32_t group = 0; group < keys_.size(); ++group) {
      const uint64_t hash = hash_of(keys_[group]);
      slots_[slot_of(keys_[group], hash)] = {uint32_t(hash), group + 1};
    }
  }

  unsigned bits_ = 6;
  ArenaVector<Key> keys_;  // of each group
  ArenaVector<Slot> slots_;
  ArenaVector<Added> added_;
};

}  // namespace perfield::waits
