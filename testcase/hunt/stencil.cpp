// SPDX-License-Identifier: BSD-3-Clause
//
// stencil - a solver on a 3-D grid of ranks, which the hunt plants problems in (plant.py names the
// arguments). A step assembles, exchanges halos with up to six neighbours, and solves, which ends
// with an allreduce. Ranks sleep where a simulation would compute, so the planted seconds hold on
// any number of cores.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <perfield.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int kEdgeCells = 16;
constexpr int kHaloNumbers = 500;
constexpr double kShares[2] = {0.4, 0.6};    // of a step's work: assemble, solve
constexpr double kDiskBytesPerSecond = 1e7;  // machine.c

struct Plant {
  int steps, seed;
  double noise, step_seconds;
  std::string problem;
  int rank;
  double strength;
  int region, every;
};

struct Grid {
  MPI_Comm comm;
  int rank, size;
  std::array<int, 3> ranks{}, at{};
  std::vector<int> neighbours;

  Grid() {
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 3, ranks.data());
    const std::array<int, 3> open{};
    MPI_Cart_create(MPI_COMM_WORLD, 3, ranks.data(), open.data(), 0, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Cart_coords(comm, rank, 3, at.data());
    for (int direction = 0; direction < 3; ++direction) {
      int below, above;
      MPI_Cart_shift(comm, direction, 1, &below, &above);
      for (int peer : {below, above})
        if (peer != MPI_PROC_NULL) neighbours.push_back(peer);
    }
  }
};

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

// Seconds that this rank meant to sleep, and those that it did.
double meant = 0, slept = 0;

