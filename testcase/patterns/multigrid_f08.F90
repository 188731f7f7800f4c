! SPDX-License-Identifier: BSD-3-Clause
!
! multigrid_f08.F90 - multigrid.c in Fortran, with `use mpi_f08`.
#ifdef WITHOUT_PERFIELD
#define MEASURED !
#else
#define MEASURED
#endif
module multigrid_levels
  use, intrinsic :: iso_fortran_env, only: error_unit, real64
  use mpi_f08
  implicit none

  ! A level, divided among the ranks that hold it.
  type level_type
    type(MPI_Comm) :: ranks ! as a periodic box; MPI_COMM_NULL if this rank is not in it
    integer :: dims(3)      ! ranks along x, y, z
    integer :: block(3)     ! points of a rank along x, y, z
  end type level_type

  type(level_type) :: levels(0:29)
  integer :: n_levels = 0
  real(real64) :: norm
  real(real64), allocatable, asynchronous :: outgoing(:), incoming(:)
  logical, parameter :: periodic(3) = .true.

contains

  subroutine make_levels(n_ranks, size)
    integer, intent(in) :: n_ranks, size
    type(MPI_Comm) :: ranks
    integer :: points, dims(3)
    dims = 0
    call MPI_Dims_create(n_ranks, 3, dims)
    call MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periodic, .false., ranks)
    points = size
    do while (points > 1 .and. points >= dims(1))
      if (n_levels > 1) then
        if (dims(1) == 1) exit
        call halve(ranks, dims)
      end if
      levels(n_levels) = level_type(ranks, dims, points / dims)
      n_levels = n_levels + 1
      points = points / 2
    end do
  end subroutine make_levels

  ! Keeps every second rank: half as many along the last direction that has several.
  subroutine halve(ranks, dims)
    type(MPI_Comm), intent(inout) :: ranks
    integer, intent(inout) :: dims(3)
    type(MPI_Comm) :: half
    integer :: rank, d
    d = findloc(dims > 1, .true., dim=1, back=.true.)
    dims(d) = dims(d) / 2
    if (ranks == MPI_COMM_NULL) return
    call MPI_Comm_rank(ranks, rank)
    call MPI_Comm_split(ranks, merge(MPI_UNDEFINED, 0, mod(rank, 2) == 1), rank, half)
    ranks = MPI_COMM_NULL
    if (half /= MPI_COMM_NULL) call MPI_Cart_create(half, 3, dims, periodic, .false., ranks)
  end subroutine halve

  ! From level l down to the coarsest one and back up.
  recursive subroutine cycle_from(l)
    integer, intent(in) :: l
    call exchange(levels(l))
    if (l + 1 == n_levels) return
    if (levels(l + 1)%ranks == levels(l)%ranks) then
      call cycle_from(l + 1)
    else
      call cycle_on_half_the_ranks(levels(l)%ranks, l + 1)
    end if
    call exchange(levels(l))
  end subroutine cycle_from

  ! Every second rank takes its neighbour's half of the next block, and returns it afterwards.
  recursive subroutine cycle_on_half_the_ranks(ranks, next)
    type(MPI_Comm), intent(in) :: ranks
    integer, intent(in) :: next
    integer :: half, rank
    half = product(levels(next)%block) / 2
    call MPI_Comm_rank(ranks, rank)
    if (mod(rank, 2) == 1) then
      call MPI_Send(outgoing, half, MPI_DOUBLE_PRECISION, rank - 1, 2, ranks)
      call MPI_Recv(incoming, half, MPI_DOUBLE_PRECISION, rank - 1, 3, ranks, MPI_STATUS_IGNORE)
      call take(half)
    else
      call MPI_Recv(incoming, half, MPI_DOUBLE_PRECISION, rank + 1, 2, ranks, MPI_STATUS_IGNORE)
      call take(half)
      call cycle_from(next)
      call MPI_Send(outgoing, half, MPI_DOUBLE_PRECISION, rank + 1, 3, ranks)
    end if
  end subroutine cycle_on_half_the_ranks

  ! Along x, then y, then z: a face to the rank above, then one to the rank below.
  subroutine exchange(level)
    type(level_type), intent(in) :: level
    integer :: d, way, face, ends(0:1)
    type(MPI_Request) :: request
    do d = 1, 3
      if (level%dims(d) == 1) cycle ! this rank is its own neighbour
      face = product(level%block) / level%block(d)
      call MPI_Cart_shift(level%ranks, d - 1, 1, ends(0), ends(1))
      do way = 0, 1
        call MPI_Irecv(incoming, face, MPI_DOUBLE_PRECISION, ends(way), way, level%ranks, request)
        call MPI_Send(outgoing, face, MPI_DOUBLE_PRECISION, ends(1 - way), way, level%ranks)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call take(face)
      end do
    end do
  end subroutine exchange

  subroutine take(n)
    integer, intent(in) :: n
    norm = norm + sum(incoming(:n)) / n
  end subroutine take

#ifndef WITHOUT_PERFIELD
  subroutine show_mesh()
    use perfield, only: perfield_mesh_image
    integer :: rank, place(3), extent(6)
    call MPI_Comm_rank(levels(0)%ranks, rank)
    call MPI_Cart_coords(levels(0)%ranks, rank, 3, place)
    extent(1:5:2) = place * levels(0)%block
    extent(2:6:2) = extent(1:5:2) + levels(0)%block
    call perfield_mesh_image(0, extent, [0d0, 0d0, 0d0], [1d0, 1d0, 1d0])
  end subroutine show_mesh
#endif

end module multigrid_levels

program multigrid
  MEASURED use perfield
  use multigrid_levels
  implicit none
  integer :: rank, n_ranks, steps = 4, size = 16, step
  character(len=20) :: word
  MEASURED integer :: region

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n_ranks)
  call get_command_argument(1, word)
  if (word /= '') read (word, *) steps
  call get_command_argument(2, word)
  if (word /= '') read (word, *) size
  if (popcnt(n_ranks) /= 1 .or. popcnt(size) /= 1 .or. size < n_ranks) then
    if (rank == 0) write (error_unit, '(a, i0, a, i0, 2a)') 'multigrid STEPS SIZE: ', n_ranks, ' ranks and ', &
      size, ' points; both must be powers of two, with at least as many points as ranks.'
    call MPI_Finalize()
    error stop
  end if
  call make_levels(n_ranks, size)
  allocate (outgoing(size**3), incoming(size**3))
  outgoing = rank

  MEASURED region = perfield_region_define('cycle', __FILE__, __LINE__)
  MEASURED call show_mesh()
  MEASURED call perfield_initialize()
  do step = 1, steps
    MEASURED call perfield_region_begin(region)
    norm = 0
    call cycle_from(0)
    MEASURED call perfield_region_end(region)
    call MPI_Allreduce(MPI_IN_PLACE, norm, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    MEASURED call perfield_step(step, real(step, real64))
  end do
  if (rank == 0) print '(i0, a, i0, a, i0)', steps, ' cycles on ', n_levels, ' levels, norm ', nint(norm)
  call MPI_Finalize()
end program multigrid
