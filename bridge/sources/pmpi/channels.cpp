// SPDX-License-Identifier: BSD-3-Clause
//
// channels.cpp - see channels.hpp. The table is open addressing with linear probing; removal closes
// the hole. The wildcards are kept in the order in which they were posted.
//
// When the table is full, the pair of ranks with most channels is bundled before its time. A pair
// for which no room is left is lost: what it has not counted, it cannot make up for.
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
constexpr uint32_t kLongAgo = 1u << 30;

// What a message of that channel adds to the history of its bundle (the mixer of splitmix64).
uint64_t hash_of(uint32_t channel) noexcept {
  uint64_t hash = channel * 0x9E3779B97F4A7C15u;
  hash = (hash ^ hash >> 30) * 0xBF58476D1CE4E5B9u;
  hash = (hash ^ hash >> 27) * 0x94D049BB133111EBu;
  return hash ^ hash >> 31;
}

}  // namespace

uint32_t Channels::slot_of(uint64_t key) const noexcept {
  uint32_t slot = home(key);
  while (slots_[slot].key && (slots_[slot].key & ~kSlowPath) != key) slot = after(slot);
  return slot;
}

Channels::Channel* Channels::add(uint64_t key) noexcept {
  ++n_;
  Channel& channel = slots_[slot_of(key)];
  channel = Channel{};
  channel.key = key & ~kSlowPath;
  channel.doubtful = order_ - kLongAgo;
  return &channel;
}

void Channels::remove(uint32_t hole) noexcept {
  for (uint32_t next = after(hole); slots_[next].key; next = after(next)) {
    // An entry beyond the hole may move into it unless its home lies between the two.
    const uint32_t from_home = next - home(slots_[next].key & ~kSlowPath);
    if (from_home % kSlots < (next - hole) % kSlots) continue;
    slots_[hole] = slots_[next];
    hole = next;
  }
  slots_[hole] = Channel{};
  --n_;
}

Channels::Channel* Channels::find(uint64_t key) noexcept {
  Channel* found = &slots_[slot_of(key)];
  if (!found->key) found = &slots_[slot_of(bundle_of(key))];
  return found->key ? found : nullptr;
}

Channels::Channel* Channels::find_or_add(uint64_t key, Peers& peers) noexcept {
  uint8_t& n_channels = n_channels_[pair_of(key)];
  const bool is_window = is_of_window(key);
  if (n_channels != kBundled || is_window) {
    Channel& known = slots_[slot_of(key)];
    if (known.key) return &known;
  }
  if (n_channels == kMostChannels && !is_window) bundle(pair_of(key));
  if (n_channels == kBundled && !is_window) return find_or_add_bundle(key);
  if (n_channels == kLost || (n_ >= kMost && !make_room())) return lose(key);
  // Pending receives and persistent requests outlive their communicator. make_room() may have
  // bundled this pair.
  if (!is_window && (n_channels == kBundled || peers.is_gone)) return find_or_add_bundle(key);
  n_channels += n_channels < kMostChannels && !is_window;
  Channel* const added = add(key);
  if (library.concurrent) added->key |= kSlowPath;
  added->counted.communicator = peers.name;
  peers.has_channels.store(true, std::memory_order_relaxed);
  return added;
}

Channels::Channel* Channels::find_or_add_bundle(uint64_t key) noexcept {
  const uint64_t of_bundle = bundle_of(key);
  Channel& known = slots_[slot_of(of_bundle)];
  if (known.key) return &known;
  return n_ < kMost || make_room() ? add(of_bundle) : lose(key);
}

