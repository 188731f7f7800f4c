! SPDX-License-Identifier: BSD-3-Clause
!
! ocean.f90 - a model of modules: halos of two fields, a solver for the surface of 12 iterations with a sum
! each, the stable time step, and diagnostics each sixth step.
module ranks
  use mpi
  use iso_c_binding, only: c_int
  implicit none
  interface
    integer(c_int) function usleep(microseconds) bind(c)
      import c_int
      integer(c_int), value :: microseconds
    end function
  end interface
  integer :: rank, n_ranks, slow = -1, n_steps = 40, error
  double precision :: times = 1
contains
  subroutine begin()
    character(len=32) :: word
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, error)
    if (command_argument_count() > 0) then
      call get_command_argument(1, word)
      read (word, *) n_steps
    end if
    if (command_argument_count() > 2) then
      call get_command_argument(2, word)
      read (word, *) slow
      call get_command_argument(3, word)
      read (word, *) times
    end if
  end subroutine

  function work(units) result(x)
    double precision, intent(in) :: units
    double precision :: x
    x = usleep(int(100 * units * merge(times, 1d0, rank == slow), c_int))
  end function
end module

module ocean_model
  use ranks
  implicit none
  double precision :: u(2) = 1, v(2) = 1, eta(2) = 1
contains
  subroutine halo(field)
    double precision, intent(inout) :: field(2)
    integer :: next, last
    next = mod(rank + 1, n_ranks)
    last = mod(rank + n_ranks - 1, n_ranks)
    call MPI_Sendrecv(field(1), 1, MPI_DOUBLE_PRECISION, next, 0, field(2), 1, MPI_DOUBLE_PRECISION, last, 0, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  end subroutine

  subroutine momentum()
    u(1) = work(6d0)
    call halo(u)
    v(1) = work(6d0)
    call halo(v)
  end subroutine

  subroutine surface()
    double precision :: all
    integer :: i
    do i = 1, 12
      call halo(eta)
      eta(1) = work(0.5d0)
      call MPI_Allreduce(eta(1), all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    end do
  end subroutine

  subroutine time_step()
    double precision :: dt
    call MPI_Allreduce(u(1), dt, 1, MPI_DOUBLE_PRECISION, MPI_MIN, MPI_COMM_WORLD, error)
  end subroutine

  subroutine diagnostics()
    double precision :: all
    call MPI_Reduce(u(1), all, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, error)
    call MPI_Reduce(v(1), all, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, error)
  end subroutine
end module

program ocean
  use ocean_model
  implicit none
  integer :: step
  call begin()
  do step = 1, n_steps
    call momentum()
    call surface()
    call time_step()
    if (mod(step, 6) == 0) call diagnostics()
  end do
  call MPI_Finalize(error)
end program
