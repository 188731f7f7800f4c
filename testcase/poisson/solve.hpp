// SPDX-License-Identifier: BSD-3-Clause
//
// solve.hpp - one problem on one mesh, with the method and the solver of the command line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "consistent_cg.hpp"
#include "level.hpp"
#include "options.hpp"
#include "problem.hpp"
#include "record.hpp"
#include "show.hpp"

namespace poisson {

class Solver {
 public:
  // Collective, as all that follows.
  Solver(const Options& options, const Box& box, MPI_Comm comm);
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  // Solves from 0, again and again until enough MatVecs are recorded.
  void run();
  // The matrix, column by column, written by rank 0.
  void write_matrix(const std::string& path);
  // The record and study.json.
  void write(const std::string& directory) const;
  // What rank 0 prints.
  std::string in_words() const;
  bool converged() const { return first_.converged; }

 private:
  struct PetscParts;

  bool is_octree() const { return options_.octree[0] >= 0; }
  Solved solve_once();
  Solved solve_with_petsc();
  void set_eps();
  std::unique_ptr<Splitting> splitting_of(size_t level) const;

  const Options& options_;
  const Box box_;
  const MPI_Comm comm_;
  int rank_ = 0, n_ranks_ = 1;
  const Problem problem_;
  std::array<std::int64_t, 2> n_elements_{};    // of all ranks; those with hanging nodes
  std::vector<std::unique_ptr<Level>> levels_;  // the finest one first
  Record record_;
  std::unique_ptr<Show> show_;
  std::unique_ptr<Splitting> consistent_splitting_;
  std::unique_ptr<PetscParts> petsc_;
  std::vector<double> load_, diagonal_, u_;  // with ghosts
  Solved first_;                             // of the first solve
  double error_ = 0, seconds_ = 0;
  int n_solves_ = 0;
};

}  // namespace poisson
