// SPDX-License-Identifier: BSD-3-Clause
//
// main.cpp - solves Poisson's equation.
#include <petscksp.h>

#include <cstdio>

#include "uniform.hpp"

int main() {
  PetscInitialize(nullptr, nullptr, nullptr, nullptr);
  int rank, n_ranks;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  MPI_Comm_size(PETSC_COMM_WORLD, &n_ranks);
  poisson::Box box;
  box.ranks = poisson::divided(n_ranks, box.elements);
  const auto mesh = poisson::uniform_mesh(
      box, [](const auto&) { return 1.0; }, PETSC_COMM_WORLD);
  std::printf("rank %d: %d elements, %d of them mirror elements, %d nodes, %d ghosts\n", rank,
              mesh.n_elements, mesh.n_elements - mesh.first_mirror, mesh.n_owned, mesh.n_ghosts);
  PetscFinalize();
}
