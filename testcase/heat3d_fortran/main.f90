! SPDX-License-Identifier: BSD-3-Clause
!
! heat3d in Fortran - heat diffusion in a box, divided among MPI ranks; identical to heat3d in C++ to
! the bit. It shows how to instrument a Fortran simulation for perfield: describe the mesh once
! (show.f90), name the regions of interest, and say when a time step ends. No other code here knows
! perfield.
program heat3d_fortran
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use mpi_f08
  use perfield
  use heat_equation
  use heat_exchange
  use heat_grid
  use heat_hot_spot
  use heat_input
  use heat_show
  implicit none
  type(input_type) :: input
  integer :: rank, n_ranks

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n_ranks)
  input = read_input(n_ranks)
  if (input%wrong == '') then
    call simulate()
  else if (rank == 0) then
    write (error_unit, '(3a)') 'heat3d_fortran: ', trim(input%wrong), '.'
  end if
  call MPI_Finalize()
  if (input%wrong /= '') error stop

contains

  subroutine simulate()
    type(grid_type) :: grid
    type(heat_type), target :: heat
    type(exchange_type) :: halo
    integer :: solver_loop, halo_exchange, convergence
    integer :: step
    logical :: converged, hot
    real(real64) :: largest

    grid = divide(input)
    call start(heat, input, grid)
    call prepare(halo, input%exchange, grid, heat)
    call exchange(halo, grid, heat%q)

    call show_mesh(grid, heat)
    solver_loop = perfield_region_define('solver_loop')
    halo_exchange = perfield_region_define('halo_exchange')
    convergence = perfield_region_define('convergence')

    call perfield_initialize() ! the time loop starts: everything before is setup
    step = 0
    converged = .false.
    do while (step < input%max_num_time_steps .and. .not. converged)
      step = step + 1
      hot = holds(grid, hot_spot(grid, step, input%max_num_time_steps))

      call perfield_region_begin(solver_loop)
      largest = advance(heat, grid)
      if (hot) call work_for(input%hot_spot)
      call perfield_region_end(solver_loop)

      call perfield_region_begin(halo_exchange)
      call exchange(halo, grid, heat%q)
      call perfield_region_end(halo_exchange)

      if (input%check_convergence .or. input%print_log) then
        call perfield_region_begin(convergence)
        largest = largest_of_all(largest)
        converged = input%check_convergence .and. largest < input%precision_T
        call perfield_region_end(convergence)
      end if
      if (input%print_log .and. rank == 0) &
        print '(a, i0, 2(a, g0), a)', 'step ', step, ': time ', step * input%dt, ' s, largest change ', largest, ' K'
      if (input%print_hot_spot) call print_hot_spot(grid, step, hot)
      call perfield_step(step, step * input%dt)
    end do
    call print_result(grid, heat, step, step * input%dt)
    call release(halo)
  end subroutine simulate

  real(real64) function largest_of_all(mine) result(largest)
    real(real64), intent(in) :: mine
    call MPI_Allreduce(mine, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  end function largest_of_all

  ! Prints which rank holds the spot in this step.
  subroutine print_hot_spot(grid, step, here)
    type(grid_type), intent(in) :: grid
    integer, intent(in) :: step
    logical, intent(in) :: here
    integer :: holder
    call MPI_Allreduce(merge(rank, -1, here), holder, 1, MPI_INTEGER, MPI_MAX, grid%ranks)
    if (rank == 0) print '(2(a, i0))', 'step ', step, ': hot spot on rank ', holder
  end subroutine print_hot_spot

  subroutine print_result(grid, heat, steps, time)
    type(grid_type), intent(in) :: grid
    type(heat_type), intent(in) :: heat
    integer, intent(in) :: steps
    real(real64), intent(in) :: time
    integer :: centre(3)
    integer(int64) :: total
    real(real64) :: at_centre, error
    centre = 1 + grid%points / 2
    at_centre = -1e300_real64
    if (holds(grid, centre)) then
      centre = centre - grid%first
      at_centre = heat%q(temperature, centre(1), centre(2), centre(3))
    end if
    at_centre = largest_of_all(at_centre)
    call MPI_Reduce(checksum(heat, grid), total, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD)
    if (input%verify) error = largest_of_all(largest_error(heat, grid, time))
    if (rank /= 0) return
    print '(i0, a, g0, a)', steps, ' steps, ', time, ' s of simulated time'
    print '(a, g0, a)', 'centre temperature ', at_centre, ' K'
    print '(a, z16.16)', 'checksum ', total
    if (input%verify) print '(a, g0, a)', 'largest error ', error, ' K'
  end subroutine print_result

end program heat3d_fortran