void sleep_for(double seconds) {
  if (seconds <= 0) return;
  const double start = now();
  timespec left{time_t(seconds), long((seconds - double(time_t(seconds))) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
  meant += seconds;
  slept += now() - start;
}

// How late the machine woke the ranks, as a share of what they meant to sleep.
void print_lateness() {
  const double mine[2] = {meant, slept};
  double all[2];
  int rank;
  MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf("late %.3f\n", all[1] / all[0] - 1);
}

class Stencil {
 public:
  Stencil(const Plant& plant, const Grid& grid)
      : plant_(plant), grid_(grid), random_(unsigned(plant.seed) * 1000 + unsigned(grid.rank)) {
    const bool larger = is("cells") && grid.rank == plant.rank;
    const auto layers = int64_t(std::lround(kEdgeCells * (larger ? plant.strength : 1)));
    relative_cells_ = double(layers) / kEdgeCells;
    const int64_t extent[6] = {0, kEdgeCells, 0, kEdgeCells, 0, layers};
    const double origin[3] = {double(grid.at[0]), double(grid.at[1]), double(grid.at[2])};
    const double spacing[3] = {1.0 / kEdgeCells, 1.0 / kEdgeCells, 1.0 / double(layers)};
    perfield_mesh_image(0, extent, origin, spacing);
  }

  void step(int number) {
    {
      perfield::Region measured(assemble_);
      compute(0, number);
    }
    {
      perfield::Region measured(exchange_);
      exchange();
    }
    {
      perfield::Region measured(solve_);
      compute(1, number);
      double mine = 1, sum;
      MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, grid_.comm);
    }
    if (is("serial")) {
      perfield::Region measured(control_);
      if (grid_.rank == plant_.rank) sleep_for((plant_.strength - 1) * plant_.step_seconds);
      MPI_Bcast(control_values_, 8, MPI_DOUBLE, plant_.rank, grid_.comm);
    }
    if (is("writer") && number % plant_.every == 0) {
      perfield::Region measured(output_);
      write_through_one();
    }
    if (is("output") && number % plant_.every == 0) {
      perfield::Region measured(output_);
      write(size_t(plant_.strength * plant_.step_seconds * kDiskBytesPerSecond));
    }
    perfield_step(number, 0.1 * number);
  }

 private:
  bool is(const char* problem) const { return plant_.problem == problem; }

  // The work of a region in a step: random noise, and rarely the system takes the core away.
  void compute(int region, int number) {
    double share = kShares[region] * relative_cells_;
    share *= std::exp(plant_.noise * normal_(random_));
    if (uniform_(random_) < 0.003) share += 0.5;
    if (region == plant_.region) {
      const int turn = (plant_.rank + number / plant_.every) % grid_.size;
      if (is("cost") && grid_.rank == plant_.rank) share += plant_.strength - 1;
      const int changed = (plant_.rank + (2 * number > plant_.steps)) % grid_.size;
      if (is("moves") && grid_.rank == turn) share += plant_.strength - 1;
      if (is("changes") && grid_.rank == changed) share += plant_.strength - 1;
      if (is("inlet") && grid_.at[0] == 0) share += plant_.strength - 1;
      if (is("slower")) share += (plant_.strength - 1) * number / plant_.steps;
    }
    sleep_for(share * plant_.step_seconds);
  }

  // One message to each neighbour; with the plant, one rank sends many more without anything in
  // them.
  void exchange() {
    std::vector<double> out(kHaloNumbers), in(grid_.neighbours.size() * kHaloNumbers);
    std::vector<MPI_Request> requests;
    for (size_t face = 0; face < grid_.neighbours.size(); ++face) {
      const int peer = grid_.neighbours[face];
      double* halo = &in[face * kHaloNumbers];
      for (int message = 0; message <= n_empty(peer); ++message)
        MPI_Irecv(halo, message ? 0 : kHaloNumbers, MPI_DOUBLE, peer, message, grid_.comm,
                  &requests.emplace_back());
      for (int message = 0; message <= n_empty(grid_.rank); ++message)
        MPI_Isend(out.data(), message ? 0 : kHaloNumbers, MPI_DOUBLE, peer, message, grid_.comm,
                  &requests.emplace_back());
    }
    MPI_Waitall(int(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  int n_empty(int sender) const { return is("empty") && sender == plant_.rank ? plant_.every : 0; }

  void write_through_one() {
    const double seconds = (plant_.strength - 1) * plant_.step_seconds * plant_.every;
    const auto bytes = int(seconds * kDiskBytesPerSecond / grid_.size);
    const std::vector<char> mine(size_t(bytes), 'x');
    std::vector<char> all(grid_.rank == plant_.rank ? size_t(bytes) * size_t(grid_.size) : 0);
    MPI_Gather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, plant_.rank, grid_.comm);
    if (grid_.rank == plant_.rank) write(all.size());
  }

  void write(size_t bytes) {
    const std::string name = "stencil-" + std::to_string(grid_.rank) + ".out";
    const std::vector<char> values(bytes, 'x');
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0) return;
    if (::write(file, values.data(), bytes) != ssize_t(bytes)) std::perror("stencil");
    close(file);
  }

  const Plant& plant_;
  const Grid& grid_;
  std::mt19937 random_;
  std::normal_distribution<> normal_;
  std::uniform_real_distribution<> uniform_;
  double relative_cells_;
  double control_values_[8] = {};
  const perfield_region assemble_ = perfield::region("assemble");
  const perfield_region exchange_ = perfield::region("exchange");
  const perfield_region solve_ = perfield::region("solve");
  const perfield_region control_ = perfield::region("control");
  const perfield_region output_ = perfield::region("output");
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 10) {
    std::fprintf(stderr, "stencil: expected 9 arguments, those of plant.py, not %d\n", argc - 1);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  {
    const Plant plant{
        std::atoi(argv[1]), std::atoi(argv[2]), std::atof(argv[3]), std::atof(argv[4]), argv[5],
        std::atoi(argv[6]), std::atof(argv[7]), std::atoi(argv[8]), std::atoi(argv[9])};
    const Grid grid;
    Stencil stencil(plant, grid);
    perfield_initialize();
    for (int number = 1; number <= plant.steps; ++number) stencil.step(number);
    print_lateness();
  }
  MPI_Finalize();
}
