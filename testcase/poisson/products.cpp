// SPDX-License-Identifier: BSD-3-Clause
#include "products.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace poisson {

Product::Product(Operator& of, std::unique_ptr<Splitting> splitting, Record& record, Show* show,
                 int level, Phase phase)
    : of_(of),
      splitting_(std::move(splitting)),
      record_(record),
      show_(show),
      level_(level),
      phase_(phase) {
  const PetscInt n = of.mesh().n_owned, all = PetscInt(of.mesh().all_nodes);
  const auto make = [&]() -> PetscErrorCode {
    PetscFunctionBeginUser;
    PetscCall(MatCreateShell(of.comm(), n, n, all, all, this, &shell_));
    PetscCall(MatShellSetOperation(shell_, MATOP_MULT,
                                   reinterpret_cast<void (*)(void)>(&Product::multiply)));
    PetscCall(MatShellSetOperation(shell_, MATOP_GET_DIAGONAL,
                                   reinterpret_cast<void (*)(void)>(&Product::diagonal)));
    PetscCall(MatSetOption(shell_, MAT_SPD, PETSC_TRUE));
    PetscFunctionReturn(0);
  };
  PetscCallAbort(of.comm(), make());
}

Product::~Product() { MatDestroy(&shell_); }

PetscErrorCode Product::multiply(Mat shell, Vec x, Vec y) {
  Product* self;
  const PetscScalar* from;
  PetscScalar* to;
  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(shell, &self));
  PetscCall(VecGetArrayRead(x, &from));
  PetscCall(VecGetArrayWrite(y, &to));
  MatVec one{};
  one.level = self->level_;
  one.phase = self->phase_;
  self->of_.apply(from, to, *self->splitting_, self->record_, one);
  self->record_.add(one);
  if (self->show_) self->show_->matvec(one);
  PetscCall(VecRestoreArrayWrite(y, &to));
  PetscCall(VecRestoreArrayRead(x, &from));
  PetscFunctionReturn(0);
}

PetscErrorCode Product::residual(Mat shell, Vec b, Vec x, Vec r) {
  Product* self;
  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(shell, &self));
  PetscCall(MatMult(self->for_residual_->shell(), x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscFunctionReturn(0);
}

PetscErrorCode Product::diagonal(Mat shell, Vec diagonal) {
  Product* self;
  PetscScalar* to;
  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(shell, &self));
  const std::vector<double> values = self->of_.diagonal();
  PetscCall(VecGetArrayWrite(diagonal, &to));
  std::copy_n(values.begin(), self->of_.mesh().n_owned, to);
  PetscCall(VecRestoreArrayWrite(diagonal, &to));
  PetscFunctionReturn(0);
}

namespace {

// Global numbers of all local nodes. A double holds them exactly.
std::vector<PetscInt> global_numbers(Operator& of) {
  const Mesh& mesh = of.mesh();
  std::vector<double> numbers(size_t(mesh.n_owned + mesh.n_ghosts));
  for (int node = 0; node < mesh.n_owned; ++node)
    numbers[size_t(node)] = double(mesh.first_node + node);
  of.exchange().update_ghosts(numbers.data());
  return {numbers.begin(), numbers.end()};
}

// Visits each element's matrix, column by column, as the kernel computes it.
template <class Add>
PetscErrorCode each_element(Operator& of, Add add) {
  const Mesh& mesh = of.mesh();
  const size_t n = mesh.n_elements ? mesh.nodes.size() / size_t(mesh.n_elements) : 0;
  std::vector<double> unit(size_t(mesh.n_owned + mesh.n_ghosts)), product(unit.size());
  std::vector<double> matrix(n * n);
  PetscFunctionBeginUser;
  for (int e = 0; e < mesh.n_elements; ++e) {
    const int* nodes = &mesh.nodes[size_t(e) * n];
    for (size_t column = 0; column < n; ++column) {
      for (size_t row = 0; row < n; ++row) product[size_t(nodes[row])] = 0;
      unit[size_t(nodes[column])] = 1;
      of.kernel().apply(e, e + 1, unit.data(), product.data());
      unit[size_t(nodes[column])] = 0;
      for (size_t row = 0; row < n; ++row) {
        const bool couples = !mesh.fixed[size_t(nodes[row])] && !mesh.fixed[size_t(nodes[column])];
        matrix[row * n + column] = couples ? product[size_t(nodes[row])] : 0;
      }
    }
    PetscCall(add(nodes, PetscInt(n), matrix));
  }
  PetscFunctionReturn(0);
}

}  // namespace

Mat assembled(Operator& of) {
  Mat matrix = nullptr;
  const auto make = [&]() -> PetscErrorCode {
    const Mesh& mesh = of.mesh();
    const PetscInt n = mesh.n_owned, all = PetscInt(mesh.all_nodes);
    const PetscInt per_row = (2 * mesh.order + 1) * (2 * mesh.order + 1) * (2 * mesh.order + 1);
    const std::vector<PetscInt> numbers = global_numbers(of);
    PetscFunctionBeginUser;
    PetscCall(MatCreateAIJ(of.comm(), n, n, all, all, std::min(per_row, all), nullptr,
                           std::min(per_row, all), nullptr, &matrix));
    PetscCall(MatSetOption(matrix, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    std::vector<PetscInt> rows;
    PetscCall(
        each_element(of, [&](const int* nodes, PetscInt count, const std::vector<double>& values) {
          rows.clear();
          for (PetscInt node = 0; node < count; ++node)
            rows.push_back(numbers[size_t(nodes[node])]);
          return MatSetValues(matrix, count, rows.data(), count, rows.data(), values.data(),
                              ADD_VALUES);
        }));
    for (int node = 0; node < mesh.n_owned; ++node)
      if (mesh.fixed[size_t(node)])
        PetscCall(MatSetValue(matrix, numbers[size_t(node)], numbers[size_t(node)], 1, ADD_VALUES));
    PetscCall(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
    // Not MAT_SPD: GAMG of PETSc 3.18 would estimate eigenvalues by CG, which reads memory that it
    // never wrote where it ends before its tenth iteration, as on a small mesh. Now GMRES estimates
    // them.
    PetscFunctionReturn(0);
  };
  PetscCallAbort(of.comm(), make());
  return matrix;
}

}  // namespace poisson
