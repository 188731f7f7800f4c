// SPDX-License-Identifier: BSD-3-Clause
//
// show.hpp - shows perfield the mesh of this rank, its waits and its splitting, and closes steps.
// Does nothing without perfield.
#pragma once

#include <cstdint>

#include "mesh.hpp"
#include "record.hpp"

namespace poisson {

class Show {
 public:
  // steps_are_matvecs: a step closes with each MatVec of the finest level, else by iteration().
  Show(const Mesh& finest, bool steps_are_matvecs);
  void matvec(const MatVec& one);
  void iteration();

 private:
  void close();

  const bool steps_are_matvecs_;
  std::int64_t step_ = 0;
  float alpha_ = 0, wait_in_s_ = 0, wait_out_s_ = 0;  // of the last MatVec of the finest level
};

}  // namespace poisson
