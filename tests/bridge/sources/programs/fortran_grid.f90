! SPDX-License-Identifier: BSD-3-Clause
!
! fortran_grid.f90 - makes a Cartesian communicator and prints where MPI puts each rank: world rank, coordinates.
program fortran_grid
#if defined(USE_F08)
  use mpi_f08
  implicit none
  type(MPI_Comm) :: grid
#elif defined(USE_MPI)
  use mpi
  implicit none
  integer :: grid
#else
  implicit none
  include 'mpif.h'
  integer :: grid
#endif
  integer :: world_rank, rank, place(2), ierror
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, world_rank, ierror)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, [2, 2], [.true., .false.], .true., grid, ierror)
  call MPI_Comm_rank(grid, rank, ierror)
  call MPI_Cart_coords(grid, rank, 2, place, ierror)
  write (*, '(3(i0, 1x))') world_rank, place
  call MPI_Finalize(ierror)
end program
