// SPDX-License-Identifier: BSD-3-Clause
//
// abi_openmpi.hpp - the part that is specific to Open MPI: handles are addresses, and the constant
// ones are named objects inside libmpi.
#pragma once

#define PERFIELD_BEHIND perfield_behind_openmpi

namespace perfield::pmpi {

inline constexpr Family kOurs = Family::openmpi, kOthers = Family::mpich;
inline constexpr char kOurName[] = "Open MPI";
inline constexpr char kBehindOthers[] = "perfield_behind_mpich";

// What a status holds: the bytes received, and whether the request was cancelled.
inline uint64_t received_bytes(const MPI_Status& status) noexcept { return status._ucount; }
inline bool was_cancelled(const MPI_Status& status) noexcept { return status._cancelled; }

// find_object(place, name)
template <typename Library, typename FindObject>
void find_objects(Library& library, FindObject find_object) {
  find_object(library.comm_world, "ompi_mpi_comm_world");
  find_object(library.comm_self, "ompi_mpi_comm_self");
  find_object(library.comm_null, "ompi_mpi_comm_null");
  find_object(library.errors_return, "ompi_mpi_errors_return");
  find_object(library.byte, "ompi_mpi_byte");
  find_object(library.type_null, "ompi_mpi_datatype_null");
  find_object(library.win_null, "ompi_mpi_win_null");
  find_object(library.no_op, "ompi_mpi_op_no_op");
  find_object(library.no_request, "ompi_request_null");
  find_object(library.no_message, "ompi_message_no_proc");
}

template <typename Library>
bool has_objects(const Library& library) {
  return library.comm_world && library.comm_self && library.comm_null && library.errors_return &&
         library.byte && library.type_null && library.win_null && library.no_op &&
         library.no_request && library.no_message;
}

}  // namespace perfield::pmpi
