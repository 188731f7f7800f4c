// SPDX-License-Identifier: BSD-3-Clause
//
// peers.hpp - world ranks of the peers of a communicator, inter-communicator or window. It
// translates each rank when first met, and keeps it in a small table, an attribute of the
// communicator that is freed with it. The last communicator's table needs no query. Any thread.
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
  int32_t world_rank(int rank) noexcept {
    if (rank < 0 || rank >= size) return kPeerUnknown;
    if (is_world) return rank;
    std::atomic<uint64_t>& slot = slots_[rank % kSlots];
    const uint64_t kept = slot.load(std::memory_order_relaxed);
    return kept >> 32 == static_cast<uint64_t>(rank) + 1 ? static_cast<int32_t>(kept)
                                                         : translate(rank, slot);
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
  bool is_world = false;  // the same ranks as in MPI_COMM_WORLD

  static Peers* create(MPI_Group group) noexcept;

 private:
  static constexpr int kSlots = 256;
  int32_t translate(int rank, std::atomic<uint64_t>& slot) noexcept;
  const Neighbors* find_neighbors(MPI_Comm comm) noexcept;

  MPI_Group group_;
  std::atomic<int> users_{1};
  std::atomic<Neighbors*> neighbors_{nullptr};
  std::atomic<uint64_t> slots_[kSlots] = {};  // rank + 1 in the upper half, world rank below
};

// Call it in MPI_Init.
void prepare_peers() noexcept;

Peers* find_peers(MPI_Comm comm) noexcept;
Peers* find_window_peers(MPI_Win window) noexcept;

// The communicator or window that the thread used last. Another one may get the same handle later,
// so `age` counts how many have been freed.
template <typename Handle>
struct LastPeers {
  Handle handle;
  Peers* peers;
  uint64_t age;
};
extern std::atomic<uint64_t> freed_age;
extern __thread LastPeers<MPI_Comm> last_comm __attribute__((tls_model("initial-exec")));
extern __thread LastPeers<MPI_Win> last_window __attribute__((tls_model("initial-exec")));

template <typename Handle>
inline Peers* peers_of(Handle handle, LastPeers<Handle>& last, Peers* (*find)(Handle)) noexcept {
  const uint64_t age = freed_age.load(std::memory_order_acquire);
  if (__builtin_expect(last.handle != handle || last.age != age || !last.peers, 0))
    last = {handle, find(handle), age};
  return last.peers;
}
inline Peers* peers_of(MPI_Comm comm) noexcept { return peers_of(comm, last_comm, find_peers); }

// World rank of `rank`, which a call gives relative to that communicator or window. (Two names,
// because in some MPIs both handles are integers.)
inline int32_t world_rank(MPI_Comm comm, int rank) noexcept {
  Peers* peers = peers_of(comm);
  return peers ? peers->world_rank(rank) : kPeerUnknown;
}
inline int32_t world_rank_in_window(MPI_Win window, int rank) noexcept {
  Peers* peers = peers_of(window, last_window, find_window_peers);
  return peers ? peers->world_rank(rank) : kPeerUnknown;
}

}  // namespace perfield::pmpi
