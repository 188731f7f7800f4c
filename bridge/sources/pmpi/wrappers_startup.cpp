// SPDX-License-Identifier: BSD-3-Clause
//
// wrappers_startup.cpp - handwritten, because these calls start, end and switch the measurement and
// are not counted.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "call.hpp"
#include "channels.hpp"
#include "clocks.hpp"
#include "names.hpp"
#include "startup.hpp"
#include "unseen.hpp"

namespace perfield::pmpi {

__thread const void* fortran_frame = nullptr;

namespace {

void warn_of_another_mpi() noexcept {
  if (others_measure()) return;
  char name[256], sentence[640], reason[128] = "for which perfield has no wrappers";
  name_of_library(name, sizeof name);
  if (library.family != Family::other)
    snprintf(reason, sizeof reason, "but the loaded wrappers are for %s", kOurName);
  snprintf(sentence, sizeof sentence,
           "this program uses %s, %s; its MPI calls are not measured. Start it with the mpirun of "
           "its own MPI and with perfield-exec, which chooses the wrappers; if the program loads "
           "its MPI late, set PERFIELD_MPI to openmpi, mpich or mpi_abi",
           name, reason);
  perfield_warn_once_per_node("other mpi", sentence);
}

// The request of sends that MPI completes at once, as these to nobody are. Several are active at a
// time, so it stands for none of them.
MPI_Request find_done_request() noexcept {
  const auto isend = reinterpret_cast<decltype(&::MPI_Isend)>(function_of_mpi("PMPI_Isend"));
  const auto wait = reinterpret_cast<decltype(&::MPI_Wait)>(function_of_mpi("PMPI_Wait"));
  if (!isend || !wait) return library.no_request;
  MPI_Request requests[2], sent[2];
  for (int i = 0; i < 2; ++i) {
    if (isend(nullptr, 0, library.byte, MPI_PROC_NULL, 0, library.comm_world, &requests[i]))
      return library.no_request;
    sent[i] = requests[i];
  }
  for (MPI_Request& request : requests) wait(&request, MPI_STATUS_IGNORE);
  return sent[0] == sent[1] ? sent[0] : library.no_request;
}

}  // namespace

void begin() noexcept {
  saw_mpi_init = true;
  if (library.started) return;
  if (!fits()) return warn_of_another_mpi();
  int level = MPI_THREAD_SINGLE, rank = 0, size = 1;
  library.Query_thread(&level);
  library.concurrent = level == MPI_THREAD_MULTIPLE;
  library.Comm_rank(library.comm_world, &rank);
  library.Comm_size(library.comm_world, &size);
  compare_clocks_at_start(rank, size);
  prepare_sizes();
  prepare_peers();
  prepare_names();
  library.done_request = find_done_request();
  char name[256];
  name_of_library(name, sizeof name);
  perfield_source_present("pmpi");
  perfield_source_start(rank, size, name);
  prepare_channels();
  library.started = true;
  report_clocks();
  warn_of_unseen_functions();
}

bool end(const char* reason) noexcept {
  const bool measured = library.started;
  if (measured) perfield_source_end(reason);
  if (measured && !strcmp(reason, "finalize")) compare_clocks_at_end();
  library.started = false;
  return measured;
}

void control(int level) noexcept {
  if (library.started && (level == 0 || level == 1)) perfield_source_control(level);
}

}  // namespace perfield::pmpi

using namespace perfield::pmpi;

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

#if MPI_VERSION >= 4
PERFIELD_WRAPPER(MPI_Session_init,
                 (Wide<MPI_Info> info, Wide<MPI_Errhandler> errhandler, MPI_Session* session)) {
  const int result = next().Session_init(info, errhandler, session);
  if (!library.started)
    perfield_warn_once_per_node(
        "session",
        "this program starts MPI with a session (MPI_Session_init); perfield "
        "measures MPI calls only after MPI_Init");
  return result;
}
#endif

PERFIELD_WRAPPER(MPI_Finalize, ()) {
  const bool measured = end("finalize");
  const int result = next().Finalize();
  if (measured) perfield_source_summary();
  return result;
}

PERFIELD_WRAPPER(MPI_Abort, (Wide<MPI_Comm> comm, int errorcode)) {
  end("abort");
  return next().Abort(comm, errorcode);
}

// Other levels are for other tools; this wrapper cannot pass them on.
PERFIELD_WRAPPER(MPI_Pcontrol, (const int level, ...)) {
  control(level);
  return next().Pcontrol(level);
}
