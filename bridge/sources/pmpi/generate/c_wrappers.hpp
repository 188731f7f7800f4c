// SPDX-License-Identifier: BSD-3-Clause
//
// c_wrappers.hpp - the C++ text of the wrappers of MPI's C functions.
#pragma once

#include <string>
#include <vector>

#include "table.hpp"

namespace perfield::generate {

// next.hpp: the functions that the wrappers call on.
std::string next_functions(const std::vector<Function>& functions);

// mpi3.map: what the library shows that wraps nothing which is new in MPI 4.
std::string names_of_mpi3(const std::vector<Function>& functions);

// wrappers.cpp: all wrappers that are not written by hand.
std::string c_wrappers(const std::vector<Function>& functions);

}  // namespace perfield::generate
