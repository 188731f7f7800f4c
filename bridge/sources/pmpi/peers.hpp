// SPDX-License-Identifier: BSD-3-Clause
//
// peers.hpp - world ranks of the peers of a communicator, inter-communicator or window, kept as an
// attribute that is freed with it. Ranks in line (world rank = first + stride * rank, as in
// duplicates of MPI_COMM_WORLD, and rows and columns of grids) are computed; others are translated
// by MPI when first met, and kept; a duplicate shares them. The communicators that a thread used
// last need no query. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "epochs.hpp"
#include "library.hpp"
#include "recorder/source.h"

namespace perfield::pmpi {

// The neighbours of this rank in a topology, in the order of the buffers of a neighbourhood
// collective: world ranks, or kNoNeighbor beyond the edge of a grid.
inline constexpr int32_t kNoNeighbor = INT32_MIN;
struct Neighbors {
  // How often the rank is among the sources (destinations), and the how manieth this one is, from
  // 1. times 0: not known, as there are too many.
  struct Repeats {
    uint32_t times, nth;
  };
  int n_sources, n_destinations;
  int32_t ranks[];  // the sources, then the destinations; behind them come their repeats
  const Repeats* repeats() const noexcept {
    return reinterpret_cast<const Repeats*>(ranks + n_sources + n_destinations);
  }
};

// What a communicator and its duplicates share.
struct Members {
  MPI_Group group;
  // [size], world rank - kPeerUnknown + 1, or 0: not met yet. Pages that are not touched take no
  // memory.
  std::atomic<std::atomic<int32_t>*> known{nullptr};
  std::atomic<Neighbors*> neighbors{nullptr};
  std::atomic<int> users{1};
};

class Peers {
 public:
  [[gnu::always_inline]] int32_t world_rank(int rank) noexcept {
    if (__builtin_expect(static_cast<unsigned>(rank) >= static_cast<unsigned>(size), 0))
      return kPeerUnknown;
    if (stride_) return first_ + stride_ * rank;
    const std::atomic<int32_t>* known = members_->known.load(std::memory_order_acquire);
    const int32_t kept = known ? known[rank].load(std::memory_order_relaxed) : 0;
    return __builtin_expect(kept != 0, 1) ? kept + kPeerUnknown - 1 : translate(rank);
  }

  // Topology of the communicator; nullptr if it has none.
  const Neighbors* neighbors(MPI_Comm comm) noexcept;

  // Keeps this object alive after its communicator is freed, until let_go().
  void keep() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  void let_go() noexcept;

  uint32_t name = 0;  // of the communicator or window: see names.hpp
  // Receives from any source or with any tag that are posted on it, and not completed.
  std::atomic<uint32_t> n_wildcards{0};
  int size = 0;        // of the peers' group: the remote one if there is one
  int local_size = 0;  // of this process's own group
  int me = 0;          // rank of this process in its group
  bool inter = false;
  std::atomic<bool> met{false};                               // on_first_use has been called
  std::atomic<bool> has_channels{false};                      // see channels.hpp
  std::atomic<bool> is_gone{false};                           // the program has freed it
  std::atomic<uint32_t> n_collectives{0}, n_neighborhood{0};  // operations so far
  std::atomic<uint32_t> n_windows{0};                         // made on the communicator so far
  // Of a window: the communicator on which it was made, kept; and the epochs as origin and target.
  Peers* made_on = nullptr;
  Epoch *access = nullptr, *exposure = nullptr;

  static Peers* create(MPI_Group group) noexcept;
  // Those of a duplicate, still without a name. nullptr without memory.
  Peers* duplicate() noexcept;
  // The world ranks of these ranks; false if one of them belongs to another world.
  bool world_ranks(int n, const int* ranks, int32_t* found) const noexcept;
  // Whether they are all ranks of the world.
  bool is_of_world() const noexcept;
  // Whether world rank = first + stride * rank.
  bool in_line() const noexcept { return stride_ != 0; }
  int32_t first() const noexcept { return first_; }
  int32_t stride() const noexcept { return stride_; }

