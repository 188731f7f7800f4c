// SPDX-License-Identifier: BSD-3-Clause
//
// constant_handles.hpp - for binary interfaces in which mpi.h defines the constant handles: none
// has to be looked for in the library.
#pragma once

namespace perfield::pmpi {

template <typename Library, typename FindObject>
void find_objects(Library& library, FindObject) {
  library.comm_world = MPI_COMM_WORLD;
  library.comm_self = MPI_COMM_SELF;
  library.comm_null = MPI_COMM_NULL;
  library.errors_return = MPI_ERRORS_RETURN;
  library.byte = MPI_BYTE;
  library.type_null = MPI_DATATYPE_NULL;
  library.win_null = MPI_WIN_NULL;
  library.no_op = MPI_NO_OP;
  library.no_request = MPI_REQUEST_NULL;
  library.no_message = MPI_MESSAGE_NO_PROC;
}

template <typename Library>
bool has_objects(const Library&) {
  return true;
}

}  // namespace perfield::pmpi
