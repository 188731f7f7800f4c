// SPDX-License-Identifier: BSD-3-Clause
//
// c_wrappers.hpp - writes the C++ wrappers of MPI's C functions.
#pragma once

#include <string>
#include <vector>

#include "table.hpp"

namespace perfield::generate {

// next.hpp: the functions that the wrappers call.
std::string next_functions(const std::vector<Function>& functions);

// mpi3.map: the exports of the library that wraps no function that is new in MPI 4.
std::string names_of_mpi3(const std::vector<Function>& functions);

// wrappers.cpp: all wrappers except the handwritten ones.
std::string c_wrappers(const std::vector<Function>& functions);

}  // namespace perfield::generate
