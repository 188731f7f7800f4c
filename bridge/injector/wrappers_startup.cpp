// SPDX-License-Identifier: BSD-3-Clause
//
// wrappers_startup.cpp - handwritten: calls that start and end the injection.
#include "injection.hpp"

namespace perfield::pmpi {
__thread const void* fortran_frame = nullptr;
}

using namespace perfield::injector;

PERFIELD_WRAPPER(MPI_Init, (int* argc, char*** argv)) {
  const int result = next().Init(argc, argv);
  if (result == MPI_SUCCESS) begin();
  return result;
}

PERFIELD_WRAPPER(MPI_Init_thread, (int* argc, char*** argv, int required, int* provided)) {
  const int result = next().Init_thread(argc, argv, required, provided);
  if (result == MPI_SUCCESS) begin();
  return result;
}

PERFIELD_WRAPPER(MPI_Finalize, ()) {
  const bool was_injecting = end();
  const int result = next().Finalize();
  if (was_injecting) clean_up();
  return result;
}
