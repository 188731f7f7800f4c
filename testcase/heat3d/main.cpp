// SPDX-License-Identifier: BSD-3-Clause
//
// heat3d - heat diffusion in a box, divided among MPI ranks. It shows how to instrument a
// simulation for perfield: describe the mesh once (show.cpp), name the regions of interest, and say
// when a time step ends. No other code here knows perfield.
#include <mpi.h>

#include <cstdio>
#include <perfield.hpp>

#include "exchange.hpp"
#include "grid.hpp"
#include "heat.hpp"
#include "hot_spot.hpp"
#include "input.hpp"
#include "show.hpp"

namespace {

bool is_first_rank() {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 0;
}

double largest_of_all(double mine) {
  double largest;
  MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return largest;
}

// Prints which rank holds the spot in this step.
void print_hot_spot(const Grid& grid, int step, bool here) {
  int rank, holder;
  MPI_Comm_rank(grid.ranks, &rank);
  const int mine = here ? rank : -1;
  MPI_Allreduce(&mine, &holder, 1, MPI_INT, MPI_MAX, grid.ranks);
  if (rank == 0) std::printf("step %d: hot spot on rank %d\n", step, holder);
}

void print_result(const Input& input, const Grid& grid, Heat& heat, int steps, double time) {
  const std::array<int, 3> centre{1 + grid.points[0] / 2, 1 + grid.points[1] / 2,
                                  1 + grid.points[2] / 2};
  double at_centre = -1e300;
  if (grid.holds(centre))
    at_centre = heat.temperature()[grid.at(centre[0] - grid.first[0], centre[1] - grid.first[1],
                                           centre[2] - grid.first[2])];
  at_centre = largest_of_all(at_centre);
  const uint64_t mine = heat.checksum();
  uint64_t checksum = 0;
  MPI_Reduce(&mine, &checksum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  const double error = input.verify ? largest_of_all(heat.error(time)) : 0;
  if (!is_first_rank()) return;
  std::printf("%d steps, %g s of simulated time\ncentre temperature %.17g K\nchecksum %016llx\n",
              steps, time, at_centre, static_cast<unsigned long long>(checksum));
  if (input.verify) std::printf("largest error %.17g K\n", error);
}

void simulate(const Input& input) {
  const Grid grid(input);
  Heat heat(input, grid);
  const auto exchange = make_exchange(input.exchange, grid, heat.temperature());
  exchange->run();

  show_mesh(grid, heat.temperature());
  const perfield_region solver_loop = perfield::region("solver_loop");
  const perfield_region halo_exchange = perfield::region("halo_exchange");
  const perfield_region convergence = perfield::region("convergence");

  perfield_initialize();  // the time loop starts: everything before is setup
  int step = 0;
  bool converged = false;
  while (step < input.max_num_time_steps && !converged) {
    ++step;
    const bool hot = grid.holds(hot_spot(grid, step, input.max_num_time_steps));
    double change;
    {
      perfield::Region measured(solver_loop);
      change = heat.step();
      if (hot) work_for(input.hot_spot);
    }
    {
      perfield::Region measured(halo_exchange);
      exchange->run();
    }
    if (input.check_convergence || input.print_log) {
      perfield::Region measured(convergence);
      change = largest_of_all(change);
      converged = input.check_convergence && change < input.precision_T;
    }
    if (input.print_log && is_first_rank())
      std::printf("step %d: time %g s, largest change %.17g K\n", step, step * input.dt, change);
    if (input.print_hot_spot) print_hot_spot(grid, step, hot);
    perfield_step(step, step * input.dt);
  }
  print_result(input, grid, heat, step, step * input.dt);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int n_ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  Input input;
  const std::vector<std::string> wrong = read_input(argc, argv, n_ranks, input);
  if (wrong.empty()) simulate(input);
  if (is_first_rank())
    for (const std::string& sentence : wrong)
      std::fprintf(stderr, "heat3d: %s.\n", sentence.c_str());
  MPI_Finalize();
  return wrong.empty() ? 0 : 1;
}
