// SPDX-License-Identifier: BSD-3-Clause
//
// fortran_bindings.hpp - one handwritten body serves the same function in mpif.h, `use mpi` and
// mpi_f08. It gets the next function of its binding. It is inlined, so that the wrapper's return
// address is the place of the call in the program.
#pragma once

#include "fortran.hpp"

using namespace perfield::pmpi;

#define PERFIELD_BODY                       \
  template <Binding binding, typename Next> \
  [[gnu::always_inline]] inline void

#define PERFIELD_BINDINGS(name, body, parameters, ...)           \
  PERFIELD_FORTRAN name##_ parameters {                          \
    body<Binding::mpifh>(PERFIELD_NEXT(name##_), __VA_ARGS__);   \
  }                                                              \
  PERFIELD_ALIAS(name)                                           \
  PERFIELD_FORTRAN name##_f08_ parameters {                      \
    body<Binding::f08>(PERFIELD_NEXT(name##_f08_), __VA_ARGS__); \
  }
