// SPDX-License-Identifier: BSD-3-Clause
//
// planted - programs whose answer is planted: `planted CASE [STEPS]`, CASE as in kCases below. What
// perfield shows of each at first glance must be that answer.
//
// Ranks sleep where a simulation would compute, so the planted seconds hold on any number of cores.
// Only the case `shared` computes. A step assembles, exchanges halos with the neighbours in a 3-D
// grid of ranks, and solves, which ends with an allreduce. Each rank's piece is a unit cube.
#include <mpi.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <perfield.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

struct Case {
  const char* name;
  const char* answer;
};
constexpr Case kCases[] = {
    {"cells", "rank 1 has twice the cells of the others"},
    {"cost", "a cell costs three times as much on rank 2 as on the others; cells are equal"},
    {"waits", "rank 0 computes four times as long; the others wait for it in solve"},
    {"output", "every 20th step formats and writes a file; nothing else differs"},
    {"hidden", "a rank that is hidden inside the mesh computes 61 times as long"},
    {"shared", "ranks compute all the time; nothing differs but the cores they share"},
    {"noise", "ranks are equal but for random noise"},
};
constexpr double kCellSeconds = 8e-6;
constexpr int kEdgeCells = 8;  // cells along an edge of a piece
constexpr int kOutputEvery = 20;
constexpr int kHaloNumbers = 1000;

struct Ranks {
  int rank, size;
  std::array<int, 3> grid{}, at{};
  MPI_Comm comm;

  Ranks() {
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 3, grid.data());
    const std::array<int, 3> open{};
    MPI_Cart_create(MPI_COMM_WORLD, 3, grid.data(), open.data(), 0, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Cart_coords(comm, rank, 3, at.data());
  }
  int middle() const {
    const std::array<int, 3> place{grid[0] / 2, grid[1] / 2, grid[2] / 2};
    int found;
    MPI_Cart_rank(comm, place.data(), &found);
    return found;
  }
};

void sleep_for(double seconds) {
  timespec left{time_t(seconds), long((seconds - double(time_t(seconds))) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
}

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

void compute_for(double seconds) {
  const double end = cpu_seconds() + seconds;
  while (cpu_seconds() < end) {
  }
}

class Planted {
 public:
  Planted(const std::string& name, const Ranks& ranks)
      : case_(name), ranks_(ranks), random_(unsigned(ranks.rank)) {
    cells_along_z_ = case_ == "cells" && ranks.rank == 1 ? 2 * kEdgeCells : kEdgeCells;
    const int64_t extent[6] = {0, kEdgeCells, 0, kEdgeCells, 0, cells_along_z_};
    const double origin[3] = {double(ranks.at[0]), double(ranks.at[1]), double(ranks.at[2])};
    const double spacing[3] = {1.0 / kEdgeCells, 1.0 / kEdgeCells, 1.0 / cells_along_z_};
    perfield_mesh_image(0, extent, origin, spacing);
  }

  void step(int number) {
    {
      perfield::Region measured(assemble_);
      work(0.25);
    }
    {
      perfield::Region measured(exchange_);
      exchange();
    }
    {
      perfield::Region measured(solve_);
      work(case_ == "waits" && ranks_.rank == 0 ? 3.75 : 0.75);
      double mine = 1, sum;
      MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, ranks_.comm);
    }
    if (case_ == "output" && number % kOutputEvery == 0) {
      perfield::Region measured(write_);
      write();
    }
    perfield_step(number, number);
  }

 private:
  // share: of the work of an ordinary step.
  void work(double share) {
    double seconds = share * kCellSeconds * kEdgeCells * kEdgeCells * double(cells_along_z_);
    if (case_ == "cost" && ranks_.rank == 2) seconds *= 3;
    if (case_ == "hidden" && ranks_.rank == ranks_.middle()) seconds *= 61;
    if (case_ == "noise") seconds *= std::lognormal_distribution<>(0.0, 0.3)(random_);
    if (case_ == "shared")
      compute_for(seconds);
    else
      sleep_for(seconds);
  }

  void exchange() {
    std::vector<double> out(kHaloNumbers), in(6 * size_t(kHaloNumbers));
    std::vector<MPI_Request> requests;
    for (int face = 0; face < 6; ++face) {
      int below, above;
      MPI_Cart_shift(ranks_.comm, face / 2, 1, &below, &above);
      const int peer = face % 2 ? above : below;
      if (peer == MPI_PROC_NULL) continue;
      requests.resize(requests.size() + 2);
      MPI_Irecv(&in[size_t(face) * kHaloNumbers], kHaloNumbers, MPI_DOUBLE, peer, 0, ranks_.comm,
                &requests[requests.size() - 2]);
      MPI_Isend(out.data(), kHaloNumbers, MPI_DOUBLE, peer, 0, ranks_.comm, &requests.back());
    }
    MPI_Waitall(int(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  void write() {
    sleep_for(10 * kCellSeconds * kEdgeCells * kEdgeCells * kEdgeCells);
    const std::string name = "planted-" + std::to_string(ranks_.rank) + ".out";
    const std::vector<char> bytes(1 << 18, 'x');
    if (std::FILE* file = std::fopen(name.c_str(), "wb")) {
      std::fwrite(bytes.data(), 1, bytes.size(), file);
      std::fclose(file);
    }
  }

  const std::string case_;
  const Ranks& ranks_;
  std::mt19937 random_;
  int cells_along_z_;
  const perfield_region assemble_ = perfield::region("assemble");
  const perfield_region exchange_ = perfield::region("exchange");
  const perfield_region solve_ = perfield::region("solve");
  const perfield_region write_ = perfield::region("write");
};

// What is wrong with the command; empty if nothing.
std::string misuse(const std::string& name, int steps, const Ranks& ranks) {
  std::string known;
  for (const Case& one : kCases) {
    if (name == one.name) {
      if (steps < 1) return "STEPS must be at least 1";
      if (name == "hidden" && (ranks.grid[0] < 3 || ranks.grid[1] < 3 || ranks.grid[2] < 3))
        return "case hidden needs ranks inside the mesh, so at least 27 ranks in a 3 x 3 x 3 grid";
      return "";
    }
    known +=
        std::string("\n  ") + one.name + std::string(8 - std::strlen(one.name), ' ') + one.answer;
  }
  return "expected planted CASE [STEPS] with a CASE of" + known;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  {
    const Ranks ranks;
    const std::string name = argc > 1 ? argv[1] : "";
    const int steps = argc > 2 ? std::atoi(argv[2]) : 60;
    const std::string wrong = misuse(name, steps, ranks);
    if (wrong.empty()) {
      Planted planted(name, ranks);
      perfield_initialize();
      for (int number = 1; number <= steps; ++number) planted.step(number);
    } else {
      status = 1;
      if (ranks.rank == 0) std::fprintf(stderr, "planted: %s\n", wrong.c_str());
    }
  }
  MPI_Finalize();
  return status;
}
