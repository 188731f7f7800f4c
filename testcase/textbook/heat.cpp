// SPDX-License-Identifier: BSD-3-Clause
//
// heat.cpp - heat in a bar with classes: a grid that exchanges its ghosts, a solver that is a
// template over the scheme, and lambdas for the norms.
#include <memory>
#include <vector>

#include "textbook.h"

class Grid {
 public:
  explicit Grid(int cells) : u_(size_t(cells) + 2, 1.0) {}
  void exchange() {
    const int left = rank ? rank - 1 : MPI_PROC_NULL,
              right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(&u_[1], 1, MPI_DOUBLE, left, 0, &u_.back(), 1, MPI_DOUBLE, right, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&u_[u_.size() - 2], 1, MPI_DOUBLE, right, 1, &u_[0], 1, MPI_DOUBLE, left, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  double& operator[](size_t i) { return u_[i]; }

 private:
  std::vector<double> u_;
};

struct Explicit {
  static double advance(Grid& grid) { return grid[1] = work(10); }
};

template <class Scheme>
class Solver {
 public:
  explicit Solver(int cells) : grid_(std::make_unique<Grid>(cells)) {}
  double step() {
    double mine = 0;
    for (int stage = 0; stage < 2; ++stage) {
      grid_->exchange();
      mine += Scheme::advance(*grid_);
    }
    const auto norm = [](double x) { return sum_over_ranks(x * x); };
    return norm(mine);
  }

 private:
  std::unique_ptr<Grid> grid_;
};

int main(int argc, char** argv) {
  begin(argc, argv);
  Solver<Explicit> solver(64);
  for (int step = 0; step < n_steps && solver.step() >= 0; ++step) {
  }
  MPI_Finalize();
}
