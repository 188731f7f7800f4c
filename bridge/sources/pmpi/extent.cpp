// SPDX-License-Identifier: BSD-3-Clause
//
// extent.cpp - the one thing, beside the list of exported names, in which the two libraries of an
// MPI differ: the one has all wrappers, the other only those of functions that MPI 3 knows.
#include "library.hpp"

const bool perfield::pmpi::kWrapsMpi4 = PERFIELD_WRAPS_MPI4;
