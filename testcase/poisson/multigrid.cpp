// SPDX-License-Identifier: BSD-3-Clause
#include "multigrid.hpp"

#include <algorithm>

namespace poisson {

namespace {

constexpr int kFewPerRank = 4;  // elements along an axis that may be divided unevenly
constexpr double kSmoothed =
    0.125;  // the smallest eigenvalue that smoothing reduces, of the largest

bool can_halve(const Box& box) {
  for (size_t axis = 0; axis < 3; ++axis) {
    const int coarse = box.elements[axis] / 2;
    if (box.elements[axis] % 2 || coarse < 2) return false;
    if (axis == 0 && coarse % 2) return false;  // the jump stays between elements
  }
  return true;
}

bool has_work_for_all(const Box& box) {
  for (size_t axis = 0; axis < 3; ++axis)
    if (box.elements[axis] % box.ranks[axis] && box.elements[axis] < kFewPerRank * box.ranks[axis])
      return false;
  return true;
}

}  // namespace

int most_levels(const Box& box, bool with_work_for_all) {
  Box coarse = box;
  for (int levels = 1;; ++levels) {
    if (!can_halve(coarse)) return levels;
    for (int& n : coarse.elements) n /= 2;
    if (with_work_for_all && !has_work_for_all(coarse)) return levels;
  }
}

Transfer::Transfer(Level& coarse, const Level& fine)
    : coarse_(coarse), fine_(fine), local_(size_t(coarse.mesh.n_owned + coarse.mesh.n_ghosts)) {
  const Lattice& lattice = fine.mesh.lattice;
  begin_.push_back(0);
  for (int k = lattice.begin[2]; k < lattice.owned[2]; ++k)  // in the order of the owned nodes
    for (int j = lattice.begin[1]; j < lattice.owned[1]; ++j)
      for (int i = lattice.begin[0]; i < lattice.owned[0]; ++i) {
        if (!fine.mesh.fixed[size_t(lattice.at(i, j, k))])
          for (int z = k / 2; z <= (k + 1) / 2; ++z)
            for (int y = j / 2; y <= (j + 1) / 2; ++y)
              for (int x = i / 2; x <= (i + 1) / 2; ++x)
                parents_.push_back(coarse.mesh.lattice.at(x, y, z));
        begin_.push_back(int(parents_.size()));
      }
  const auto make = [&]() -> PetscErrorCode {
    PetscFunctionBeginUser;
    PetscCall(MatCreateShell(coarse.product.comm(), fine.mesh.n_owned, coarse.mesh.n_owned,
                             PetscInt(fine.mesh.all_nodes), PetscInt(coarse.mesh.all_nodes), this,
                             &shell_));
    PetscCall(MatShellSetOperation(shell_, MATOP_MULT,
                                   reinterpret_cast<void (*)(void)>(&Transfer::interpolate)));
    PetscCall(MatShellSetOperation(shell_, MATOP_MULT_TRANSPOSE,
                                   reinterpret_cast<void (*)(void)>(&Transfer::restrict_to)));
    PetscFunctionReturn(0);
  };
  PetscCallAbort(coarse.product.comm(), make());
}

Transfer::~Transfer() { MatDestroy(&shell_); }

// All parents of a node have the same weight: it lies in the middle between them.
PetscErrorCode Transfer::interpolate(Mat shell, Vec coarse, Vec fine) {
  Transfer* self;
  const PetscScalar* from;
  PetscScalar* to;
  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(shell, &self));
  PetscCall(VecGetArrayRead(coarse, &from));
  PetscCall(VecGetArrayWrite(fine, &to));
  const Mesh& mesh = self->coarse_.mesh;
  for (int node = 0; node < mesh.n_owned; ++node)
    self->local_[size_t(node)] = mesh.fixed[size_t(node)] ? 0 : from[node];
  self->coarse_.product.exchange().update_ghosts(self->local_.data());
  for (int node = 0; node < self->fine_.mesh.n_owned; ++node) {
    const int begin = self->begin_[size_t(node)], end = self->begin_[size_t(node) + 1];
    double sum = 0;
    for (int at = begin; at < end; ++at) sum += self->local_[size_t(self->parents_[size_t(at)])];
    to[node] = end > begin ? sum / (end - begin) : 0;
  }
  PetscCall(VecRestoreArrayWrite(fine, &to));
  PetscCall(VecRestoreArrayRead(coarse, &from));
  PetscFunctionReturn(0);
}

