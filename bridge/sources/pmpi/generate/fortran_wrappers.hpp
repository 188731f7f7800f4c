// SPDX-License-Identifier: BSD-3-Clause
//
// fortran_wrappers.hpp - writes the C++ wrappers of MPI's Fortran functions, for mpif.h and `use
// mpi` (mpi_isend_) and for mpi_f08 (mpi_isend_f08_; with descriptors mpi_isend_f08ts_).
#pragma once

#include <string>
#include <vector>

#include "table.hpp"

namespace perfield::generate {

// fortran_names.hpp: the symbols of all Fortran functions, handwritten wrappers included.
std::string fortran_names(const std::vector<Function>& functions);

// fortran_mpifh.cpp and fortran_f08.cpp: all wrappers except the handwritten ones.
std::string mpifh_wrappers(const std::vector<Function>& functions);
std::string f08_wrappers(const std::vector<Function>& functions);

}  // namespace perfield::generate
