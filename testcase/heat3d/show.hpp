// SPDX-License-Identifier: BSD-3-Clause
//
// show.hpp - describes this rank's piece of the mesh to perfield, once.
#pragma once

#include "grid.hpp"

// temperature: the array of this rank's block; perfield reads it at the end of a step.
void show_mesh(const Grid& grid, const double* temperature);
