! SPDX-License-Identifier: BSD-3-Clause
!
! euler.f90 - gas dynamics in one main program with procedures inside: rank 0 prints the time step that it
! gets by a reduction and sends to all.
include "textbook.inc"

program euler
  use ranks
  implicit none
  double precision :: gas(2) = 1, dt, mine
  integer :: step
  call begin()
  do step = 1, n_steps
    call fluxes()
    call update()
    mine = gas(1)
    call MPI_Reduce(mine, dt, 1, MPI_DOUBLE_PRECISION, MPI_MIN, 0, MPI_COMM_WORLD, error)
    if (rank == 0 .and. mod(step, 10) == 0) print *, step, dt
    call MPI_Bcast(dt, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
  end do
  call MPI_Finalize(error)
contains
  subroutine fluxes()
    integer :: way
    do way = 1, 2
      call MPI_Sendrecv(gas(1), 1, MPI_DOUBLE_PRECISION, mod(rank + way, n_ranks), way, gas(2), 1, &
                        MPI_DOUBLE_PRECISION, mod(rank + n_ranks - way, n_ranks), way, MPI_COMM_WORLD, &
                        MPI_STATUS_IGNORE, error)
    end do
    gas(1) = work(15d0)
  end subroutine

  subroutine update()
    gas(2) = work(5d0)
  end subroutine
end program
