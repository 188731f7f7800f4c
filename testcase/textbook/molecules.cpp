// SPDX-License-Identifier: BSD-3-Clause
//
// molecules.cpp - molecular dynamics: ghosts by messages in each step; each tenth step atoms change
// their ranks, lists are made anew, and the temperature is printed.
#include <cstdio>
#include <vector>

#include "textbook.h"

namespace {

void ghosts(std::vector<double>& x) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  for (int way = 0; way < 2; ++way)
    MPI_Sendrecv(&x[0], 8, MPI_DOUBLE, way ? last : next, way, &x[8], 8, MPI_DOUBLE,
                 way ? next : last, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void migrate(std::vector<double>& x) {
  int mine = 8, most;
  MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  ghosts(x);
  x[0] = work(5);
}

void print(int step, double mine) {
  const double temperature = sum_over_ranks(mine);
  if (rank == 0) std::printf("%d %g\n", step, temperature);
}

}  // namespace

int main(int argc, char** argv) {
  begin(argc, argv);
  std::vector<double> x(16, 1.0);
  for (int step = 0; step < n_steps; ++step) {
    if (step % 10 == 0) migrate(x);
    ghosts(x);
    x[0] = work(20);
    if (step % 10 == 0) print(step, x[0]);
  }
  MPI_Finalize();
}
