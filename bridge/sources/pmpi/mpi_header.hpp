// SPDX-License-Identifier: BSD-3-Clause
//
// mpi_header.hpp - mpi.h for the wrappers. Do not use names of MPI objects (MPI_COMM_WORLD,
// MPI_BYTE, ...) here: in some MPIs each is an address inside libmpi, but this library is also
// loaded into processes without one. library.hpp has the objects that are needed.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#ifdef PERFIELD_MPI_ABI
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif
#if defined(OMPI_MAJOR_VERSION) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <cstdint>
#include <type_traits>

namespace perfield::pmpi {

// A handle passed by value, as wide as a pointer. In a process of another MPI these wrappers sleep,
// and pass handles of any kind on whole.
template <typename Handle>
using Wide = std::conditional_t<std::is_pointer_v<Handle>, Handle, intptr_t>;

}  // namespace perfield::pmpi

// The head of a wrapper. It has another name in C++, because mpi.h declares the function with its
// own handle types.
#define PERFIELD_WRAPPER(name, parameters)                                                     \
  extern "C" __attribute__((visibility("default"))) int wrap_##name parameters __asm__(#name); \
  int wrap_##name parameters
