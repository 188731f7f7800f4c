// SPDX-License-Identifier: BSD-3-Clause
//
// names.cpp - see names.hpp.
#include "names.hpp"

#include <pthread.h>

#include <algorithm>

#include "channels.hpp"
#include "recorder/source.h"

namespace perfield::pmpi {
namespace {

constexpr int kSampled = 32;           // ranks of a group that are not in line
constexpr uint32_t kGroups = 1024;     // with names, a power of two
constexpr uint32_t kDescribed = 4096;  // communicators: programs may make one in each step
constexpr int kMostDims = 16;          // of a grid that is described as one

pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER;
struct Named {
  uint64_t ranks;  // 0: unused
  uint32_t n_made;
} groups[kGroups];
uint32_t n_groups = 0, n_described = 0;

class Locked {
 public:
  Locked() { pthread_mutex_lock(&naming); }
  ~Locked() { pthread_mutex_unlock(&naming); }
};

uint64_t mixed(uint64_t hash, uint64_t next) noexcept {
  hash = (hash ^ next) * 0x9E3779B97F4A7C15u;
  return (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
}

// Which ranks these are. All of them, where they are in line or few; a sample of others, since MPIs
// search a group for each rank; so large groups that share the sample may get one name. 0: a rank
// of another world is among them.
uint64_t hash_of_ranks(const Peers& peers) noexcept {
  uint64_t hash = mixed(1, uint64_t(peers.size));
  if (peers.in_line()) {
    hash = mixed(mixed(hash, uint64_t(peers.first())), uint64_t(peers.stride()));
  } else {
    int ranks[kSampled], of_world[kSampled];
    const int n = std::min(peers.size, kSampled);
    for (int i = 0; i < n; ++i) ranks[i] = int(int64_t(i) * peers.size / n);
    if (n == 0 || !peers.world_ranks(n, ranks, of_world)) return 0;
    for (int i = 0; i < n; ++i) hash = mixed(hash, uint64_t(of_world[i]));
  }
  return hash ? hash : 1;
}

// Both groups of an intercommunicator, which its two sides see the other way round.
uint64_t hash_of_groups(MPI_Comm comm, const Peers& remote) noexcept {
  MPI_Group group;
  if (library.Comm_group(comm, &group) != MPI_SUCCESS) return 0;
  Peers* local = Peers::create(group);
  if (!local) return 0;
  const uint64_t one = hash_of_ranks(*local), other = hash_of_ranks(remote);
  local->let_go();
  return one && other ? mixed(mixed(2, std::min(one, other)), std::max(one, other)) | 1 : 0;
}

// How many communicators of these ranks have been made, this one included; 0: not known.
uint32_t ordinal(uint64_t ranks) noexcept {
  uint32_t slot = uint32_t(ranks >> 32) % kGroups;
  while (groups[slot].ranks && groups[slot].ranks != ranks) slot = (slot + 1) % kGroups;
  if (!groups[slot].ranks) {
    if (n_groups >= kGroups / 8 * 7) return 0;
    groups[slot].ranks = ranks;
    ++n_groups;
  }
  return ++groups[slot].n_made;
}

void describe_now(MPI_Comm comm, const Peers& peers, bool is_used) noexcept {
  {
    Locked locked;
    if (n_described >= kDescribed) return;
    ++n_described;
  }
  const auto get_name =
      reinterpret_cast<decltype(&::MPI_Comm_get_name)>(function_of_mpi("PMPI_Comm_get_name"));
  char label[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  if (!get_name || get_name(comm, label, &length) != MPI_SUCCESS) label[0] = '\0';
  perfield_communicator described{};
  described.name = peers.name;
  described.size = peers.inter ? peers.size + peers.local_size : peers.size;
  described.my_rank = peers.me;
  described.label = label;
  described.is_used = is_used;
  int topology = MPI_UNDEFINED, dims[kMostDims], periodic[kMostDims], coordinates[kMostDims];
  library.Topo_test(comm, &topology);
  if (topology == MPI_CART && library.Cartdim_get(comm, &described.n_dims) == MPI_SUCCESS) {
    if (described.n_dims > kMostDims ||
        library.Cart_get(comm, described.n_dims, dims, periodic, coordinates) != MPI_SUCCESS)
      described.n_dims = 0;
    described.dims = dims;
    described.periodic = periodic;
  }
  perfield_source_communicator(&described);
}

void describe(MPI_Comm comm, Peers& peers) noexcept {
  if (!peers.met.exchange(true) && peers.name != kNoName) describe_now(comm, peers, true);
}

void forget(Peers& peers) noexcept {
  peers.is_gone.store(true, std::memory_order_relaxed);
  if (peers.has_channels.load(std::memory_order_relaxed)) channels.forget(peers.name);
}

}  // namespace

void prepare_names() noexcept {
  if (Peers* world = find_new_peers(library.comm_world)) world->name = kNameOfWorld;
  if (Peers* self = find_new_peers(library.comm_self)) self->name = kNameOfSelf;
  on_first_use = describe;
  on_end = forget;
}

void name_new(MPI_Comm comm, Peers* peers) noexcept {
  if (!peers || peers->name != kNoName) return;
  const uint64_t ranks = peers->inter ? hash_of_groups(comm, *peers) : hash_of_ranks(*peers);
  if (!ranks) return;
  Locked locked;
  const uint32_t n = ordinal(ranks);
  if (!n) return;
  const uint32_t name = uint32_t(mixed(ranks, n) >> 32);
  peers->name = name ? name : 1;
}

void describe_grid(MPI_Comm comm, const Peers* peers) noexcept {
  if (peers && peers->name != kNoName) describe_now(comm, *peers, false);
}

uint32_t name_of_window(uint32_t communicator, uint32_t nth) noexcept {
  if (communicator == kNoName) return kNoName;
  const auto hash = uint32_t(mixed(mixed(3, communicator), nth) >> 32) & ~3u;
  return (hash ? hash : 4) | 2;
}

}  // namespace perfield::pmpi
