! SPDX-License-Identifier: BSD-3-Clause
!
! fortran_others.f90 - neighbourhood collectives on a line of ranks with ends and on a ring, one-sided
! transfers to the right neighbour, and a file. The n-th transfer or file operation moves n integers;
! to the i-th neighbour MPI_Neighbor_alltoallv gives i integers, the others give 3 or 4.

module fortran_others
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_ptr
  use ring
  implicit none
  integer, parameter :: longest = 64
  integer, asynchronous :: in(longest), out(longest)
  integer :: i

contains

  subroutine others()
    out = [(10 * rank + i, i = 1, longest)]
    in = 0
    call exchange_with_neighbors()
    call transfer()
    call write_and_read()
  end subroutine

  subroutine exchange_with_neighbors()
    HANDLE(MPI_Comm) :: line, graph
    HANDLE(MPI_Request) :: request
    HANDLE(MPI_Datatype) :: types(2)
    integer :: sends(2), receives(2), places(2), threes(2)
    integer(kind=MPI_ADDRESS_KIND) :: byte_places(2)
    sends = [1, 2]
    receives = [2, 1]
    threes = 3
    places = [0, 8]
    byte_places = 4 * places
    types = MPI_INTEGER
    call MPI_Cart_create(comm, 1, [size], [.false.], .false., line ERR)
    call MPI_Neighbor_allgather(out, 3, MPI_INTEGER, in, 3, MPI_INTEGER, line ERR)
    call MPI_Neighbor_allgatherv(out, 3, MPI_INTEGER, in, threes, places, MPI_INTEGER, line ERR)
    call MPI_Neighbor_alltoall(out, 4, MPI_INTEGER, in, 4, MPI_INTEGER, line ERR)
    call MPI_Neighbor_alltoallv(out, sends, places, MPI_INTEGER, in, receives, places, &
                                MPI_INTEGER, line ERR)
    call arrived(in)
    call MPI_Comm_free(line ERR)
    ! MPICH's own mpi_f08 knows this one only on graphs.
    call MPI_Dist_graph_create_adjacent(comm, 1, [left], MPI_UNWEIGHTED, 1, [right], &
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph ERR)
    sends = 3
    call MPI_Neighbor_alltoallw(out, sends, byte_places, types, in, sends, byte_places, types, &
                                graph ERR)
    call arrived(in)
    call MPI_Ineighbor_alltoallw(out, sends, byte_places, types, in, sends, byte_places, types, &
                                 graph, request ERR)
    call MPI_Wait(request, MPI_STATUS_IGNORE ERR)
    call arrived(in)
    call MPI_Comm_free(graph ERR)
  end subroutine

  subroutine transfer()
    HANDLE(MPI_Win) :: window
    HANDLE(MPI_Request) :: request
    integer(kind=MPI_ADDRESS_KIND) :: place
    type(c_ptr) :: base
    integer, pointer :: memory(:)
    place = 4 * longest
    call MPI_Win_allocate(place, 4, MPI_INFO_NULL, comm, base, window ERR)
    call c_f_pointer(base, memory, [longest])
    memory = 0
    place = 0
    call MPI_Win_fence(0, window ERR)
    call MPI_Put(out, 1, MPI_INTEGER, right, place, 1, MPI_INTEGER, window ERR)
    call MPI_Put(out, 1, MPI_INTEGER, MPI_PROC_NULL, place, 1, MPI_INTEGER, window ERR)
    place = 8
    call MPI_Accumulate(out, 2, MPI_INTEGER, right, place, 2, MPI_INTEGER, MPI_SUM, window ERR)
    call MPI_Win_fence(0, window ERR)
    call MPI_Win_lock_all(0, window ERR)
    place = 0
    call MPI_Get(in, 3, MPI_INTEGER, right, place, 3, MPI_INTEGER, window ERR)
    call MPI_Win_flush(right, window ERR)
    place = 16
    call MPI_Rput(out, 4, MPI_INTEGER, right, place, 4, MPI_INTEGER, window, request ERR)
    call MPI_Wait(request, MPI_STATUS_IGNORE ERR)
    call MPI_Win_flush_all(window ERR)
    place = 32
    call MPI_Get_accumulate(out, 5, MPI_INTEGER, in, 5, MPI_INTEGER, right, place, 5, MPI_INTEGER, &
                            MPI_NO_OP, window ERR)
    call MPI_Fetch_and_op(out, in(8), MPI_INTEGER, right, place, MPI_SUM, window ERR)
    call MPI_Win_unlock_all(window ERR)
    call MPI_Barrier(comm ERR)
    call arrived(in)
    call arrived(memory)
    call MPI_Win_free(window ERR)
  end subroutine

  subroutine write_and_read()
    HANDLE(MPI_File) :: file
    HANDLE(MPI_Request) :: request
    STATUS :: status
    integer(kind=MPI_OFFSET_KIND) :: at
    call MPI_File_open(comm, 'data of Fortran  ', ior(MPI_MODE_RDWR, MPI_MODE_CREATE), &
                       MPI_INFO_NULL, file ERR)
    at = 0
    call MPI_File_set_view(file, at, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL ERR)
    at = 64 * rank
    call MPI_File_write_at(file, at, out, 1, MPI_INTEGER, MPI_STATUS_IGNORE ERR)
    call MPI_File_write_at(file, at, out, 2, MPI_INTEGER, status ERR)
    call MPI_File_iwrite_at(file, at, out, 3, MPI_INTEGER, request ERR)
    call MPI_Wait(request, MPI_STATUS_IGNORE ERR)
    call MPI_File_write_at_all(file, at, out, 4, MPI_INTEGER, MPI_STATUS_IGNORE ERR)
    call MPI_File_write_at_all_begin(file, at, out, 5, MPI_INTEGER ERR)
    call MPI_File_write_at_all_end(file, out, MPI_STATUS_IGNORE ERR)
    call MPI_File_read_at(file, at, in, 2, MPI_INTEGER, MPI_STATUS_IGNORE ERR)
    call MPI_File_read_at_all(file, at, in, 3, MPI_INTEGER, status ERR)
    at = 100000
    call MPI_File_read_at(file, at, in, 4, MPI_INTEGER, MPI_STATUS_IGNORE ERR)
    call arrived(in)
    call MPI_File_close(file ERR)
    if (rank == 0) call MPI_File_delete('data of Fortran', MPI_INFO_NULL ERR)
  end subroutine

end module