Channels::Channel* Channels::lose(uint64_t key) noexcept {
  n_channels_[pair_of(key)] = kLost;
  n_lost.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void Channels::retire(uint32_t slot) noexcept {
  const Channel old = slots_[slot];
  remove(slot);
  Channel& bundle = *find_or_add_bundle(old.key);  // has room
  bundle.history += old.counted.number * hash_of(uint32_t(old.key >> 32));
  bundle.n_cancelling = uint16_t(bundle.n_cancelling + old.n_cancelling);
  if (is_later(old.doubtful, bundle.doubtful)) bundle.doubtful = old.doubtful;
  if (!bundle.thread)
    bundle.thread = old.thread;
  else if (old.thread && old.thread != bundle.thread)
    bundle.thread = kSeveralThreads;
}

void Channels::bundle(uint32_t pair) noexcept {
  n_channels_[pair] = kBundled;
  for (uint32_t slot = 0; slot < kSlots; ++slot)
    while (is_of_messages(slots_[slot].key) && pair_of(slots_[slot].key) == pair) retire(slot);
}

// False if nothing frees a slot for sure.
bool Channels::make_room() noexcept {
  uint32_t fullest = 0;
  for (uint32_t pair = 0; pair < kPairs; ++pair)
    if (n_channels_[pair] <= kMostChannels && n_channels_[pair] > n_channels_[fullest])
      fullest = pair;
  if (n_channels_[fullest] > kMostChannels || n_channels_[fullest] <= kBundles) return false;
  bundle(fullest);
  return true;
}

// 0 where several threads order the messages of the channel, or where an earlier receive may still
// turn out to be cancelled.
uint32_t Channels::number_of_next(const Channel& counted) noexcept {
  if (counted.n_cancelling) return 0;
  if (library.concurrent && counted.thread && counted.thread != this_thread()) return 0;
  if (!is_bundle(counted.key)) return counted.counted.number + 1;
  return kNumberOfHistory | uint32_t(counted.history >> 33);
}

// Returns the number of the next message, and counts it.
uint32_t Channels::count(Channel& counted, uint32_t channel) noexcept {
  const uint32_t number = number_of_next(counted);
  if (is_bundle(counted.key))
    counted.history += hash_of(channel);
  else
    ++counted.counted.number;
  if (library.concurrent && counted.thread != this_thread())
    counted.thread = counted.thread ? kSeveralThreads : this_thread();
  return number;
}

uint32_t Channels::next_elsewhere(Peers& peers, uint64_t key) noexcept {
  if (peers.name == 0 || key & kSlowPath) return 0;  // a negative peer has that bit
  Locked locked(lock_);
  Channel* counted = find_or_add(key, peers);
  return counted ? count(*counted, uint32_t(key >> 32)) : 0;
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

perfield_message_id Channels::probed(Peers& peers, int32_t peer, uint32_t channel) noexcept {
  if (peers.name == 0 || peer < 0) return {channel, 0};
  Locked locked(lock_);
  if (any_matches(end_, peers, peer, channel)) return {channel, 0};
  const Channel* counted = find_or_add(key_of(channel, Side::received, peer), peers);
  return {channel, counted ? number_of_next(*counted) : 0};
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

perfield_message_id Channels::next_doubtful(Peers& peers, int32_t peer, uint32_t channel) noexcept {
  if (Channel* counted = find_or_add(key_of(channel, Side::received, peer), peers)) {
    count(*counted, channel);
    counted->doubtful = ++order_;
  }
  return {channel, 0};
}

perfield_message_id Channels::next_among_wildcards(Peers& peers, int32_t peer,
                                                   uint32_t channel) noexcept {
  if (peers.name == 0 || peer < 0) return {channel, 0};
  Locked locked(lock_);
  if (any_matches(end_, peers, peer, channel)) return next_doubtful(peers, peer, channel);
  Channel* counted = find_or_add(key_of(channel, Side::received, peer), peers);
  return {channel, counted ? count(*counted, channel) : 0};
}

perfield_message_id Channels::end_wildcard(Peers& peers, uint32_t order, int32_t peer,
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
  // So that orders that are compared are never half of all apart.
  if (!is_later(counted->doubtful, order - kLongAgo)) counted->doubtful = order - kLongAgo;
  return {channel, count(*counted, channel)};
}

void Channels::cancel_wildcard(Peers& peers, uint32_t order) noexcept {
  Locked locked(lock_);
  remove_wildcard(peers, find_wildcard(order));
}

// --- cancelled receives --------------------------------------------------------------------------
void Channels::cancelling(perfield_message_id id, int32_t peer) noexcept {
  Locked locked(lock_);
  Channel* counted = id.channel ? find(key_of(id.channel, Side::received, peer)) : nullptr;
  if (!counted) return;
  ++counted->n_cancelling;
  counted->key |= kSlowPath;
}

void Channels::cancelled(perfield_message_id id, int32_t peer, bool has_come) noexcept {
  Locked locked(lock_);
  Channel* counted = id.channel ? find(key_of(id.channel, Side::received, peer)) : nullptr;
  if (!counted || !counted->n_cancelling) return;
  if (!has_come && is_bundle(counted->key)) counted->history -= hash_of(id.channel);
  if (!has_come && !is_bundle(counted->key)) --counted->counted.number;
  counted->doubtful = ++order_;
  if (--counted->n_cancelling == 0 && !library.concurrent) counted->key &= ~kSlowPath;
}

// --- the end of a communicator -------------------------------------------------------------------
void Channels::forget(uint32_t name) noexcept {
  Locked locked(lock_);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    while (slots_[slot].key && !is_bundle(slots_[slot].key) &&
           slots_[slot].counted.communicator == name) {
      uint8_t& n_channels = n_channels_[pair_of(slots_[slot].key)];
      if (is_of_window(slots_[slot].key) || n_channels == kLost) {
        remove(slot);
      } else {
        --n_channels;
        retire(slot);
      }
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
