! SPDX-License-Identifier: BSD-3-Clause
!
! heat.f90 - the temperature of this rank's block and how it changes in a time step: first order in
! time (forward), second order in space (central).
module heat_equation
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use heat_grid, only: grid_type, position_of
  use heat_input, only: input_type
  implicit none
  private
  public :: heat_type, start, advance, checksum, largest_error

  integer, parameter, public :: temperature = 1, change = 2, variables = 2
  real(real64), parameter :: pi = acos(-1.0_real64)

  ! q(variable, i, j, k): temperature in K, with the halo, and its change in the last step in K.
  type heat_type
    real(real64), allocatable :: q(:, :, :, :)
    real(real64) :: weight(3) ! diffusivity * dt / d^2
    real(real64) :: decay = 0 ! of the sine wave, 1/s
  end type heat_type

contains

  ! The initial temperature: internal_T between six walls. With `verify`, a sine wave along each
  ! direction between walls of 0 K, which has a known solution.
  subroutine start(heat, input, grid)
    type(heat_type), intent(out) :: heat
    type(input_type), intent(in) :: input
    type(grid_type), intent(in) :: grid
    integer :: d, i, j, k, point(3)
    real(real64) :: wave_number
    do d = 1, 3
      wave_number = pi / position_of(grid, d, grid%points(d) + 1)
      heat%weight(d) = input%thermal_diffusivity * input%dt / (grid%d(d) * grid%d(d))
      heat%decay = heat%decay + input%thermal_diffusivity * wave_number * wave_number
    end do
    allocate (heat%q(variables, 0:grid%n(1) + 1, 0:grid%n(2) + 1, 0:grid%n(3) + 1))
    heat%q(temperature, :, :, :) = input%internal_T
    heat%q(change, :, :, :) = 0
    do k = 0, grid%n(3) + 1
      do j = 0, grid%n(2) + 1
        do i = 0, grid%n(1) + 1
          point = grid%first + [i, j, k]
          if (input%verify) heat%q(temperature, i, j, k) = sine_wave(grid, i, j, k)
          do d = 1, 3
            if (point(d) /= 0 .and. point(d) /= grid%points(d) + 1) cycle
            heat%q(temperature, i, j, k) = input%boundary_conditions(2 * d - merge(1, 0, point(d) == 0))
            if (input%verify) heat%q(temperature, i, j, k) = 0
          end do
        end do
      end do
    end do
  end subroutine start

  ! Computes one time step for this rank's points; the halo must be up to date. Returns the largest
  ! change of any point, in K.
  real(real64) function advance(heat, grid) result(largest)
    type(heat_type), intent(inout) :: heat
    type(grid_type), intent(in) :: grid
    integer :: i, j, k
    largest = 0
    associate (q => heat%q, w => heat%weight, t => temperature)
      do k = 1, grid%n(3)
        do j = 1, grid%n(2)
          do i = 1, grid%n(1)
            q(change, i, j, k) = w(1) * (q(t, i - 1, j, k) - 2 * q(t, i, j, k) + q(t, i + 1, j, k)) + &
                                 w(2) * (q(t, i, j - 1, k) - 2 * q(t, i, j, k) + q(t, i, j + 1, k)) + &
                                 w(3) * (q(t, i, j, k - 1) - 2 * q(t, i, j, k) + q(t, i, j, k + 1))
            largest = max(largest, abs(q(change, i, j, k)))
          end do
        end do
      end do
      do k = 1, grid%n(3)
        do j = 1, grid%n(2)
          do i = 1, grid%n(1)
            q(t, i, j, k) = q(t, i, j, k) + q(change, i, j, k)
          end do
        end do
      end do
    end associate
  end function advance

  ! A number that changes with any bit of any temperature. Its sum over the ranks does not depend on
  ! how the box is divided. It overflows on purpose.
  integer(int64) function checksum(heat, grid) result(total)
    type(heat_type), intent(in) :: heat
    type(grid_type), intent(in) :: grid
    integer(int64), parameter :: first_factor = ior(shiftl(2654435769_int64, 32), 2135587861_int64)
    integer(int64), parameter :: second_factor = ior(shiftl(3210233709_int64, 32), 484763065_int64)
    integer(int64) :: bits, point(3)
    integer :: i, j, k
    total = 0
    do k = 1, grid%n(3)
      do j = 1, grid%n(2)
        do i = 1, grid%n(1)
          point = int(grid%first + [i, j, k], int64)
          bits = transfer(heat%q(temperature, i, j, k), bits)
          bits = ieor(bits, point(1) + shiftl(point(2), 21) + shiftl(point(3), 42)) * first_factor
          total = total + ieor(bits, shiftr(bits, 29)) * second_factor
        end do
      end do
    end do
  end function checksum

  ! The largest deviation from the known solution of the `verify` case after `time` seconds, in K.
  real(real64) function largest_error(heat, grid, time) result(largest)
    type(heat_type), intent(in) :: heat
    type(grid_type), intent(in) :: grid
    real(real64), intent(in) :: time
    integer :: i, j, k
    largest = 0
    do k = 1, grid%n(3)
      do j = 1, grid%n(2)
        do i = 1, grid%n(1)
          largest = max(largest, abs(heat%q(temperature, i, j, k) - &
                                     sine_wave(grid, i, j, k) * exp(-heat%decay * time)))
        end do
      end do
    end do
  end function largest_error

  real(real64) function sine_wave(grid, i, j, k) result(value)
    type(grid_type), intent(in) :: grid
    integer, intent(in) :: i, j, k
    integer :: d, point(3)
    point = grid%first + [i, j, k]
    value = 1
    do d = 1, 3
      value = value * sin(pi * point(d) / (grid%points(d) + 1))
    end do
  end function sine_wave

end module heat_equation
