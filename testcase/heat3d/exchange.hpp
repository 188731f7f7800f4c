// SPDX-License-Identifier: BSD-3-Clause
//
// exchange.hpp - fills the halo of every rank with the outermost layers of its neighbours, with
// MPI_Put, MPI_Isend or MPI_Sendrecv. All three give the same result.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "grid.hpp"

class Exchange {
 public:
  // values: an array of grid.at_end() numbers that stays where it is.
  Exchange(const Grid& grid, double* values);
  virtual ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Collective. Exchanges along x, then y, then z, and includes the halo already filled: this fills
  // the halo's edges and corners, too.
  virtual void run() {
    for (int direction = 0; direction < 3; ++direction) exchange(direction);
  }

 protected:
  virtual void exchange(int direction) = 0;

  // The layers across one direction, lowest to highest: halo, own, own, halo.
  struct Layers {
    MPI_Datatype low_halo, low, high, high_halo;
  };
  const Grid& grid_;
  double* values_;
  std::array<Layers, 3> layers_;
};

// kind: "put", "isend" or "sendrecv".
std::unique_ptr<Exchange> make_exchange(const std::string& kind, const Grid& grid, double* values);
