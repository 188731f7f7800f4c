! SPDX-License-Identifier: BSD-3-Clause
!
! ocean.f90 - a model of modules: halos of two fields, a solver for the surface of 12 iterations with a sum
! each, the stable time step, and diagnostics each sixth step.
include "textbook.inc"

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
