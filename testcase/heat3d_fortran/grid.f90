! SPDX-License-Identifier: BSD-3-Clause
!
! grid.f90 - the points of the box, and this rank's block of them. Points 1 to n along each
! direction are computed; 0 and n + 1 lie on the walls.
module heat_grid
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use heat_input, only: input_type
  implicit none
  private
  public :: grid_type, divide, position_of, holds

  ! This rank's block. Its arrays have one more layer on each side (the halo, 0 and n + 1): the
  ! neighbour's outermost layer, or the wall.
  type grid_type
    integer :: points(3)           ! of the whole box, without walls
    integer :: n(3)                ! of this rank, without halo
    integer :: first(3)            ! global number of this rank's local point 0
    real(real64) :: d(3)           ! distance between points, m
    type(MPI_Comm) :: ranks        ! MPI_COMM_WORLD's ranks in the same order, as a box
    integer :: below(3), above(3)  ! neighbours along x, y, z, or MPI_PROC_NULL
  end type grid_type

contains

  ! Divides the box among the ranks into equal blocks.
  type(grid_type) function divide(input) result(grid)
    type(input_type), intent(in) :: input
    integer :: rank, direction, place(3)
    grid%points = input%points
    grid%d = input%d_dim
    call MPI_Cart_create(MPI_COMM_WORLD, 3, input%minds, [.false., .false., .false.], .false., grid%ranks)
    call MPI_Comm_rank(grid%ranks, rank)
    call MPI_Cart_coords(grid%ranks, rank, 3, place)
    grid%n = input%points / input%minds
    grid%first = place * grid%n
    do direction = 1, 3
      call MPI_Cart_shift(grid%ranks, direction - 1, 1, grid%below(direction), grid%above(direction))
    end do
  end function divide

  ! The position of global point number `point`, in m.
  elemental real(real64) function position_of(grid, direction, point) result(x)
    type(grid_type), intent(in) :: grid
    integer, intent(in) :: direction, point
    x = grid%d(direction) * point
  end function position_of

  ! Whether this rank computes the point with these global numbers.
  logical function holds(grid, point)
    type(grid_type), intent(in) :: grid
    integer, intent(in) :: point(3)
    holds = all(point > grid%first .and. point <= grid%first + grid%n)
  end function holds

end module heat_grid
