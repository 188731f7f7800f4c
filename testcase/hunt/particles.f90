! SPDX-License-Identifier: BSD-3-Clause
!
! particles - particles in the cells of a 2-D periodic grid of ranks, which the hunt plants problems in
! (plant.py names the arguments). A step pushes the particles, hands some to the four neighbours,
! deposits their charge and solves for the field, which ends with an allreduce. Ranks sleep where a
! simulation would compute, so the planted seconds hold on any number of cores.
program particles
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit, int8, int64, real64
  use mpi_f08
  use perfield
  implicit none

  type, bind(C) :: timespec
    integer(c_long) :: seconds, nanoseconds
  end type timespec
  interface
    function nanosleep(request, left) bind(C, name='nanosleep') result(status)
      import :: timespec, c_int, c_ptr
      type(timespec), intent(in) :: request
      type(c_ptr), value :: left
      integer(c_int) :: status
    end function nanosleep
  end interface

  integer, parameter :: edge_cells = 40, moving = 300
  integer, parameter :: push = 1, deposit = 2, field = 3
  real(real64), parameter :: shares(3) = [0.5_real64, 0.2_real64, 0.3_real64] ! of a step's work
  real(real64), parameter :: disk_bytes_per_second = 1.0e7_real64 ! machine.c

  integer :: steps, seed, planted_rank, planted_region, every
  real(real64) :: noise, step_seconds, strength
  character(len=20) :: problem
  type(MPI_Comm) :: grid
  integer :: rank, n_ranks, at(2), neighbours(4), regions(3), migrate, control, output, step
  integer, allocatable :: seeds(:)
  real(real64) :: relative_cells
  real(real64) :: slept(2) = 0 ! seconds that this rank meant to sleep, and those that it did

  call MPI_Init()
  call read_arguments()
  call divide()
  call show_mesh()
  regions = [perfield_region_define('push'), perfield_region_define('deposit'), perfield_region_define('field')]
  migrate = perfield_region_define('migrate')
  control = perfield_region_define('control')
  output = perfield_region_define('output')
  call perfield_initialize()
  do step = 1, steps
    call one_step()
    call perfield_step(step, 0.1_real64 * step)
  end do
  call print_lateness()
  call MPI_Finalize()

