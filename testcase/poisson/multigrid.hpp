// SPDX-License-Identifier: BSD-3-Clause
//
// multigrid.hpp - geometric multigrid on meshes of which each has half the elements of the finer
// one along each axis. Blocks of a rank nest, so that interpolation needs no messages but those
// for ghosts. Smoothing: Chebyshev's polynomials in the diagonally scaled matrix. Coarsest level:
// one cycle of PETSc's GAMG on the assembled matrix. A V-cycle of it is symmetric.
#pragma once

#include <petscksp.h>

#include <functional>
#include <memory>
#include <vector>

#include "level.hpp"
#include "products.hpp"
#include "record.hpp"
#include "show.hpp"
#include "splitting.hpp"

namespace poisson {

using Levels = std::vector<std::unique_ptr<Level>>;  // the finest one first

// How many levels a box allows: each axis must halve, and the jump must stay between elements.
// with_work_for_all: only levels on which about as many elements lie on each rank.
int most_levels(const Box& box, bool with_work_for_all);

// Trilinear interpolation from a mesh to one of half the edges; its transpose restricts.
class Transfer {
 public:
  Transfer(Level& coarse, const Level& fine);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  Mat shell() const { return shell_; }

 private:
  static PetscErrorCode interpolate(Mat shell, Vec coarse, Vec fine);
  static PetscErrorCode restrict_to(Mat shell, Vec fine, Vec coarse);

  Level& coarse_;
  const Level& fine_;
  std::vector<int> begin_;  // of each owned fine node's parents, and where the last one's end
  std::vector<int> parents_;
  std::vector<double> local_;  // of the coarse mesh, with ghosts
  Mat shell_ = nullptr;
};

class Multigrid {
 public:
  // make(level): the splitting of one place that multiplies on this level.
  Multigrid(Levels& levels, const std::function<std::unique_ptr<Splitting>(size_t)>& make,
            Record& record, Show* show);
  ~Multigrid();
  Multigrid(const Multigrid&) = delete;
  Multigrid& operator=(const Multigrid&) = delete;

  // Makes it the preconditioner. smoothing: Chebyshev steps before and after each correction.
  PetscErrorCode set_up(PC pc, int smoothing);

 private:
  struct Places {  // that multiply on one level
    Places(Level& level, const std::function<std::unique_ptr<Splitting>(size_t)>& make,
           Record& record, Show* show, int number);
    Product pre, post, residual;
  };
  PetscErrorCode set_smoother(KSP smoother, const Product& product, size_t level,
                              int smoothing) const;

  Levels& levels_;
  std::vector<std::unique_ptr<Places>> places_;       // of all levels but the coarsest
  std::vector<std::unique_ptr<Transfer>> transfers_;  // to level n from n + 1
  Mat coarsest_ = nullptr;
};

}  // namespace poisson
