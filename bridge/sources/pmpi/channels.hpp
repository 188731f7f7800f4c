// SPDX-License-Identifier: BSD-3-Clause
//
// channels.hpp - numbers the messages of each channel, so that both ends of a message know it by
// the same number. A channel is a communicator and a tag; the nth message that a rank sends to
// another one on a channel matches the nth receive posted there for it, since messages of a channel
// do not overtake. Receives from any source or with any tag ("wildcards") take their number when
// their message is known; where their order among other receives is not, a number is 0.
//
// Programs may use a fresh tag or communicator for each message, so channels are counted one by one
// only while a pair of ranks has at most kMostChannels of them, which are not freed. From then on
// the channels of the pair are counted together, in kBundles bundles: a number is then a hash of
// all messages of the bundle so far, whatever their order. Two ends agree on it only if they have
// counted the same messages before this one, but for one chance in 2^31. Then both have counted as
// many on the channel, so it is the nth there at both ends: the two match. Where the ends disagree,
// as messages of the bundle were sent in another order than their receives were posted, or only one
// end has bundled the pair, the message has no partner; the next one for which they agree has.
// Therefore no end must know what the other one does, and no history is ever forgotten: the sum of
// hashes that stands for it keeps the messages of freed communicators, too.
//
// Dropping the count of a channel would be worse. If it counted from 1 again, messages would match
// wrong ones unless both ends drop it at the same message, and they see channels in different
// orders. The price of bundles: a message that is never received costs its bundle, 1/kBundles of
// the pair's channels, all later matches.
//
// One table of fixed size; under MPI_THREAD_MULTIPLE a lock guards it, and a channel or bundle that
// several threads use has no numbers: nobody knows in which order MPI saw them. The one or two on
// their way when the second thread comes may be wrong. Any thread.
#pragma once

#include <cstdint>

#include "peers.hpp"
#include "recorder/source.h"

namespace perfield::pmpi {

enum class Side : uint32_t { sent, received };

// Messages of neighbourhood collectives, and of partitioned requests, which match one another only.
inline constexpr int kNeighborTag = -1;
constexpr int tag_in_parts(int tag) noexcept { return -2 - tag; }

// Never 0, and different for all tags of a communicator but for some 244,002,641 apart.
[[gnu::always_inline]] inline uint32_t channel_of(uint32_t name, int tag) noexcept {
  return (name ^ uint32_t(tag) * 0x9E3779B1u) | 1;
}

class Channels {
 public:
  // The id of the next message to or from that world rank. peer: below 0: not known, and so
  // without a number.
  [[gnu::always_inline]] perfield_message_id next(Peers& peers, Side side, int32_t peer,
                                                  uint32_t channel) noexcept {
    // Peers without a world rank, and communicators without a name, are not in the table.
    const uint64_t key = key_of(channel, side, peer);
    Channel& slot = slots_[home(key)];
    if (__builtin_expect(slot.key != key, 0)) return {channel, next_elsewhere(peers, key)};
    return {channel, ++slot.counted.number};
  }
  // The same for a receive with that source and tag, when it is posted or, if it blocks, complete.
  [[gnu::always_inline]] perfield_message_id next_received(Peers& peers, int32_t peer,
                                                           uint32_t channel) noexcept {
    if (__builtin_expect(peers.n_wildcards.load(std::memory_order_relaxed) != 0, 0))
      return next_among_wildcards(peers, peer, channel);
    return next(peers, Side::received, peer, channel);
  }

  // The same of a message that a probe has found, which the next receive will get.
  perfield_message_id probed(Peers& peers, int32_t peer, uint32_t channel) noexcept;

  // A wildcard is posted; peer, tag: kAnyPeer, MPI_ANY_TAG or what it asks for. Returns its order
  // among all.
  static constexpr int32_t kAnyPeer = INT32_MIN;
  uint32_t post_wildcard(Peers& peers, int32_t peer, int tag) noexcept;
  // The wildcard of that order has received this message.
  perfield_message_id end_wildcard(Peers& peers, uint32_t order, int32_t peer,
                                   uint32_t channel) noexcept;
  // It was cancelled.
  void cancel_wildcard(Peers& peers, uint32_t order) noexcept;

  // The program has requested to cancel a receive with this id: receives posted from now on have no
  // number until it is known whether a message had come.
  void cancelling(perfield_message_id id, int32_t peer) noexcept;
  void cancelled(perfield_message_id id, int32_t peer, bool has_come) noexcept;
  // Whether that receive may have been posted after the other one on its channel.
  static bool may_follow(perfield_message_id one, perfield_message_id other) noexcept {
    return ((one.number | other.number) & kNumberOfHistory) || one.number > other.number;
  }

  // The communicator or window of that name is gone: its channels leave the table.
  void forget(uint32_t name) noexcept;

