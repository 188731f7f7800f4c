// SPDX-License-Identifier: BSD-3-Clause
//
// peers.hpp - world ranks of the peers of a communicator, inter-communicator or window, kept as an
// attribute that is freed with it and that a duplicate shares. Ranks in line (world rank = first +
// stride * rank, as in duplicates of MPI_COMM_WORLD, and rows and columns of grids) are computed;
// others are translated by MPI when first met, and kept. The communicators that a thread used last
// need no query. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "library.hpp"
#include "recorder/source.h"

namespace perfield::pmpi {

// The neighbours of this rank in a topology, in the order of the buffers of a neighbourhood
// collective: world ranks, or kNoNeighbor beyond the edge of a grid.
inline constexpr int32_t kNoNeighbor = INT32_MIN;
struct Neighbors {
  int n_sources, n_destinations;
  int32_t ranks[];  // the sources, then the destinations
};

class Peers {
 public:
  [[gnu::always_inline]] int32_t world_rank(int rank) noexcept {
    if (__builtin_expect(static_cast<unsigned>(rank) >= static_cast<unsigned>(size), 0))
      return kPeerUnknown;
    if (stride_) return first_ + stride_ * rank;
    const std::atomic<int32_t>* known = known_.load(std::memory_order_acquire);
    const int32_t kept = known ? known[rank].load(std::memory_order_relaxed) : 0;
    return __builtin_expect(kept != 0, 1) ? kept + kPeerUnknown - 1 : translate(rank);
  }

  // Topology of the communicator; nullptr if it has none.
  const Neighbors* neighbors(MPI_Comm comm) noexcept;

  // Keeps this object alive after its communicator is freed, until let_go().
  void keep() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  void let_go() noexcept;

  int size = 0;        // of the peers' group: the remote one if there is one
  int local_size = 0;  // of this process's own group
  int me = 0;          // rank of this process in its group
  bool inter = false;

  static Peers* create(MPI_Group group) noexcept;

 private:
  int32_t translate(int rank) noexcept;
  bool is_in_line(int32_t first, int32_t stride) const noexcept;
  void find_line() noexcept;
  const Neighbors* find_neighbors(MPI_Comm comm) noexcept;

  int32_t first_ = 0, stride_ = 0;  // stride 0: not in line
  // [size], world rank - kPeerUnknown + 1, or 0: not met yet. Pages that are not touched take no
  // memory.
  std::atomic<std::atomic<int32_t>*> known_{nullptr};
  MPI_Group group_;
  std::atomic<int> users_{1};
  std::atomic<Neighbors*> neighbors_{nullptr};
};

// Call it in MPI_Init.
void prepare_peers() noexcept;

Peers* find_peers(MPI_Comm comm) noexcept;
Peers* find_window_peers(MPI_Win window) noexcept;

// A communicator or window that the thread used lately. Another one may get the same handle later,
// so `age` tells how many have been freed by then.
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

// Apart from the usual case, which so needs no room on the stack.
template <typename Handle>
[[gnu::noinline]] Peers* ask_again(Handle handle, LastPeers<Handle>& last,
                                   Peers* (*find)(Handle)) noexcept {
  const uint64_t age = library.freed_age.load(std::memory_order_acquire);
  last = {handle, find(handle), age};
  return last.peers;
}
template <typename Handle>
[[gnu::always_inline]] inline Peers* peers_of(Handle handle, LastPeers<Handle>& last,
                                              Peers* (*find)(Handle)) noexcept {
  const uint64_t age = library.freed_age.load(std::memory_order_acquire);
  const bool kept = last.handle == handle && last.age == age && last.peers;
  return __builtin_expect(kept, 1) ? last.peers : ask_again(handle, last, find);
}
[[gnu::always_inline]] inline Peers* peers_of(MPI_Comm comm) noexcept {
  return peers_of(comm, last_comms[(uint64_t)comm * 0x9E3779B97F4A7C15u >> 62], find_peers);
}

// World rank of `rank`, which a call gives relative to that communicator or window. (Two names,
// because in some MPIs both handles are integers.)
[[gnu::always_inline]] inline int32_t world_rank(MPI_Comm comm, int rank) noexcept {
  Peers* peers = peers_of(comm);
  return peers ? peers->world_rank(rank) : kPeerUnknown;
}
inline int32_t world_rank_in_window(MPI_Win window, int rank) noexcept {
  Peers* peers = peers_of(window, last_window, find_window_peers);
  return peers ? peers->world_rank(rank) : kPeerUnknown;
}

}  // namespace perfield::pmpi
