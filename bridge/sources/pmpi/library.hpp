// SPDX-License-Identifier: BSD-3-Clause
//
// library.hpp - the MPI library of this process, found among its loaded objects: the next function
// behind every wrapper, and the functions and objects that perfield itself uses. Looked up once, in
// MPI_Init or at the first wrapped call, never on the hot path.
#pragma once

#include <atomic>

#include "next.hpp"

namespace perfield::pmpi {

// MPIs with the same binary interface; none: of no MPI.
enum class Family { other, openmpi, mpich, standard, none };

}  // namespace perfield::pmpi

#ifdef OMPI_MAJOR_VERSION
#include "abi_openmpi.hpp"
#elif defined(PERFIELD_MPI_ABI)
#include "abi_standard.hpp"
#else
#include "abi_mpich.hpp"
#endif

namespace perfield::pmpi {

// Functions that counting itself calls, always by the PMPI_ name so that no other tool sees it.
// clang-format off
#define PERFIELD_USED_FUNCTIONS(X) \
  X(Cart_get) X(Cart_shift) X(Cartdim_get) X(Comm_create_keyval) X(Comm_get_attr) \
  X(Comm_get_errhandler) X(Comm_group) \
  X(Comm_rank) X(Comm_remote_group) X(Comm_set_attr) \
  X(Comm_set_errhandler) X(Comm_size) X(Comm_test_inter) \
  X(Dist_graph_neighbors) X(Dist_graph_neighbors_count) X(Get_elements_x) \
  X(Get_library_version) X(Graph_neighbors) X(Graph_neighbors_count) X(Group_free) \
  X(Group_incl) X(Group_size) X(Group_translate_ranks) X(Query_thread) X(Request_get_status) \
  X(Status_set_cancelled) X(Status_set_elements_x) X(Test_cancelled) X(Topo_test) \
  X(Type_get_envelope) X(Type_size_x) X(Win_create_keyval) X(Win_get_attr) X(Win_get_group) \
  X(Win_set_attr)
// clang-format on

// What the hot path reads comes first, so that it lies in one cache line.
struct alignas(64) Library {
  bool started = false;         // between MPI_Init and MPI_Finalize of a supported MPI
  bool concurrent = false;      // MPI_THREAD_MULTIPLE
  bool plain_statuses = false;  // have the layout that received_bytes() and was_cancelled() read
  std::atomic<uint64_t> freed_age{0};  // communicators and windows freed so far
  MPI_Request no_request;
  MPI_Request done_request;  // of all sends that are complete at once; no_request: there is none
  MPI_Comm comm_world;

#define PERFIELD_MEMBER(name) decltype(&::MPI_##name) name;
  PERFIELD_USED_FUNCTIONS(PERFIELD_MEMBER)
#undef PERFIELD_MEMBER
  MPI_Comm comm_self, comm_null;
  MPI_Win win_null;
  MPI_Errhandler errors_return;
  MPI_Datatype byte, type_null;
  MPI_Op no_op;
  MPI_Message no_message;
  Family family = Family::other;
};
// Hidden: read where they are, not through the table of addresses.
#pragma GCC visibility push(hidden)
extern Library library;
extern NextFunctions next_functions;
extern std::atomic<bool> resolved;
#pragma GCC visibility pop

// Fills all of the above except `started`. Any thread, at any time; later calls do nothing.
void resolve() noexcept;

// The name and version of the program's MPI ("Open MPI 4.1.4"), from the MPI itself.
void name_of_library(char* text, int bytes) noexcept;

// The function of the program's MPI with this PMPI_ name; nullptr if it has none.
void* function_of_mpi(const char* name) noexcept;

// Whether functions that are new in MPI 4 are wrapped. A program may check whether its MPI has
// them, so a library loaded before its MPI is known omits them (see extent.cpp).
extern const bool kWrapsMpi4;

// Whether the wrappers for another MPI are loaded too, and the program's MPI is theirs.
bool others_measure() noexcept;

// Whether the program uses the MPI that this library was built for, and all of it was found.
bool fits() noexcept;

inline const NextFunctions& next() noexcept {
  if (__builtin_expect(!resolved.load(std::memory_order_acquire), 0)) resolve();
  return next_functions;
}

}  // namespace perfield::pmpi
