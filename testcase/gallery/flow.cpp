// SPDX-License-Identifier: BSD-3-Clause
//
// flow - stands in for two flow solvers that are not free: same shapes of meshes, same loads, same
// messages, no physics. The gallery shows pictures of it; what they must show is planted here.
//
//   flow turbine [STEPS] [empty] [gather|node|own]   a ring of one layer of cells, 6 ranks along x
//   flow wing    [STEPS] [pow]   [gather|node|own]   half an aircraft in a far field, 4 ranks
//   outwards
//
// turbine: ranks at the inlet have 1.6 times the edges, every other rank 1.15 times (a chess
// board). Neighbours exchange faces. `empty`: all but the ranks at the outlet also send empty
// messages to ranks that are no neighbours. Every fifth step writes: `gather` by way of rank 0,
// `own` each rank. wing: ranks near the aircraft have more faces. `pow`: boundary faces far away
// cost a lot.
//
// Ranks sleep where a solver would compute, so the planted seconds hold on any number of cores.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <perfield.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int kTogether = 50;  // calls of a flux function that sleep once
constexpr int kFaceMessages = 40, kFaceNumbers = 64, kEmptyMessages = 60;
constexpr int kOutputEvery = 5, kOutputParts = 32, kOutputNumbers = 1024;

using Three = std::array<int, 3>;

