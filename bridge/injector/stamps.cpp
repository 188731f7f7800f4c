// SPDX-License-Identifier: BSD-3-Clause
//
// stamps.cpp - see stamps.hpp. A ring is a file of its own in /dev/shm, made by whichever side
// needs it first. The sender never waits: it writes over the oldest stamps. The receiver copies
// what is new into memory of its own whenever it looks, and notices if it came too late.
#include "stamps.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "injection.hpp"
#include "lock.hpp"

namespace perfield::injector {

using pmpi::Locked;

namespace {

constexpr uint64_t kRoom = 1024;         // stamps in a ring
constexpr uint32_t kMostKept = 1 << 20;  // messages on their way from one rank
constexpr auto kRelaxed = std::memory_order_relaxed;

char no_ring;  // marks a pair without a ring, so that it is tried once

void path_of_ring(char* path, size_t room, const char* run, int from, int to) noexcept {
  snprintf(path, room, "/dev/shm/perfield-inject-%s-%d-%d", run, from, to);
}

// Whether only this user can write into the file, or make it shorter: a write behind the end of a
// mapped file would end the program. Anyone may have made a file of that name before.
bool is_ours(int file, uint64_t most_bytes) noexcept {
  struct stat facts;
  return fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid() &&
         (facts.st_mode & 0077) == 0 && facts.st_nlink == 1 &&
         uint64_t(facts.st_size) <= most_bytes;
}

}  // namespace

struct Stamps::Ring {
  struct Slot {
    std::atomic<uint64_t> sent_ns, communicator_tag, bytes;
  };
  std::atomic<uint64_t> n_left;
  char apart[56];
  Slot slots[kRoom];
};

// What the receiver knows of one sender.
struct Stamps::Incoming {
  Ring* ring;
  uint64_t n_seen;
  Stamp* kept;  // [first, end) of `room`; those with communicator 0 are taken
  uint32_t first, end, room;
  bool out_of_step;
};

bool Stamps::prepare(const char* run, int rank, int n_ranks) noexcept {
  snprintf(run_, sizeof run_, "%s", run);
  me_ = rank;
  n_ = n_ranks;
  out_ = static_cast<Ring**>(calloc(static_cast<size_t>(n_ranks), sizeof *out_));
  in_ = static_cast<Incoming**>(calloc(static_cast<size_t>(n_ranks), sizeof *in_));
  return out_ && in_;
}

Stamps::Ring* Stamps::open_ring(int from, int to) noexcept {
  char path[96];
  path_of_ring(path, sizeof path, run_, from, to);
  const int file =
      open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  if (file < 0) return nullptr;
  if (!is_ours(file, sizeof(Ring))) {
    close(file);
    return nullptr;
  }
  // Takes the memory now: a full /dev/shm would end the program at the first write instead.
  int failure = EINTR;  // by a signal, as a profiler's timer sends them
  while (failure == EINTR) failure = posix_fallocate(file, 0, sizeof(Ring));
  void* place = failure == 0
                    ? mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                    : MAP_FAILED;
  close(file);
  return place == MAP_FAILED ? nullptr : static_cast<Ring*>(place);
}

Stamps::Ring* Stamps::outgoing(int32_t peer) noexcept {
  if (peer < 0 || peer >= n_ || !out_) return nullptr;
  Ring*& ring = out_[peer];
  if (!ring) ring = open_ring(me_, peer);
  if (!ring) ring = reinterpret_cast<Ring*>(&no_ring);
  return ring == reinterpret_cast<Ring*>(&no_ring) ? nullptr : ring;
}

Stamps::Incoming* Stamps::incoming(int32_t peer) noexcept {
  if (peer < 0 || peer >= n_ || !in_) return nullptr;
  Incoming*& from = in_[peer];
  if (!from) {
    from = static_cast<Incoming*>(calloc(1, sizeof *from));
    if (from) from->ring = open_ring(peer, me_);
  }
  return from && from->ring ? from : nullptr;
}

void Stamps::leave(int32_t peer, uint32_t communicator, int32_t tag, uint64_t bytes) noexcept {
  Locked locked(sending_);
  Ring* ring = outgoing(peer);
  if (!ring) return;
  const uint64_t n = ring->n_left.load(kRelaxed);
  // A receiver that reads some of what follows also sees n: that this place is written over.
  std::atomic_thread_fence(std::memory_order_release);
  Ring::Slot& slot = ring->slots[n % kRoom];
  slot.communicator_tag.store(uint64_t{communicator} << 32 | static_cast<uint32_t>(tag), kRelaxed);
  slot.bytes.store(static_cast<uint32_t>(bytes), kRelaxed);
  slot.sent_ns.store(now_ns(), kRelaxed);
  ring->n_left.store(n + 1, std::memory_order_release);
}

// Room for one more; false without memory, or if a message was never received.
bool Stamps::make_room(Incoming& from) noexcept {
  if (from.end < from.room) return true;
  const uint32_t n = from.end - from.first;
  if (from.first > from.room / 2) {
    memmove(from.kept, from.kept + from.first, n * sizeof(Stamp));
    from.first = 0;
    from.end = n;
    return true;
  }
  const uint32_t room = from.room ? 2 * from.room : 256;
  auto* more =
      room > kMostKept ? nullptr : static_cast<Stamp*>(realloc(from.kept, room * sizeof(Stamp)));
  if (!more) return false;
  from.kept = more;
  from.room = room;
  return true;
}

void Stamps::drain(Incoming& from) noexcept {
  const std::atomic<uint64_t>& n_left = from.ring->n_left;
  while (from.n_seen < n_left.load(std::memory_order_acquire)) {
    from.out_of_step = !make_room(from);
    if (from.out_of_step) return;
    const Ring::Slot& slot = from.ring->slots[from.n_seen % kRoom];
    const uint64_t key = slot.communicator_tag.load(kRelaxed);
    from.kept[from.end] = {slot.sent_ns.load(kRelaxed), from.n_seen,
                           static_cast<uint32_t>(key >> 32), static_cast<int32_t>(key),
                           static_cast<uint32_t>(slot.bytes.load(kRelaxed))};
    // The sender may be writing stamp n_left, over the one a ring before.
    std::atomic_thread_fence(std::memory_order_acquire);
    from.out_of_step = n_left.load(kRelaxed) - from.n_seen >= kRoom;
    if (from.out_of_step) return;
    ++from.n_seen;
    ++from.end;
  }
}

Stamp* Stamps::find(Incoming& from, uint32_t communicator, int32_t tag) noexcept {
  for (int pass = 0; pass < 2; ++pass) {
    for (uint32_t i = from.first; i < from.end; ++i)
      if (from.kept[i].communicator == communicator && from.kept[i].tag == tag)
        return &from.kept[i];
    if (pass == 0) drain(from);
  }
  return nullptr;
}

Stamps::Found Stamps::look(int32_t peer, uint32_t communicator, int32_t tag,
                           Stamp* stamp) noexcept {
  Locked locked(receiving_);
  Incoming* from = incoming(peer);
  if (!from) return Found::none;
  const Stamp* found = from->out_of_step ? nullptr : find(*from, communicator, tag);
  if (from->out_of_step) return Found::out_of_step;
  if (!found) return Found::none;
  *stamp = *found;
  return Found::yes;
}

Stamps::Found Stamps::take(int32_t peer, uint32_t communicator, int32_t tag, uint64_t bytes,
                           Stamp* stamp) noexcept {
  Locked locked(receiving_);
  Incoming* from = incoming(peer);
  if (!from) return Found::none;
  Stamp* found = from->out_of_step ? nullptr : find(*from, communicator, tag);
  if (from->out_of_step) return Found::out_of_step;
  if (!found) return Found::none;
  if (bytes != kAnyBytes && static_cast<uint32_t>(bytes) != found->bytes) {
    from->out_of_step = true;
    return Found::out_of_step;
  }
  *stamp = *found;
  found->communicator = 0;
  while (from->first < from->end && from->kept[from->first].communicator == 0) ++from->first;
  if (from->first == from->end) from->first = from->end = 0;
  return Found::yes;
}

void Stamps::give_up(int32_t peer) noexcept {
  Locked locked(receiving_);
  if (Incoming* from = incoming(peer)) from->out_of_step = true;
}

void Stamps::remove() noexcept {
  char path[96];
  const auto remove_ring = [&](int from, int to) {
    path_of_ring(path, sizeof path, run_, from, to);
    unlink(path);
  };
  for (int32_t peer = 0; peer < n_; ++peer) {
    if (out_ && out_[peer] && out_[peer] != reinterpret_cast<Ring*>(&no_ring))
      remove_ring(me_, peer);
    if (in_ && in_[peer] && in_[peer]->ring) remove_ring(peer, me_);
  }
}

}  // namespace perfield::injector
