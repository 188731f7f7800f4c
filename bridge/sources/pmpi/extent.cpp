// SPDX-License-Identifier: BSD-3-Clause
//
// extent.cpp - besides the list of exported names, the only difference between the two libraries of
// an MPI: one has all wrappers, the other only those of functions in MPI 3. Where the program's MPI
// is not known beforehand, as in Python, the second kind is loaded for both MPIs, and the one that
// finds its MPI in the process counts: mpi4py's wheel asks whether functions of MPI 4 exist, and
// must not find ours.
#include "library.hpp"

const bool perfield::pmpi::kWrapsMpi4 = PERFIELD_WRAPS_MPI4;
