! SPDX-License-Identifier: BSD-3-Clause
!
! shallow.f90 - shallow water with mpi_f08: a grid of a derived type, halos by nonblocking messages in a
! procedure bound to it, two stages, and the largest speed of each step.
module water_of_ranks
  use mpi_f08
  use iso_c_binding, only: c_int
  implicit none
  interface
    integer(c_int) function usleep(microseconds) bind(c)
      import c_int
      integer(c_int), value :: microseconds
    end function
  end interface
  type :: water
    double precision :: height(2) = 1
    integer :: rank, n_ranks, slow = -1
    double precision :: times = 1
  contains
    procedure :: exchange, stage
  end type
contains
  subroutine exchange(this)
    class(water), intent(inout), asynchronous :: this
    type(MPI_Request) :: requests(2)
    call MPI_Irecv(this%height(2), 1, MPI_DOUBLE_PRECISION, mod(this%rank + this%n_ranks - 1, this%n_ranks), 0, &
                   MPI_COMM_WORLD, requests(1))
    call MPI_Isend(this%height(1), 1, MPI_DOUBLE_PRECISION, mod(this%rank + 1, this%n_ranks), 0, &
                   MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  end subroutine

  subroutine stage(this)
    class(water), intent(inout) :: this
    call this%exchange()
    this%height(1) = usleep(int(1000 * merge(this%times, 1d0, this%rank == this%slow), c_int))
  end subroutine
end module

program shallow
  use water_of_ranks
  implicit none
  type(water) :: lake
  integer :: step, n_steps = 40
  double precision :: speed
  character(len=32) :: word
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, lake%rank)
  call MPI_Comm_size(MPI_COMM_WORLD, lake%n_ranks)
  if (command_argument_count() > 0) then
    call get_command_argument(1, word)
    read (word, *) n_steps
  end if
  if (command_argument_count() > 2) then
    call get_command_argument(2, word)
    read (word, *) lake%slow
    call get_command_argument(3, word)
    read (word, *) lake%times
  end if
  do step = 1, n_steps
    call lake%stage()
    call lake%stage()
    call MPI_Allreduce(lake%height(1), speed, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  end do
  call MPI_Finalize()
end program
