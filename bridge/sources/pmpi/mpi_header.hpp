// SPDX-License-Identifier: BSD-3-Clause
//
// mpi_header.hpp - mpi.h as the wrappers see it. Names of MPI objects (MPI_COMM_WORLD, MPI_BYTE,
// ...) must not be used here: with some MPIs each is an address inside libmpi, and this library is
// loaded into processes that have none. See library.hpp for those that are needed.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdint>
#include <type_traits>

namespace perfield::pmpi {

// A handle that is handed over by value, as wide as a pointer: in a process of another MPI than
// ours the wrappers sleep, and pass handles on whole whatever they are there.
template <typename Handle>
using Wide = std::conditional_t<std::is_pointer_v<Handle>, Handle, intptr_t>;

}  // namespace perfield::pmpi

// The head of a wrapper. It goes by another name in C++, where mpi.h declares it with its own
// types of handles.
#define PERFIELD_WRAPPER(name, parameters)                                                     \
  extern "C" __attribute__((visibility("default"))) int wrap_##name parameters __asm__(#name); \
  int wrap_##name parameters
