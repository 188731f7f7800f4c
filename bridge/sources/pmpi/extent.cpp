// SPDX-License-Identifier: BSD-3-Clause
//
// extent.cpp - besides the list of exported names, the only difference between the two libraries of
// an MPI: one has all wrappers, the other only those of functions in MPI 3.
#include "library.hpp"

const bool perfield::pmpi::kWrapsMpi4 = PERFIELD_WRAPS_MPI4;
