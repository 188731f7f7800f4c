! SPDX-License-Identifier: BSD-3-Clause
!
! fortran_large.f90 - 8-byte counts of MPI 4's mpi_f08, where each name has a second function. The
! n-th call moves n integers.
#include "fortran_ring.inc"

program fortran_large
  use ring
  implicit none
  integer, asynchronous :: out(64), in(64)
  integer(kind=MPI_COUNT_KIND) :: n, longest, counts(64)
  integer(kind=MPI_ADDRESS_KIND) :: places(64)
  HANDLE(MPI_Request) :: request
  integer :: i

  call begin()
  longest = 64
  out = rank
  n = 1
  call MPI_Irecv(in, longest, MPI_INTEGER, MPI_ANY_SOURCE, 7, comm, request)
  call MPI_Send(out, n, MPI_INTEGER, right, 7, comm)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  n = 2
  call MPI_Sendrecv(out, n, MPI_INTEGER, right, 7, in, longest, MPI_INTEGER, left, 7, comm, &
                    MPI_STATUS_IGNORE)
  n = 3
  call MPI_Allreduce(MPI_IN_PLACE, in, n, MPI_INTEGER, MPI_SUM, comm)
  counts = 4
  places = [(4 * i, i = 0, 63)]
  n = 4
  call MPI_Allgatherv(out, n, MPI_INTEGER, in, counts, places, MPI_INTEGER, comm)
  call arrived(in)
  call finish()

end program
