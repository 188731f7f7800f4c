// SPDX-License-Identifier: BSD-3-Clause
//
// wrappers_startup.cpp - written by hand, because these are the beginning, the end and the
// switches of the measurement rather than calls to be counted.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "call.hpp"
#include "peers.hpp"
#include "startup.hpp"

#define PERFIELD_BUILDING_LIBRARY 1
#include "include/perfield.h"

namespace perfield::pmpi {

__thread bool inside_fortran = false;

void begin() noexcept {
  if (library.awake) return;
  if (!fits()) {
    char sentence[512], name[256];
    name_of_library(name, sizeof name);
    snprintf(sentence, sizeof sentence,
             "this program uses %s, but the wrappers loaded are those for Open MPI; its MPI calls "
             "are not measured. Start it with perfield-exec, which chooses the wrappers.",
             name);
    perfield_source_tell("other mpi", sentence);
    return;
  }
  int level = MPI_THREAD_SINGLE, rank = 0, size = 1;
  library.Query_thread(&level);
  library.concurrent = level == MPI_THREAD_MULTIPLE;
  library.Comm_rank(library.comm_world, &rank);
  library.Comm_size(library.comm_world, &size);
  prepare_peers();
  char name[256];
  name_of_library(name, sizeof name);
  perfield_source_present("pmpi");
  perfield_source_wake(rank, size, name);
  library.awake = true;
}

bool end(const char* reason) noexcept {
  const bool measured = library.awake;
  if (measured) perfield_source_end(reason);
  library.awake = false;
  return measured;
}

void control(int level) noexcept {
  static std::atomic<bool> paused{false};
  if (library.awake && level == 0 && !paused.exchange(true)) perfield_pause();
  if (library.awake && level == 1 && (paused.exchange(false) || !perfield_measuring()))
    perfield_resume();
}

}  // namespace perfield::pmpi

using namespace perfield::pmpi;

PERFIELD_WRAPPER MPI_Init(int* argc, char*** argv) {
  const int result = next().Init(argc, argv);
  if (result == MPI_SUCCESS) begin();
  return result;
}

PERFIELD_WRAPPER MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int result = next().Init_thread(argc, argv, required, provided);
  if (result == MPI_SUCCESS) begin();
  return result;
}

PERFIELD_WRAPPER MPI_Finalize() {
  const bool measured = end("finalize");
  const int result = next().Finalize();
  if (measured) perfield_source_summary();
  return result;
}

PERFIELD_WRAPPER MPI_Abort(MPI_Comm comm, int errorcode) {
  end("abort");
  return next().Abort(comm, errorcode);
}

// What else a program passes is for other tools, and cannot be handed on from here.
PERFIELD_WRAPPER MPI_Pcontrol(const int level, ...) {
  control(level);
  return next().Pcontrol(level);
}
