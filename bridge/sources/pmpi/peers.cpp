// SPDX-License-Identifier: BSD-3-Clause
//
// peers.cpp - creates and frees the tables of peers; see peers.hpp. Creating one queries the MPI
// for groups and attributes, once per communicator and under a lock.
#include "peers.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace perfield::pmpi {

__thread LastPeers<MPI_Comm> last_comms[kLastComms];
__thread LastPeers<MPI_Win> last_window;
void (*on_first_use)(MPI_Comm, Peers&) = nullptr;
void (*on_end)(Peers&) = nullptr;

namespace {

// MPIs search a group from its begin, and so comparing or translating whole groups costs their size
// squared. In groups of so many ranks at a time it costs their size.
constexpr int kBlock = 16;

pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
MPI_Group world_group;
int world_size = 0;
Peers* world = nullptr;
__thread Peers* copied_last __attribute__((tls_model("initial-exec"))) = nullptr;
int comm_key = MPI_KEYVAL_INVALID, window_key = MPI_KEYVAL_INVALID;

class Locked {
 public:
  Locked() { pthread_mutex_lock(&making); }
  ~Locked() { pthread_mutex_unlock(&making); }
};

void drop(void* peers) {
  if (!library.started || !peers) return;  // in MPI_Finalize: the groups vanish anyway
  library.freed_age.fetch_add(1, std::memory_order_release);
  if (on_end) on_end(*static_cast<Peers*>(peers));
  static_cast<Peers*>(peers)->let_go();
}

// A duplicate has the same ranks, and the same topology, but it is another communicator.
int copy_comm(MPI_Comm, int, void*, void* peers, void* copied, int* flag) {
  copied_last = library.started && peers ? static_cast<Peers*>(peers)->duplicate() : nullptr;
  *flag = copied_last != nullptr;
  if (*flag) *static_cast<void**>(copied) = copied_last;
  return MPI_SUCCESS;
}
int copy_no_window(MPI_Win, int, void*, void*, void*, int* flag) { return *flag = 0, MPI_SUCCESS; }
int drop_comm(MPI_Comm, int, void* peers, void*) { return drop(peers), MPI_SUCCESS; }
int drop_window(MPI_Win, int, void* peers, void*) { return drop(peers), MPI_SUCCESS; }

// A grid of two ranks that closes on itself has the same neighbour on both sides.
void note_repeats(const int32_t* ranks, int n, Neighbors::Repeats* repeats) {
  constexpr int kMost = 1024;  // takes n * n looks
  for (int i = 0; i < n; ++i) {
    repeats[i] = {0, 0};
    for (int k = 0; k < n && n <= kMost; ++k) {
      if (ranks[k] != ranks[i]) continue;
      ++repeats[i].times;
      if (k <= i) ++repeats[i].nth;
    }
  }
}

Peers* make_for_comm(MPI_Comm comm) {
  MPI_Group group;
  int inter = 0;
  library.Comm_test_inter(comm, &inter);
  if ((inter ? library.Comm_remote_group : library.Comm_group)(comm, &group) != MPI_SUCCESS)
    return nullptr;
  Peers* peers = Peers::create(group);
  if (!peers) return nullptr;
  peers->inter = inter;
  library.Comm_size(comm, &peers->local_size);
  library.Comm_rank(comm, &peers->me);
  return peers;
}

Peers* make_for_window(MPI_Win window) {
  MPI_Group group;
  if (library.Win_get_group(window, &group) != MPI_SUCCESS) return nullptr;
  return Peers::create(group);
}

template <typename Handle, typename Get, typename Set>
Peers* find(Handle handle, int key, Get get, Set set, Peers* (*make)(Handle)) {
  Locked locked;
  Peers* peers = nullptr;
  int found = 0;
  if (key == MPI_KEYVAL_INVALID) return nullptr;
  if (get(handle, key, &peers, &found) == MPI_SUCCESS && found) return peers;
  peers = make(handle);
  if (peers && set(handle, key, peers) != MPI_SUCCESS) {
    peers->let_go();
    return nullptr;
  }
  return peers;
}

}  // namespace