PetscErrorCode Transfer::restrict_to(Mat shell, Vec fine, Vec coarse) {
  Transfer* self;
  const PetscScalar* from;
  PetscScalar* to;
  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(shell, &self));
  PetscCall(VecGetArrayRead(fine, &from));
  PetscCall(VecGetArrayWrite(coarse, &to));
  std::fill(self->local_.begin(), self->local_.end(), 0);
  for (int node = 0; node < self->fine_.mesh.n_owned; ++node) {
    const int begin = self->begin_[size_t(node)], end = self->begin_[size_t(node) + 1];
    for (int at = begin; at < end; ++at)
      self->local_[size_t(self->parents_[size_t(at)])] += from[node] / (end - begin);
  }
  self->coarse_.product.exchange().sum_to_owners(self->local_.data());
  const Mesh& mesh = self->coarse_.mesh;
  for (int node = 0; node < mesh.n_owned; ++node)
    to[node] = mesh.fixed[size_t(node)] ? 0 : self->local_[size_t(node)];
  PetscCall(VecRestoreArrayWrite(coarse, &to));
  PetscCall(VecRestoreArrayRead(fine, &from));
  PetscFunctionReturn(0);
}

Multigrid::Places::Places(Level& level,
                          const std::function<std::unique_ptr<Splitting>(size_t)>& make,
                          Record& record, Show* show, int number)
    : pre(level.product, make(size_t(number)), record, show, number, kPreSmoothing),
      post(level.product, make(size_t(number)), record, show, number, kPostSmoothing),
      residual(level.product, make(size_t(number)), record, show, number, kResidual) {
  pre.set_residual(residual);
}

Multigrid::Multigrid(Levels& levels, const std::function<std::unique_ptr<Splitting>(size_t)>& make,
                     Record& record, Show* show)
    : levels_(levels), coarsest_(assembled(levels.back()->product)) {
  for (size_t level = 0; level + 1 < levels.size(); ++level) {
    places_.push_back(std::make_unique<Places>(*levels[level], make, record, show, int(level)));
    transfers_.push_back(std::make_unique<Transfer>(*levels[level + 1], *levels[level]));
  }
}

Multigrid::~Multigrid() { MatDestroy(&coarsest_); }

PetscErrorCode Multigrid::set_smoother(KSP smoother, const Product& product, size_t level,
                                       int smoothing) const {
  PC scaling;
  const double largest = levels_[level]->kernel->largest_eigenvalue();
  PetscFunctionBeginUser;
  PetscCall(KSPSetOperators(smoother, product.shell(), product.shell()));
  PetscCall(KSPSetType(smoother, KSPCHEBYSHEV));
  PetscCall(KSPChebyshevSetEigenvalues(smoother, largest, kSmoothed * largest));
  PetscCall(KSPSetNormType(smoother, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(smoother, KSPConvergedSkip, nullptr, nullptr));
  PetscCall(KSPSetTolerances(smoother, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, smoothing));
  PetscCall(KSPGetPC(smoother, &scaling));
  PetscCall(PCSetType(scaling, PCJACOBI));
  PetscFunctionReturn(0);
}

PetscErrorCode Multigrid::set_up(PC pc, int smoothing) {
  const size_t n = levels_.size();
  KSP solver;
  PC coarsest;
  PetscFunctionBeginUser;
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCMGSetLevels(pc, PetscInt(n), nullptr));
  PetscCall(PCMGSetDistinctSmoothUp(pc));
  for (size_t level = 0; level + 1 < n; ++level) {
    const auto number = PetscInt(n - 1 - level);  // PETSc counts from the coarsest
    const Places& places = *places_[level];
    PetscCall(PCMGSetInterpolation(pc, number, transfers_[level]->shell()));
    PetscCall(PCMGSetResidual(pc, number, Product::residual, places.residual.shell()));
    PetscCall(PCMGGetSmootherDown(pc, number, &solver));
    PetscCall(set_smoother(solver, places.pre, level, smoothing));
    PetscCall(PCMGGetSmootherUp(pc, number, &solver));
    PetscCall(set_smoother(solver, places.post, level, smoothing));
  }
  PetscCall(PCMGGetCoarseSolve(pc, &solver));
  PetscCall(KSPSetOperators(solver, coarsest_, coarsest_));
  PetscCall(KSPSetType(solver, KSPPREONLY));
  PetscCall(KSPGetPC(solver, &coarsest));
  PetscCall(PCSetType(coarsest, PCGAMG));
  PetscFunctionReturn(0);
}

}  // namespace poisson
