// SPDX-License-Identifier: BSD-3-Clause
//
// show.hpp - tells perfield once what this rank's piece of the mesh looks like.
#pragma once

#include "grid.hpp"

// temperature: the array of this rank's block; perfield reads it at the end of a step.
void show_mesh(const Grid& grid, const double* temperature);