Peers* Peers::create(MPI_Group group) noexcept {
  void* memory = malloc(sizeof(Peers));  // new would bring in the C++ library
  void* shared = malloc(sizeof(Members));
  if (!memory || !shared) {
    library.Group_free(&group);
    free(memory);
    free(shared);
    return nullptr;
  }
  Peers* peers = new (memory) Peers;
  peers->members_ = new (shared) Members{group};
  library.Group_size(group, &peers->size);
  peers->local_size = peers->size;
  peers->find_line();
  return peers;
}

bool Peers::is_of_world() const noexcept { return !inter && size == world_size; }

Peers* Peers::duplicate() noexcept {
  void* memory = malloc(sizeof(Peers));
  if (!memory) return nullptr;
  Peers* peers = new (memory) Peers;
  peers->members_ = members_;
  members_->users.fetch_add(1, std::memory_order_relaxed);
  peers->size = size;
  peers->local_size = local_size;
  peers->me = me;
  peers->inter = inter;
  peers->first_ = first_;
  peers->stride_ = stride_;
  return peers;
}

bool world_ranks(MPI_Group group, int n, const int* ranks, int32_t* found) noexcept {
  if (library.Group_translate_ranks(group, n, ranks, world_group, found) != MPI_SUCCESS)
    return false;
  std::replace(found, found + n, int32_t{MPI_UNDEFINED}, kPeerOutside);
  return true;
}

bool Peers::world_ranks(int n, const int* ranks, int32_t* found) const noexcept {
  return pmpi::world_ranks(members_->group, n, ranks, found) &&
         std::find(found, found + n, kPeerOutside) == found + n;
}

// Whether the ranks of the group are these of MPI_COMM_WORLD. Another process is noticed at once.
bool Peers::is_in_line(int32_t first, int32_t stride) const noexcept {
  const int64_t last = first + int64_t(stride) * (size - 1);
  if (last < 0 || last >= world_size) return false;
  for (int begin = 0; begin < size; begin += kBlock) {
    const int n = std::min(kBlock, size - begin);
    int ranks[kBlock], of_world[kBlock], found[kBlock];
    for (int i = 0; i < n; ++i) {
      ranks[i] = begin + i;
      of_world[i] = first + stride * (begin + i);
    }
    MPI_Group block;
    if (library.Group_incl(world_group, n, of_world, &block) != MPI_SUCCESS) return false;
    bool alike =
        library.Group_translate_ranks(members_->group, n, ranks, block, found) == MPI_SUCCESS;
    for (int i = 0; i < n && alike; ++i) alike = found[i] == i;
    library.Group_free(&block);
    if (!alike) return false;
  }
  return true;
}

void Peers::find_line() noexcept {
  if (size <= 0) return;
  int32_t ends[2] = {0, 1};  // world ranks of the first two
  const int own[2] = {0, 1}, n = std::min(size, 2);
  // In Open MPI, a duplicate has the very same group.
  if (members_->group != world_group &&
      library.Group_translate_ranks(members_->group, n, own, world_group, ends) != MPI_SUCCESS)
    return;
  if (ends[0] == MPI_UNDEFINED || ends[n - 1] == MPI_UNDEFINED) return;
  const int32_t stride = n == 2 ? ends[1] - ends[0] : 1;
  if (members_->group != world_group && !is_in_line(ends[0], stride)) return;
  first_ = ends[0];
  stride_ = stride;
}

