// SPDX-License-Identifier: BSD-3-Clause
//
// mpi_header.hpp - mpi.h as the wrappers see it. Names of MPI objects (MPI_COMM_WORLD, MPI_BYTE,
// ...) must not be used here: each is an address inside libmpi, and this library is loaded into
// processes that have none. See library.hpp for those that are needed.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#define PERFIELD_WRAPPER extern "C" __attribute__((visibility("default"))) int
