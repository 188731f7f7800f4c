// SPDX-License-Identifier: BSD-3-Clause
//
// products.hpp - the operator as PETSc sees it: shell matrices. Each place in a solver that
// multiplies (level and phase) has a shell of its own, and with it a splitting of its own.
#pragma once

#include <petscksp.h>

#include <memory>

#include "operator.hpp"
#include "record.hpp"
#include "show.hpp"
#include "splitting.hpp"

namespace poisson {

class Product {
 public:
  Product(Operator& of, std::unique_ptr<Splitting> splitting, Record& record, Show* show, int level,
          Phase phase);
  ~Product();
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  Mat shell() const { return shell_; }
  // residual() multiplies with `other` where PETSc hands it this one: PCMG takes the matrix of the
  // smoother, whatever matrix it was given for residuals.
  void set_residual(const Product& other) { for_residual_ = &other; }
  // r = b - A x.
  static PetscErrorCode residual(Mat shell, Vec b, Vec x, Vec r);

 private:
  static PetscErrorCode multiply(Mat shell, Vec x, Vec y);
  static PetscErrorCode diagonal(Mat shell, Vec diagonal);

  Operator& of_;
  const std::unique_ptr<Splitting> splitting_;
  Record& record_;
  Show* const show_;
  const int level_;
  const Phase phase_;
  Mat shell_ = nullptr;
  const Product* for_residual_ = this;
};

// The matrix itself, in PETSc's format. Collective.
Mat assembled(Operator& of);

}  // namespace poisson
