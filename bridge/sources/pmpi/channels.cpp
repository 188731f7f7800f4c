// SPDX-License-Identifier: BSD-3-Clause
//
// channels.cpp - see channels.hpp. The table is open addressing with linear probing; removal closes
// the hole. The wildcards are kept in the order in which they were posted.
#include "channels.hpp"

#include "lock.hpp"

namespace perfield::pmpi {

Channels channels;

namespace {

// A small number of this thread; two of 65,534 threads may share one.
uint16_t this_thread() noexcept {
  static std::atomic<uint32_t> n_threads{0};
  static __thread uint16_t number __attribute__((tls_model("initial-exec"))) = 0;
  if (!number) number = uint16_t(1 + n_threads.fetch_add(1, std::memory_order_relaxed) % 0xFFFE);
  return number;
}

// Orders are numbers that wrap.
bool is_later(uint32_t one, uint32_t other) noexcept { return int32_t(one - other) > 0; }

}  // namespace

Channels::Channel* Channels::find(uint64_t key) noexcept {
  uint32_t slot = home(key);
  while (slots_[slot].key && (slots_[slot].key & ~kUnusual) != key) slot = after(slot);
  return slots_[slot].key ? &slots_[slot] : nullptr;
}

Channels::Channel* Channels::find_or_add(uint64_t key, Peers& peers) noexcept {
  uint32_t slot = home(key);
  while (slots_[slot].key && (slots_[slot].key & ~kUnusual) != key) slot = after(slot);
  Channel& channel = slots_[slot];
  if (channel.key) return &channel;
  if (n_ >= kMost) {
    n_lost.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  ++n_;
  channel = Channel{};
  channel.key = library.concurrent ? key | kUnusual : key;
  channel.communicator = peers.name;
  channel.doubtful = order_ - (1u << 30);  // long ago
  peers.has_channels.store(true, std::memory_order_relaxed);
  return &channel;
}

// The number of the next message, 0 where several threads order the messages of the channel, or
// where an earlier receive may still turn out to be cancelled.
uint32_t Channels::count(Channel& channel) noexcept {
  ++channel.number;
  if (library.concurrent && channel.thread != this_thread())
    channel.thread = channel.thread ? kSeveralThreads : this_thread();
  return channel.thread == kSeveralThreads || channel.n_cancelling ? 0 : channel.number;
}

uint32_t Channels::next_elsewhere(Peers& peers, uint64_t key) noexcept {
  if (peers.name == 0 || key & kUnusual) return 0;  // a negative peer has that bit
  Locked locked(lock_);
  Channel* channel = find_or_add(key, peers);
  return channel ? count(*channel) : 0;
}

// --- wildcards -----------------------------------------------------------------------------------
bool Channels::any_matches(uint32_t end, const Peers& peers, int32_t peer,
                           uint32_t channel) const noexcept {
  if (too_many_wildcards_) return true;
  for (uint32_t at = first_; at < end; ++at) {
    const Wildcard& wildcard = wildcards_[at];
    if (wildcard.peers == &peers && (wildcard.peer == kAnyPeer || wildcard.peer == peer) &&
        (wildcard.tag == MPI_ANY_TAG || channel_of(peers.name, wildcard.tag) == channel))
      return true;
  }
  return false;
}

uint32_t Channels::find_wildcard(uint32_t order) const noexcept {
  uint32_t at = first_;
  while (at < end_ && (!wildcards_[at].peers || wildcards_[at].order != order)) ++at;
  return at;
}

void Channels::remove_wildcard(Peers& peers, uint32_t at) noexcept {
  if (at >= end_) return;  // one of too many
  peers.n_wildcards.fetch_sub(1, std::memory_order_relaxed);
  wildcards_[at].peers = nullptr;
  while (first_ < end_ && !wildcards_[first_].peers) ++first_;
  if (first_ == end_) first_ = end_ = 0;
}

uint32_t Channels::post_wildcard(Peers& peers, int32_t peer, int tag) noexcept {
  Locked locked(lock_);
  const uint32_t order = ++order_;
  if (end_ == kWildcards) {
    uint32_t n = 0;
    for (uint32_t at = first_; at < end_; ++at)
      if (wildcards_[at].peers) wildcards_[n++] = wildcards_[at];
    first_ = 0;
    end_ = n;
  }
  peers.n_wildcards.fetch_add(1, std::memory_order_relaxed);
  if (end_ < kWildcards)
    wildcards_[end_++] = {&peers, peer, tag, order};
  else  // messages count on, but nobody knows any more which receive may have which
    too_many_wildcards_ = true;
  return order;
}

perfield_place Channels::next_doubtful(Peers& peers, int32_t peer, uint32_t channel) noexcept {
  if (Channel* counted = find_or_add(key_of(channel, Side::received, peer), peers)) {
    count(*counted);
    counted->doubtful = ++order_;
  }
  return {channel, 0};
}

perfield_place Channels::next_among_wildcards(Peers& peers, int32_t peer,
                                              uint32_t channel) noexcept {
  if (peers.name == 0 || peer < 0) return {channel, 0};
  Locked locked(lock_);
  if (any_matches(end_, peers, peer, channel)) return next_doubtful(peers, peer, channel);
  Channel* counted = find_or_add(key_of(channel, Side::received, peer), peers);
  return {channel, counted ? count(*counted) : 0};
}

perfield_place Channels::end_wildcard(Peers& peers, uint32_t order, int32_t peer,
                                      uint32_t channel) noexcept {
  Locked locked(lock_);
  const uint32_t own = find_wildcard(order);
  const bool is_doubtful = any_matches(own, peers, peer, channel);
  remove_wildcard(peers, own);
  if (peers.name == 0 || peer < 0) return {channel, 0};
  Channel* counted = find_or_add(key_of(channel, Side::received, peer), peers);
  if (!counted) return {channel, 0};
  // Receives that were posted after this one may have been counted before it.
  if (is_doubtful || is_later(counted->doubtful, order)) return next_doubtful(peers, peer, channel);
  counted->doubtful = order - 1;  // so that orders compared are never half of all apart
  return {channel, count(*counted)};
}

void Channels::cancel_wildcard(Peers& peers, uint32_t order) noexcept {
  Locked locked(lock_);
  remove_wildcard(peers, find_wildcard(order));
}

// --- cancelled receives --------------------------------------------------------------------------
void Channels::cancelling(perfield_place place, int32_t peer) noexcept {
  Locked locked(lock_);
  Channel* channel = place.channel ? find(key_of(place.channel, Side::received, peer)) : nullptr;
  if (!channel) return;
  ++channel->n_cancelling;
  channel->key |= kUnusual;
}

void Channels::cancelled(perfield_place place, int32_t peer, bool has_come) noexcept {
  Locked locked(lock_);
  Channel* channel = place.channel ? find(key_of(place.channel, Side::received, peer)) : nullptr;
  if (!channel || !channel->n_cancelling) return;
  if (!has_come) --channel->number;
  channel->doubtful = ++order_;
  if (--channel->n_cancelling == 0 && !library.concurrent) channel->key &= ~kUnusual;
}

// --- the end of a communicator -------------------------------------------------------------------
void Channels::forget(uint32_t name) noexcept {
  Locked locked(lock_);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    while (slots_[slot].key && slots_[slot].communicator == name) {
      uint32_t hole = slot;
      for (uint32_t next = after(hole); slots_[next].key; next = after(next)) {
        // An entry beyond the hole may move into it unless its home lies between the two.
        const uint32_t from_home = next - home(slots_[next].key & ~kUnusual);
        if (from_home % kSlots < (next - hole) % kSlots) continue;
        slots_[hole] = slots_[next];
        hole = next;
      }
      slots_[hole] = Channel{};
      --n_;
    }
  }
}

void prepare_channels() noexcept {
  perfield_source_counts_dropped(
      "messages_without_number",
      "messages were sent or received on more channels (partners, communicators and tags) than "
      "perfield can keep apart; whom they made wait is known in sums only",
      &channels.n_lost);
}

}  // namespace perfield::pmpi
