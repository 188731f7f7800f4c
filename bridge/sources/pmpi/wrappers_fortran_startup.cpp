// SPDX-License-Identifier: BSD-3-Clause
//
// wrappers_fortran_startup.cpp - Fortran calls that start, end and switch the measurement: see
// wrappers_startup.cpp.
#include "fortran.hpp"
#include "fortran_bindings.hpp"
#include "startup.hpp"

namespace {

PERFIELD_BODY init(Next next, MPI_Fint* ierror) {
  MPI_Fint own = MPI_SUCCESS;
  if (!ierror) ierror = &own;
  next(ierror);
  if (*ierror == MPI_SUCCESS) begin();
}

PERFIELD_BODY init_thread(Next next, const MPI_Fint* required, MPI_Fint* provided,
                          MPI_Fint* ierror) {
  MPI_Fint own = MPI_SUCCESS;
  if (!ierror) ierror = &own;
  next(required, provided, ierror);
  if (*ierror == MPI_SUCCESS) begin();
}

PERFIELD_BODY finalize(Next next, MPI_Fint* ierror) {
  const bool measured = end("finalize");
  next(ierror);
  if (measured) perfield_source_summary();
}

PERFIELD_BODY abort(Next next, const Fortran<MPI_Comm>* comm, const MPI_Fint* errorcode,
                    MPI_Fint* ierror) {
  end("abort");
  next(comm, errorcode, ierror);
}

// Many programs pass no ierror here, and not all MPIs have one: never read or write it.
PERFIELD_BODY pcontrol(Next next, const MPI_Fint* level, MPI_Fint* ierror) {
  control(*level);
  next(level, ierror);
}

}  // namespace

PERFIELD_BINDINGS(mpi_init, init, (MPI_Fint * ierror), ierror)
PERFIELD_BINDINGS(mpi_init_thread, init_thread,
                  (const MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror), required,
                  provided, ierror)
PERFIELD_BINDINGS(mpi_finalize, finalize, (MPI_Fint * ierror), ierror)
PERFIELD_BINDINGS(mpi_abort, abort,
                  (const Fortran<MPI_Comm>* comm, const MPI_Fint* errorcode, MPI_Fint* ierror),
                  comm, errorcode, ierror)
PERFIELD_BINDINGS(mpi_pcontrol, pcontrol, (const MPI_Fint* level, MPI_Fint* ierror), level, ierror)