void Peers::let_go() noexcept {
  if (users_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (made_on) made_on->let_go();
  free(access);
  free(exposure);
  if (members_->users.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    library.Group_free(&members_->group);
    free(members_->neighbors.load());
    free(members_->known.load());
    free(members_);
  }
  free(this);
}

// Takes time, and memory at a communicator's first use only.
int32_t Peers::translate(int rank) noexcept {
  int translated = MPI_UNDEFINED;
  if (library.Group_translate_ranks(members_->group, 1, &rank, world_group, &translated) !=
      MPI_SUCCESS)
    return kPeerUnknown;
  const int32_t found = translated == MPI_UNDEFINED ? kPeerOutside : translated;
  std::atomic<int32_t>* known = members_->known.load(std::memory_order_acquire);
  if (!known) {
    auto* made = static_cast<std::atomic<int32_t>*>(calloc(size, sizeof(std::atomic<int32_t>)));
    if (!made) return found;
    if (members_->known.compare_exchange_strong(known, made, std::memory_order_acq_rel))
      known = made;
    else
      free(made);  // another thread has been faster
  }
  known[rank].store(found - kPeerUnknown + 1, std::memory_order_relaxed);
  return found;
}

const Neighbors* Peers::neighbors(MPI_Comm comm) noexcept {
  if (const Neighbors* kept = members_->neighbors.load(std::memory_order_acquire)) return kept;
  return find_neighbors(comm);
}

const Neighbors* Peers::find_neighbors(MPI_Comm comm) noexcept {
  Locked locked;
  if (const Neighbors* kept = members_->neighbors.load()) return kept;
  int topology = MPI_UNDEFINED, n_sources = 0, n_destinations = 0, dimensions = 0, weighted = 0;
  library.Topo_test(comm, &topology);
  if (topology == MPI_CART) {
    library.Cartdim_get(comm, &dimensions);
    n_sources = n_destinations = 2 * dimensions;
  } else if (topology == MPI_GRAPH) {
    library.Graph_neighbors_count(comm, me, &n_sources);
    n_destinations = n_sources;
  } else if (topology == MPI_DIST_GRAPH) {
    library.Dist_graph_neighbors_count(comm, &n_sources, &n_destinations, &weighted);
  } else {
    return nullptr;
  }
  const size_t n = static_cast<size_t>(n_sources) + n_destinations;
  auto* made = static_cast<Neighbors*>(malloc(sizeof(Neighbors) + 3 * n * sizeof(int32_t)));
  if (!made) return nullptr;
  made->n_sources = n_sources;
  made->n_destinations = n_destinations;
  int32_t* sources = made->ranks;
  int32_t* destinations = made->ranks + n_sources;
  if (topology == MPI_CART) {
    for (int d = 0; d < dimensions; ++d)
      library.Cart_shift(comm, d, 1, &sources[2 * d], &sources[2 * d + 1]);
  } else if (topology == MPI_GRAPH) {
    library.Graph_neighbors(comm, me, n_sources, sources);
  } else {
    int32_t* weights = made->ranks + n;  // unused, but MPI writes them
    library.Dist_graph_neighbors(comm, n_sources, sources, weights, n_destinations, destinations,
                                 weights + n_sources);
  }
  if (topology != MPI_DIST_GRAPH)
    for (int i = 0; i < n_sources; ++i) destinations[i] = sources[i];
  for (size_t i = 0; i < n; ++i)
    made->ranks[i] = made->ranks[i] == MPI_PROC_NULL ? kNoNeighbor : world_rank(made->ranks[i]);
  auto* repeats = reinterpret_cast<Neighbors::Repeats*>(made->ranks + n);
  note_repeats(sources, n_sources, repeats);
  note_repeats(destinations, n_destinations, repeats + n_sources);
  members_->neighbors.store(made, std::memory_order_release);
  return made;
}

void prepare_peers() noexcept {
  library.Comm_group(library.comm_world, &world_group);
  library.Group_size(world_group, &world_size);
  library.Comm_create_keyval(copy_comm, drop_comm, &comm_key, nullptr);
  library.Win_create_keyval(copy_no_window, drop_window, &window_key, nullptr);
  world = make_for_comm(library.comm_world);
  // So that its duplicates share it.
  if (world && library.Comm_set_attr(library.comm_world, comm_key, world) == MPI_SUCCESS)
    world->keep();
}

Peers* find_new_peers(MPI_Comm comm) noexcept {
  if (comm == library.comm_world) return world;
  if (!comm || comm == library.comm_null) return nullptr;
  return find(comm, comm_key, library.Comm_get_attr, library.Comm_set_attr, make_for_comm);
}

Peers* renew_peers(MPI_Comm comm) noexcept {
  copied_last = nullptr;
  Peers* peers = make_for_comm(comm);
  if (!peers || library.Comm_set_attr(comm, comm_key, peers) == MPI_SUCCESS) return peers;
  peers->let_go();
  return nullptr;
}

Peers* find_peers(MPI_Comm comm) noexcept {
  Peers* peers = find_new_peers(comm);
  if (peers && on_first_use && !peers->met) on_first_use(comm, *peers);
  return peers;
}

Peers* last_copied() noexcept { return copied_last; }
void forget_copied() noexcept { copied_last = nullptr; }

Peers* find_window_peers(MPI_Win window) noexcept {
  if (!window || window == library.win_null) return nullptr;
  return find(window, window_key, library.Win_get_attr, library.Win_set_attr, make_for_window);
}

}  // namespace perfield::pmpi
