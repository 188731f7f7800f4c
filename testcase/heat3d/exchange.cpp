// SPDX-License-Identifier: BSD-3-Clause
//
// exchange.cpp - the three exchanges. Each layer of the array is an MPI datatype, so no code packs
// it. At a wall the neighbour is MPI_PROC_NULL, and the same calls do nothing.
#include "exchange.hpp"

Exchange::Exchange(const Grid& grid, double* values) : grid_(grid), values_(values) {
  for (int direction = 0; direction < 3; ++direction) {
    const auto layer = [&](int number) {
      const std::array<int, 3> sizes = grid.sizes();
      std::array<int, 3> part = sizes, start{0, 0, 0};
      part[direction] = 1;
      start[direction] = number;
      MPI_Datatype type;
      MPI_Type_create_subarray(3, sizes.data(), part.data(), start.data(), MPI_ORDER_FORTRAN,
                               MPI_DOUBLE, &type);
      MPI_Type_commit(&type);
      return type;
    };
    const int n = grid.n[direction];
    layers_[direction] = {layer(0), layer(1), layer(n), layer(n + 1)};
  }
}

Exchange::~Exchange() {
  for (Layers& layers : layers_)
    for (MPI_Datatype* type : {&layers.low_halo, &layers.low, &layers.high, &layers.high_halo})
      MPI_Type_free(type);
}

namespace {

// Each rank writes its outermost layers directly into its neighbours' halo.
class PutExchange : public Exchange {
 public:
  PutExchange(const Grid& grid, double* values) : Exchange(grid, values) {
    MPI_Win_create(values, grid.at_end() * sizeof(double), sizeof(double), MPI_INFO_NULL,
                   grid.ranks, &window_);
  }
  ~PutExchange() override { MPI_Win_free(&window_); }

  void run() override {
    MPI_Win_fence(0, window_);  // all ranks are done with their halo
    Exchange::run();
  }

 private:
  void exchange(int d) override {
    const Layers& layers = layers_[d];
    MPI_Put(values_, 1, layers.low, grid_.below[d], 0, 1, layers.high_halo, window_);
    MPI_Put(values_, 1, layers.high, grid_.above[d], 0, 1, layers.low_halo, window_);
    MPI_Win_fence(0, window_);
  }

  MPI_Win window_;
};

// Posts all four messages, then waits for them in one call.
class IsendExchange : public Exchange {
 public:
  using Exchange::Exchange;

 private:
  void exchange(int d) override {
    const Layers& layers = layers_[d];
    const int below = grid_.below[d], above = grid_.above[d];
    MPI_Request requests[4];
    MPI_Irecv(values_, 1, layers.low_halo, below, 0, grid_.ranks, &requests[0]);
    MPI_Irecv(values_, 1, layers.high_halo, above, 1, grid_.ranks, &requests[1]);
    MPI_Isend(values_, 1, layers.low, below, 1, grid_.ranks, &requests[2]);
    MPI_Isend(values_, 1, layers.high, above, 0, grid_.ranks, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  }
};

// All ranks pass a layer upwards, then all pass one downwards.
class SendrecvExchange : public Exchange {
 public:
  using Exchange::Exchange;

 private:
  void exchange(int d) override {
    const Layers& layers = layers_[d];
    const int below = grid_.below[d], above = grid_.above[d];
    MPI_Sendrecv(values_, 1, layers.high, above, 0, values_, 1, layers.low_halo, below, 0,
                 grid_.ranks, MPI_STATUS_IGNORE);
    MPI_Sendrecv(values_, 1, layers.low, below, 0, values_, 1, layers.high_halo, above, 0,
                 grid_.ranks, MPI_STATUS_IGNORE);
  }
};

}  // namespace

std::unique_ptr<Exchange> make_exchange(const std::string& kind, const Grid& grid, double* values) {
  int n_ranks;
  MPI_Comm_size(grid.ranks, &n_ranks);
  // Open MPI 4 refuses a window over a single rank; one rank has no neighbours anyway.
  if (kind == "put" && n_ranks > 1) return std::make_unique<PutExchange>(grid, values);
  if (kind == "isend") return std::make_unique<IsendExchange>(grid, values);
  return std::make_unique<SendrecvExchange>(grid, values);
}