  std::atomic<uint64_t> n_lost{0};  // messages of channels that the table had no room for

 private:
  struct Counted {
    uint32_t number;        // messages so far
    uint32_t communicator;  // its name
  };
  struct Channel {
    uint64_t key;  // 0: unused
    union {
      Counted counted;   // a channel
      uint64_t history;  // a bundle: the sum of its messages' hashes
    };
    uint32_t doubtful;  // order of the last message whose number was not known
    uint16_t thread;    // under MPI_THREAD_MULTIPLE
    uint16_t n_cancelling;
  };
  struct Wildcard {
    Peers* peers;  // nullptr: completed
    int32_t peer, tag;
    uint32_t order;
  };
  static constexpr uint32_t kSlots = 4096, kMost = kSlots / 8 * 7;
  static constexpr uint32_t kWildcards = 512;
  // Of a pair of ranks, in one direction. kPairs: ranks so far apart share a number of channels.
  static constexpr uint32_t kPairs = 1 << 14;
  static constexpr uint8_t kMostChannels = 64, kLost = 254, kBundled = 255;
  static constexpr int kBundleBits = 4;
  static constexpr uint32_t kBundles = 1 << kBundleBits;
  static constexpr uint16_t kSeveralThreads = 0xFFFF;
  // Set in a key that the fast path is not to find: see n_cancelling; all, under
  // MPI_THREAD_MULTIPLE.
  static constexpr uint64_t kSlowPath = uint64_t(1) << 31;

  static uint64_t key_of(uint32_t channel, Side side, int32_t peer) noexcept {
    return uint64_t(channel) << 32 | (uint32_t(peer) << 1 | uint32_t(side));
  }
  static uint32_t home(uint64_t key) noexcept { return uint32_t(key * 0x9E3779B97F4A7C15u >> 52); }
  static uint32_t after(uint32_t slot) noexcept { return (slot + 1) % kSlots; }
  static uint32_t pair_of(uint64_t key) noexcept { return uint32_t(key & ~kSlowPath) % kPairs; }
  // Messages have odd channels, windows those that leave 2 when divided by 4.
  static uint64_t bundle_of(uint64_t key) noexcept {
    return (key >> (64 - kBundleBits) << 2 | 64) << 32 | uint32_t(key & ~kSlowPath);
  }
  static bool is_of_messages(uint64_t key) noexcept { return (key >> 32) % 2; }
  static bool is_of_window(uint64_t key) noexcept { return (key >> 32) % 4 == 2; }
  static bool is_bundle(uint64_t key) noexcept { return key && (key >> 32) % 4 == 0; }
  uint32_t next_elsewhere(Peers& peers, uint64_t key) noexcept;
  perfield_message_id next_among_wildcards(Peers& peers, int32_t peer, uint32_t channel) noexcept;
  perfield_message_id next_doubtful(Peers& peers, int32_t peer, uint32_t channel) noexcept;
  // The slot of that key, or the empty one where it would be.
  uint32_t slot_of(uint64_t key) const noexcept;
  Channel* add(uint64_t key) noexcept;  // has room, and no such key
  void remove(uint32_t slot) noexcept;
  // Where the messages of that key are counted: a channel or a bundle; nullptr: nowhere.
  Channel* find(uint64_t key) noexcept;
  Channel* find_or_add(uint64_t key, Peers& peers) noexcept;
  Channel* find_or_add_bundle(uint64_t key) noexcept;
  Channel* lose(uint64_t key) noexcept;
  // Its messages are counted in a bundle from now on.
  void retire(uint32_t slot) noexcept;
  void bundle(uint32_t pair) noexcept;
  bool make_room() noexcept;
  static uint32_t number_of_next(const Channel& counted) noexcept;
  uint32_t count(Channel& counted, uint32_t channel) noexcept;
  // Whether one of the wildcards before `end` may receive from that peer on that channel.
  bool any_matches(uint32_t end, const Peers& peers, int32_t peer, uint32_t channel) const noexcept;
  uint32_t find_wildcard(uint32_t order) const noexcept;
  void remove_wildcard(Peers& peers, uint32_t at) noexcept;

  std::atomic<bool> lock_{false};
  uint32_t n_ = 0;
  uint32_t order_ = 0;  // of the last wildcard posted, or message whose number was not known
  uint32_t first_ = 0, end_ = 0;  // of the wildcards
  bool too_many_wildcards_ = false;
  uint8_t n_channels_[kPairs];  // of each pair, or kBundled, or kLost: new ones have no numbers
  Channel slots_[kSlots];
  Wildcard wildcards_[kWildcards];
};
extern Channels channels __attribute__((visibility("hidden")));

// Call it in MPI_Init.
void prepare_channels() noexcept;

}  // namespace perfield::pmpi
