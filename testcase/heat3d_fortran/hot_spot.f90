! SPDX-License-Identifier: BSD-3-Clause
!
! hot_spot.f90 - extra work that moves through the box and makes another rank the slowest one every
! few steps: a known answer to check the measurement against.
module heat_hot_spot
  use, intrinsic :: iso_fortran_env, only: real64
  use heat_grid, only: grid_type
  implicit none
  private
  public :: hot_spot, work_for

contains

  ! The global numbers of the hot spot's point in step 1, 2, ..., n_steps: two turns of a helix about
  ! the z axis, from bottom to top.
  function hot_spot(grid, step, n_steps) result(point)
    type(grid_type), intent(in) :: grid
    integer, intent(in) :: step, n_steps
    integer :: point(3)
    real(real64) :: way, angle
    way = (step - 0.5_real64) / n_steps
    angle = 2 * (2 * acos(-1.0_real64)) * way
    point = 1 + int([0.5_real64 + 0.35_real64 * cos(angle), 0.5_real64 + 0.35_real64 * sin(angle), way] &
                    * grid%points)
  end function hot_spot

  ! Keeps this core busy for this many milliseconds of CPU time, so it costs the same if several ranks
  ! share a core.
  subroutine work_for(milliseconds)
    real(real64), intent(in) :: milliseconds
    real(real64) :: begin, now
    if (milliseconds <= 0) return
    call cpu_time(begin)
    do
      call cpu_time(now)
      if (now - begin >= milliseconds * 1e-3_real64) exit
    end do
  end subroutine work_for

end module heat_hot_spot