void sleep_for(double seconds) {
  timespec left{time_t(seconds), long((seconds - double(time_t(seconds))) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
}

// Blocks of cells along three directions, one for each rank; the first direction counts first.
struct Blocks {
  Three n, at{};
  std::array<bool, 3> is_periodic{};
  int rank = 0;

  Blocks(Three counts, std::array<bool, 3> periodic) : n(counts), is_periodic(periodic) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    at = {rank % n[0], rank / n[0] % n[1], rank / (n[0] * n[1])};
  }
  // The rank some blocks away along a direction; -1 beyond the edge.
  int away(int direction, int by) const {
    Three there = at;
    there[direction] += by;
    if (is_periodic[direction]) there[direction] = (there[direction] + n[direction]) % n[direction];
    if (there[direction] < 0 || there[direction] >= n[direction]) return -1;
    return there[0] + n[0] * (there[1] + n[1] * there[2]);
  }
  std::vector<int> neighbours() const {
    std::vector<int> found;
    for (int direction = 0; direction < 3; ++direction)
      for (int by : {-1, 1}) {
        const int other = away(direction, by);
        if (other >= 0 && other != rank) found.push_back(other);
      }
    return found;
  }
};

// Describes this rank's block: cells[d] along direction d, of which begin[d] lie before it.
template <class Point>
void show_mesh(const Three& begin, const Three& cells, Point point) {
  static std::vector<double> points;
  for (int k = begin[2]; k <= begin[2] + cells[2]; ++k)
    for (int j = begin[1]; j <= begin[1] + cells[1]; ++j)
      for (int i = begin[0]; i <= begin[0] + cells[0]; ++i)
        for (double x : point(i, j, k)) points.push_back(x);
  int64_t extent[6];
  for (int d = 0; d < 3; ++d) {
    extent[2 * d] = begin[d];
    extent[2 * d + 1] = begin[d] + cells[d];
  }
  perfield_array array = perfield::array(points, 3);
  for (int d = 0; d < 3; ++d) array.size[d] = cells[d] + 1;
  array.stride[0] = 3;
  array.stride[1] = 3 * array.size[0];
  array.stride[2] = array.stride[1] * array.size[1];
  perfield_mesh_structured(0, extent, array);
}

// Calls a flux function so many times, each time for some edges or faces.
void flux(perfield_region region, int calls, double seconds_per_call) {
  static std::mt19937 random{std::random_device{}()};
  static std::normal_distribution<> noise(1.0, 0.02);
  for (int call = 0; call < calls; ++call) {
    perfield::Region measured(region);
    if (call % kTogether == 0)
      sleep_for(std::min(kTogether, calls - call) * seconds_per_call * noise(random));
  }
}

// Sends some equal messages to each of some ranks, and as many come back.
void exchange(const std::vector<int>& peers, int messages, int numbers) {
  static std::vector<double> out(kFaceNumbers), in(kFaceNumbers);
  for (int n = 0; n < messages; ++n) {
    std::vector<MPI_Request> requests(2 * peers.size());
    for (size_t p = 0; p < peers.size(); ++p) {
      MPI_Irecv(in.data(), numbers, MPI_DOUBLE, peers[p], 0, MPI_COMM_WORLD, &requests[2 * p]);
      MPI_Isend(out.data(), numbers, MPI_DOUBLE, peers[p], 0, MPI_COMM_WORLD, &requests[2 * p + 1]);
    }
    MPI_Waitall(int(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
}

// Who writes what all ranks have computed.
class Output {
 public:
  // way: "gather", "node", "own", or "" for no output.
  explicit Output(const std::string& way) : way_(way) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    file_ = "flow-" + std::to_string(rank) + ".out";
    if (way == "node")
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &ranks_);
    else if (way == "own")
      ranks_ = MPI_COMM_SELF;
  }

  void step(int number) {
    if (way_.empty() || number % kOutputEvery != 0) return;
    int rank, size;
    MPI_Comm_rank(ranks_, &rank);
    MPI_Comm_size(ranks_, &size);
    std::vector<double> part(kOutputNumbers, rank);
    std::FILE* file = rank == 0 ? std::fopen(file_.c_str(), "wb") : nullptr;
    if (file) std::setvbuf(file, nullptr, _IONBF, 0);
    for (int n = 0; n < kOutputParts; ++n) {
      if (rank != 0) {
        MPI_Request request;
        MPI_Isend(part.data(), kOutputNumbers, MPI_DOUBLE, 0, 1, ranks_, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        continue;
      }
      for (int other = 0; other < size; ++other) {
        if (other != 0)
          MPI_Recv(part.data(), kOutputNumbers, MPI_DOUBLE, other, 1, ranks_, MPI_STATUS_IGNORE);
        if (file) std::fwrite(part.data(), sizeof(double), part.size(), file);
      }
    }
    if (file) std::fclose(file);
  }

 private:
  std::string way_, file_;
  MPI_Comm ranks_ = MPI_COMM_WORLD;  // the first of which writes
};

void turbine(int n_ranks, int steps, bool has_empty, Output output) {
  const Blocks blocks({6, n_ranks / 6, 1}, {false, true, false});
  const Three cells{10, 120 / blocks.n[1], 1};
  const double around = 2 * M_PI / (cells[1] * blocks.n[1]);
  show_mesh({blocks.at[0] * cells[0], blocks.at[1] * cells[1], 0}, cells, [&](int i, int j, int k) {
    const double x = 2.4 * i / (6 * cells[0]);
    const double radius = 1.0 - 0.12 * x + 0.06 * k + 0.02 * std::sin(4 * x);
    return std::array<double, 3>{x, radius * std::cos(around * j), radius * std::sin(around * j)};
  });
  std::vector<int> strangers;
  if (has_empty && blocks.at[0] < blocks.n[0] - 1) {
    for (int by : {-3, -2, 2, 3}) strangers.push_back(blocks.away(1, by));
    for (int by : {-2, 2}) {
      const int other = blocks.away(0, by);
      if (other >= 0 && other % blocks.n[0] < blocks.n[0] - 1) strangers.push_back(other);
    }
  }
  const bool is_inlet = blocks.at[0] == 0, is_black = (blocks.at[0] + blocks.at[1]) % 2 == 0;
  const int calls = int(600 * (is_inlet ? 1.6 : 1.0) * (is_black ? 1.15 : 1.0));
  const perfield_region iflux = perfield::region("iflux_edge"),
                        vflux = perfield::region("vflux_edge");
  perfield_initialize();
  for (int step = 1; step <= steps; ++step) {
    flux(iflux, calls, 60e-6);
    flux(vflux, calls * 3 / 4, 150e-6);
    exchange(blocks.neighbours(), kFaceMessages, kFaceNumbers);
    exchange(strangers, kEmptyMessages, 0);
    output.step(step);
    perfield_step(step, step);
  }
}

// The aircraft's outline at a distance from its plane of symmetry: half its length and height.
std::array<double, 2> outline(double span) {
  const double fuselage = std::exp(-std::pow(span / 0.3, 4.0));
  const double wing = std::max(0.0, 1 - span / 3.0);
  const double length = fuselage * 1.8 + (1 - fuselage) * (0.12 + 0.55 * wing);
  const double height = fuselage * 0.24 + (1 - fuselage) * 0.09 * wing;
  return {length, std::max(height, 0.004)};
}

void wing(int n_ranks, int steps, bool has_pow, Output output) {
  static constexpr std::array<int, 4> outwards{14, 10, 8, 6};  // cells of a rank
  const Blocks blocks({8, 4, n_ranks / 32}, {true, false, false});
  const Three cells{8, outwards[blocks.at[1]], 24 / blocks.n[2]};
  int before = 0, all = 0;
  for (int n = 0; n < 4; ++n) {
    if (n < blocks.at[1]) before += outwards[n];
    all += outwards[n];
  }
  const double far = 9;
  show_mesh({blocks.at[0] * cells[0], before, blocks.at[2] * cells[2]}, cells,
            [&](int i, int j, int k) {
              const double angle = 2 * M_PI * i / (8 * cells[0]);
              const double span = far * (std::exp(2.2 * k / 24.0) - 1) / (std::exp(2.2) - 1);
              const double out = (std::exp(4.0 * j / all) - 1) / (std::exp(4.0) - 1);
              const auto [length, height] = outline(span);
              const double x = 0.5 * std::min(span, 3.0) + (1 - out) * length * std::cos(angle);
              const double y = (1 - out) * height * std::sin(angle);
              return std::array<double, 3>{x + out * far * std::cos(angle),
                                           y + out * far * std::sin(angle), -span};
            });
  const bool is_outside = blocks.at[1] == 3, is_end = blocks.at[2] == blocks.n[2] - 1;
  const int boundary = is_outside * cells[0] * cells[2] + is_end * cells[0] * cells[1];
  const int calls = 3 * cells[0] * cells[1] * cells[2] / 8;
  const double pow_s = has_pow ? 1.5e-3 * boundary / calls : 0;
  const perfield_region region = perfield::region("face_flux");
  perfield_initialize();
  for (int step = 1; step <= steps; ++step) {
    flux(region, calls, 150e-6 + pow_s);
    exchange(blocks.neighbours(), 2, kFaceNumbers);
    output.step(step);
    perfield_step(step, step);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::string shape = argc > 1 ? argv[1] : "";
  const int steps = argc > 2 ? std::atoi(argv[2]) : 10;
  const auto has = [&](const char* word) {
    for (int n = 3; n < argc; ++n)
      if (word == std::string(argv[n])) return true;
    return false;
  };
  std::string way;
  for (const char* known : {"gather", "node", "own"})
    if (has(known)) way = known;
  int status = 0;
  if (shape == "turbine" && size % 6 == 0 && size / 6 > 6 && 120 % (size / 6) == 0)
    turbine(size, steps, has("empty"), Output(way));
  else if (shape == "wing" && size % 32 == 0 && 24 % (size / 32) == 0)
    wing(size, steps, has("pow"), Output(way));
  else {
    status = 1;
    if (rank == 0)
      std::fprintf(
          stderr,
          "flow turbine|wing [STEPS] [empty] [pow] [gather|node|own]: a turbine needs 48 or 60 "
          "ranks, a wing 32 ranks or 2, 3 or 4 times as many; here are %d.\n",
          size);
  }
  MPI_Finalize();
  return status;
}
