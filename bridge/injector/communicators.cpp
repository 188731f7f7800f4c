// SPDX-License-Identifier: BSD-3-Clause
//
// communicators.cpp - see communicators.hpp. The name is an attribute of the communicator, which a
// duplicate does not inherit.
#include "communicators.hpp"

#include <pthread.h>

#include <cstdlib>

#include "peers.hpp"

namespace perfield::pmpi {
namespace {

struct Named {
  uint32_t name, n_children;
};

pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER;
Named world{1, 0};
int key = MPI_KEYVAL_INVALID;

__thread LastPeers<MPI_Comm> last __attribute__((tls_model("initial-exec")));
__thread uint32_t last_name __attribute__((tls_model("initial-exec")));

int copy_none(MPI_Comm, int, void*, void*, void*, int* flag) { return *flag = 0, MPI_SUCCESS; }
int drop(MPI_Comm, int, void* named, void*) {
  if (library.started) free(named);
  return MPI_SUCCESS;
}

Named* find(MPI_Comm comm) noexcept {
  if (comm == library.comm_world) return &world;
  Named* named = nullptr;
  int found = 0;
  if (key == MPI_KEYVAL_INVALID) return nullptr;
  if (library.Comm_get_attr(comm, key, &named, &found) != MPI_SUCCESS || !found) return nullptr;
  return named;
}

}  // namespace

void prepare_names() noexcept { library.Comm_create_keyval(copy_none, drop, &key, nullptr); }

uint32_t name_of(MPI_Comm comm) noexcept {
  // A freed communicator's handle may name another one: peers.hpp counts those that were freed.
  Peers* peers = peers_of(comm);
  const uint64_t age = library.freed_age.load(std::memory_order_acquire);
  if (last.handle == comm && last.age == age && last.peers == peers && peers) return last_name;
  const Named* named = find(comm);
  last = {comm, peers, age};
  return last_name = named ? named->name : kNoName;
}

void name_child(MPI_Comm parent, MPI_Comm child) noexcept {
  pthread_mutex_lock(&naming);
  Named* of_parent = find(parent);
  if (of_parent) {
    const uint32_t number = ++of_parent->n_children;
    Named* named =
        child == library.comm_null ? nullptr : static_cast<Named*>(malloc(sizeof(Named)));
    if (named) {
      // Mixes both numbers; never kNoName.
      uint64_t mixed = (uint64_t{of_parent->name} << 32 | number) * 0x9E3779B97F4A7C15u;
      mixed = (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93u;
      *named = {static_cast<uint32_t>(mixed >> 32) | 1u, 0};
      if (library.Comm_set_attr(child, key, named) != MPI_SUCCESS) free(named);
    }
  }
  pthread_mutex_unlock(&naming);
}

}  // namespace perfield::pmpi