contains

  subroutine read_arguments()
    character(len=40) :: words(9)
    integer :: n
    if (command_argument_count() /= 9) then
      write (error_unit, '(a, i0)') 'particles: expected 9 arguments, those of plant.py, not ', &
        command_argument_count()
      call MPI_Abort(MPI_COMM_WORLD, 1)
    end if
    do n = 1, 9
      call get_command_argument(n, words(n))
    end do
    read (words(1), *) steps
    read (words(2), *) seed
    read (words(3), *) noise
    read (words(4), *) step_seconds
    problem = words(5)(:20)
    read (words(6), *) planted_rank
    read (words(7), *) strength
    read (words(8), *) planted_region
    read (words(9), *) every
  end subroutine read_arguments

  subroutine divide()
    integer :: ranks(2), n
    call MPI_Comm_size(MPI_COMM_WORLD, n_ranks)
    ranks = 0
    call MPI_Dims_create(n_ranks, 2, ranks)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, ranks, [.true., .true.], .false., grid)
    call MPI_Comm_rank(grid, rank)
    call MPI_Cart_coords(grid, rank, 2, at)
    call MPI_Cart_shift(grid, 0, 1, neighbours(1), neighbours(2))
    call MPI_Cart_shift(grid, 1, 1, neighbours(3), neighbours(4))
    call random_seed(size=n)
    allocate (seeds(n))
    seeds = [(1000 * seed + 31 * rank + n, n=1, size(seeds))]
    call random_seed(put=seeds)
  end subroutine divide

  subroutine show_mesh()
    integer :: rows, i
    rows = edge_cells
    if (problem == 'cells' .and. rank == planted_rank) rows = nint(edge_cells * strength)
    relative_cells = real(rows, real64) / edge_cells
    call perfield_mesh_rectilinear(0, [0, edge_cells, 0, rows, 0, 0], &
                                   [(at(1) + real(i, real64) / edge_cells, i=0, edge_cells)], &
                                   [(at(2) + real(i, real64) / rows, i=0, rows)], [0.0_real64])
  end subroutine show_mesh

  subroutine one_step()
    real(real64) :: energy
    real(real64) :: values(8)
    values = 0
    call compute(push)
    call perfield_region_begin(migrate)
    call hand_over()
    call perfield_region_end(migrate)
    call compute(deposit)
    call compute(field)
    energy = 1
    call MPI_Allreduce(MPI_IN_PLACE, energy, 1, MPI_DOUBLE_PRECISION, MPI_SUM, grid)
    if (problem == 'serial') then
      call perfield_region_begin(control)
      if (rank == planted_rank) call sleep_for((strength - 1) * step_seconds)
      call MPI_Bcast(values, 8, MPI_DOUBLE_PRECISION, planted_rank, grid)
      call perfield_region_end(control)
    end if
    if (problem == 'writer' .and. mod(step, every) == 0) then
      call perfield_region_begin(output)
      call write_through_one()
      call perfield_region_end(output)
    end if
    if (problem == 'output' .and. mod(step, every) == 0) then
      call perfield_region_begin(output)
      call write_file(int(strength * step_seconds * disk_bytes_per_second))
      call perfield_region_end(output)
    end if
  end subroutine one_step

  ! The work of a region in a step: random noise, and rarely the system takes the core away.
  subroutine compute(region)
    integer, intent(in) :: region
    real(real64) :: share, random(3)
    call perfield_region_begin(regions(region))
    call random_number(random)
    share = shares(region) * relative_cells
    share = share * exp(noise * sqrt(-2 * log(1 - random(1))) * cos(8 * atan(1.0_real64) * random(2)))
    if (random(3) < 0.003_real64) share = share + 0.5_real64
    if (region == planted_region + 1) then
      if (problem == 'cost' .and. rank == planted_rank) share = share + strength - 1
      if (problem == 'moves' .and. rank == mod(planted_rank + step / every, n_ranks)) &
        share = share + strength - 1
      if (problem == 'changes' .and. rank == mod(planted_rank + 2 * step / (steps + 1), n_ranks)) &
        share = share + strength - 1
      if (problem == 'inlet' .and. at(2) == 0) share = share + strength - 1
      if (problem == 'slower') share = share + (strength - 1) * step / steps
    end if
    call sleep_for(share * step_seconds)
    call perfield_region_end(regions(region))
  end subroutine compute

  ! One message to each neighbour; with the plant, one rank sends many more without anything in them.
  subroutine hand_over()
    real(real64) :: out(moving), in(moving)
    integer :: n, message, to, from
    out = rank
    do n = 1, 4
      to = neighbours(n)
      from = neighbours(n + merge(1, -1, mod(n, 2) == 1))
      call MPI_Sendrecv(out, moving, MPI_DOUBLE_PRECISION, to, 0, in, moving, MPI_DOUBLE_PRECISION, &
                        from, 0, grid, MPI_STATUS_IGNORE)
      if (problem /= 'empty') cycle
      if (rank /= planted_rank) to = MPI_PROC_NULL
      if (from /= planted_rank) from = MPI_PROC_NULL
      do message = 1, every
        call MPI_Sendrecv(out, 0, MPI_DOUBLE_PRECISION, to, 1, in, 0, MPI_DOUBLE_PRECISION, &
                          from, 1, grid, MPI_STATUS_IGNORE)
      end do
    end do
  end subroutine hand_over

  subroutine write_through_one()
    integer(int8), allocatable :: mine(:), all(:)
    integer :: bytes
    bytes = int((strength - 1) * step_seconds * every * disk_bytes_per_second / n_ranks)
    allocate (mine(bytes), source=1_int8)
    allocate (all(merge(bytes * n_ranks, 0, rank == planted_rank)))
    call MPI_Gather(mine, bytes, MPI_INTEGER1, all, bytes, MPI_INTEGER1, planted_rank, grid)
    if (rank == planted_rank) call write_file(size(all))
  end subroutine write_through_one

  subroutine write_file(bytes)
    integer, intent(in) :: bytes
    integer(int8), allocatable :: values(:)
    character(len=40) :: name
    integer :: unit
    allocate (values(bytes), source=1_int8)
    write (name, '(a, i0, a)') 'particles-', rank, '.out'
    open (newunit=unit, file=trim(name), access='stream', form='unformatted', status='replace')
    write (unit) values
    close (unit)
  end subroutine write_file

  subroutine sleep_for(seconds)
    real(real64), intent(in) :: seconds
    integer(c_int) :: status
    integer(int64) :: start, finish, rate
    if (seconds <= 0) return
    call system_clock(start, rate)
    status = nanosleep(timespec(int(seconds, c_long), int((seconds - int(seconds)) * 1.0e9_real64, c_long)), &
                       c_null_ptr)
    call system_clock(finish)
    slept = slept + [seconds, real(finish - start, real64) / rate]
  end subroutine sleep_for

  ! How late the machine woke the ranks, as a share of what they meant to sleep.
  subroutine print_lateness()
    real(real64) :: all(2)
    call MPI_Reduce(slept, all, 2, MPI_DOUBLE_PRECISION, MPI_SUM, 0, grid)
    if (rank == 0) print '(a, f0.3)', 'late ', all(2) / all(1) - 1
  end subroutine print_lateness

end program particles
