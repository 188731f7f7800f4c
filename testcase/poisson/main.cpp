// SPDX-License-Identifier: BSD-3-Clause
//
// main.cpp - reads the command line, solves, and says what came out. Exits with 1 if the first
// solve did not converge without a request to end, and with 2 if the command is wrong.
#include <petscksp.h>

#include <cstdio>

#include "options.hpp"
#include "solve.hpp"

namespace {

int run(const poisson::Options& options, int rank) {
  poisson::Box box;
  if (options.octree[0] < 0) box.elements = options.elements;  // an octree is the unit cube
  box.ranks = options.ranks;
  box.order = options.order;
  poisson::Solver solver(options, box, PETSC_COMM_WORLD);
  if (!options.matrix.empty()) {
    solver.write_matrix(options.matrix);
    return 0;
  }
  solver.run();
  if (rank == 0) std::fputs(solver.in_words().c_str(), stdout);
  if (!options.output.empty()) solver.write(options.output);
  return solver.converged() || options.matvecs > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  PetscCall(PetscInitialize(nullptr, nullptr, nullptr, nullptr));
  int rank, n_ranks, status = 0;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  MPI_Comm_size(PETSC_COMM_WORLD, &n_ranks);
  try {
    const poisson::Options options = poisson::read_options(argc, argv, n_ranks);
    if (options.help) {
      if (rank == 0) std::fputs(poisson::kHelp, stdout);
    } else {
      status = run(options, rank);
    }
  } catch (const poisson::Misuse& misuse) {  // on all ranks alike
    status = 2;
    if (rank == 0) std::fprintf(stderr, "poisson: %s.\n", misuse.what());
  }
  PetscFinalize();
  return status;
}