 private:
  int32_t translate(int rank) noexcept;
  bool is_in_line(int32_t first, int32_t stride) const noexcept;
  void find_line() noexcept;
  const Neighbors* find_neighbors(MPI_Comm comm) noexcept;

  int32_t first_ = 0, stride_ = 0;  // stride 0: not in line
  std::atomic<int> users_{1};
  Members* members_ = nullptr;
};

// Call it in MPI_Init.
void prepare_peers() noexcept;

// The world ranks of these ranks of a group, kPeerOutside for those of another world; false if MPI
// does not say.
bool world_ranks(MPI_Group group, int n, const int* ranks, int32_t* found) noexcept;

// Called once for each communicator that the program uses; nullptr: nobody asks.
extern void (*on_first_use)(MPI_Comm comm, Peers& peers) __attribute__((visibility("hidden")));
// Called for each communicator or window that goes; nullptr: nobody asks.
extern void (*on_end)(Peers& peers) __attribute__((visibility("hidden")));

Peers* find_peers(MPI_Comm comm) noexcept;
// The same for a communicator that has just been made, which counts as no use.
Peers* find_new_peers(MPI_Comm comm) noexcept;
// The same, whatever has been copied to it.
Peers* renew_peers(MPI_Comm comm) noexcept;
// Those that the last copy of a communicator on this thread has made; nullptr if none has since
// forget_copied().
Peers* last_copied() noexcept;
void forget_copied() noexcept;
Peers* find_window_peers(MPI_Win window) noexcept;

// A communicator or window that the thread used lately. Another one may get the same handle later,
// so `age` is how many have been freed by then.
template <typename Handle>
struct LastPeers {
  Handle handle;
  Peers* peers;
  uint64_t age;
};
inline constexpr int kLastComms = 4;
extern __thread LastPeers<MPI_Comm> last_comms[kLastComms]
    __attribute__((tls_model("initial-exec")));
extern __thread LastPeers<MPI_Win> last_window __attribute__((tls_model("initial-exec")));

inline LastPeers<MPI_Comm>& last_of_comm(MPI_Comm comm) noexcept {
  return last_comms[(uint64_t)comm * 0x9E3779B97F4A7C15u >> 62];
}
inline LastPeers<MPI_Win>& last_of_window(MPI_Win) noexcept { return last_window; }

template <typename Handle>
using Find = Peers* (*)(Handle) noexcept;
template <typename Handle>
using Last = LastPeers<Handle>& (*)(Handle) noexcept;
// Apart from the fast path, which so needs no room on the stack.
template <typename Handle, Last<Handle> last_of, Find<Handle> find>
[[gnu::noinline]] Peers* ask_again(Handle handle) noexcept {
  const uint64_t age = library.freed_age.load(std::memory_order_acquire);
  Peers* peers = find(handle);
  last_of(handle) = {handle, peers, age};
  return peers;
}
template <typename Handle, Last<Handle> last_of, Find<Handle> find>
[[gnu::always_inline]] inline Peers* peers_of(Handle handle) noexcept {
  const uint64_t age = library.freed_age.load(std::memory_order_acquire);
  const LastPeers<Handle>& last = last_of(handle);
  const bool kept = last.handle == handle && last.age == age && last.peers;
  return __builtin_expect(kept, 1) ? last.peers : ask_again<Handle, last_of, find>(handle);
}
[[gnu::always_inline]] inline Peers* peers_of(MPI_Comm comm) noexcept {
  return peers_of<MPI_Comm, last_of_comm, find_peers>(comm);
}
[[gnu::always_inline]] inline Peers* peers_of_window(MPI_Win window) noexcept {
  return peers_of<MPI_Win, last_of_window, find_window_peers>(window);
}

// World rank of `rank`, which a call gives relative to that communicator.
[[gnu::always_inline]] inline int32_t world_rank(MPI_Comm comm, int rank) noexcept {
  Peers* peers = peers_of(comm);
  return peers ? peers->world_rank(rank) : kPeerUnknown;
}

}  // namespace perfield::pmpi
