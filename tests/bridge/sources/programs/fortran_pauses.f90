! SPDX-License-Identifier: BSD-3-Clause
!
! fortran_pauses.f90 - the n-th message to the right neighbour has n integers; the second one is sent
! while measuring is paused. With the argument `abort`, rank 0 then calls MPI_Abort.
#include "fortran_ring.inc"

program fortran_pauses
  use ring
  implicit none
  integer :: provided, code
  character(len=8) :: how

  call get_command_argument(1, how)
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided ERR)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm ERR)
  call MPI_Comm_rank(comm, rank ERR)
  call MPI_Comm_size(comm, size ERR)
  left = mod(rank + size - 1, size)
  right = mod(rank + 1, size)
  call pass(1)
  call MPI_Pcontrol(0 ERR)
  call pass(2)
  call MPI_Pcontrol(1 ERR)
  call pass(3)
  call MPI_Barrier(comm ERR)
  code = 7
  if (how == 'abort') call MPI_Abort(comm, code ERR)
  call MPI_Finalize(ONLY_ERR)

contains

  subroutine pass(n)
    integer, intent(in) :: n
    integer :: out(3), in(3)
    out = n
    call MPI_Sendrecv(out, n, MPI_INTEGER, right, 7, in, 3, MPI_INTEGER, left, 7, comm, &
                      MPI_STATUS_IGNORE ERR)
  end subroutine

end program
