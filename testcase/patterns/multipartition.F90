! SPDX-License-Identifier: BSD-3-Clause
!
! multipartition.F90 - multipartition.c in Fortran, with `use mpi`, or with mpif.h and -DMPIF_H.
#ifdef WITHOUT_PERFIELD
#define MEASURED !
#else
#define MEASURED
#endif
module multipartition_sweeps
  use, intrinsic :: iso_fortran_env, only: error_unit, real64
#ifdef MPIF_H
  implicit none
  include 'mpif.h'
#else
  use mpi
  implicit none
#endif

  integer, parameter :: variables = 5, forward = 5 * 5 + 5, backward = 5
  integer :: q = 0, side            ! ranks along x and y; points of a cell along x, y, z
  integer :: above(3), below(3)     ! partners for sweeps along x, y, z
  integer :: ierror
  real(real64) :: received          ! what arrived in this step
  real(real64), allocatable :: outgoing(:), incoming(:)

contains

  integer function rank_at(x, y)
    integer, intent(in) :: x, y
    rank_at = modulo(x, q) + modulo(y, q) * q
  end function rank_at

  subroutine find_partners(rank)
    integer, intent(in) :: rank
    integer :: x, y
    x = mod(rank, q)
    y = rank / q
    above = [rank_at(x + 1, y), rank_at(x, y + 1), rank_at(x - 1, y + 1)] ! along z: see show_mesh
    below = [rank_at(x - 1, y), rank_at(x, y - 1), rank_at(x + 1, y - 1)]
  end subroutine find_partners

  subroutine take(numbers)
    real(real64), intent(in) :: numbers(:)
    received = received + sum(numbers) / size(numbers)
  end subroutine take

  ! Sends the faces of all cells, two points deep, to all six partners at once.
  subroutine copy_faces()
    integer :: n, d, i, requests(12)
    n = (q - 1) * side**2 * 2 * variables
    do d = 1, 3
      call MPI_Irecv(incoming((2 * d - 2) * n + 1), n, MPI_DOUBLE_PRECISION, below(d), d, MPI_COMM_WORLD, &
                     requests(2 * d - 1), ierror)
      call MPI_Irecv(incoming((2 * d - 1) * n + 1), n, MPI_DOUBLE_PRECISION, above(d), 3 + d, MPI_COMM_WORLD, &
                     requests(2 * d), ierror)
    end do
    do d = 1, 3
      call MPI_Isend(outgoing, n, MPI_DOUBLE_PRECISION, above(d), d, MPI_COMM_WORLD, requests(5 + 2 * d), ierror)
      call MPI_Isend(outgoing, n, MPI_DOUBLE_PRECISION, below(d), 3 + d, MPI_COMM_WORLD, requests(6 + 2 * d), &
                     ierror)
    end do
    call MPI_Waitall(12, requests, MPI_STATUSES_IGNORE, ierror)
    do i = 0, 5
      call take(incoming(i * n + 1:(i + 1) * n))
    end do
  end subroutine copy_faces

  ! One cell per stage: sends what the next stage needs to one partner, and receives it from the other.
  subroutine sweep(from, to, numbers, tag)
    integer, intent(in) :: from, to, numbers, tag
    integer :: n, stage, request
    n = side**2 * numbers
    do stage = 1, q - 1
      call MPI_Isend(outgoing, n, MPI_DOUBLE_PRECISION, to, tag, MPI_COMM_WORLD, request, ierror)
      call MPI_Recv(incoming, n, MPI_DOUBLE_PRECISION, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
      call take(incoming(:n))
    end do
  end subroutine sweep

  subroutine step_once()
    integer :: d
    call copy_faces()
    do d = 1, 3
      call sweep(below(d), above(d), forward, 6 + d)
      call sweep(above(d), below(d), backward, 9 + d)
    end do
  end subroutine step_once

  ! Each rank's cells are contiguous in the file, after those of lower ranks and of earlier times.
  subroutine write_cells(file, time, rank)
    integer, intent(in) :: file, time, rank
    integer(MPI_OFFSET_KIND) :: part
    integer :: n
    n = q * side**3 * variables
    part = int(time, MPI_OFFSET_KIND) * q**2 + rank
    call MPI_File_write_at_all(file, part * n * 8, outgoing, n, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, ierror)
  end subroutine write_cells

#ifndef WITHOUT_PERFIELD
  ! Cell k of the rank at (x, y) is the cell at (x + k, y - k, k) of the cube's q * q * q cells.
  subroutine show_mesh(rank)
    use perfield, only: perfield_mesh_image
    integer, intent(in) :: rank
    integer :: k, cell(3), extent(6)
    do k = 0, q - 1
      cell = [modulo(mod(rank, q) + k, q), modulo(rank / q - k, q), k]
      extent(1:5:2) = cell * side
      extent(2:6:2) = (cell + 1) * side
      call perfield_mesh_image(k, extent, [0d0, 0d0, 0d0], [1d0, 1d0, 1d0])
    end do
  end subroutine show_mesh
#endif

end module multipartition_sweeps

program multipartition
  MEASURED use perfield
  use multipartition_sweeps
  implicit none
  integer :: rank, n_ranks, steps = 4, points = 12, write_every = 2, step, most, file
  real(real64) :: total
  character(len=20) :: word
  MEASURED integer :: region

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, ierror)
  call get_command_argument(1, word)
  if (word /= '') read (word, *) steps
  call get_command_argument(2, word)
  if (word /= '') read (word, *) points
  call get_command_argument(3, word)
  if (word /= '') read (word, *) write_every
  do while ((q + 1)**2 <= n_ranks)
    q = q + 1
  end do
  if (q**2 /= n_ranks .or. q < 2 .or. points < q .or. mod(points, q) /= 0 .or. write_every < 1) then
    if (rank == 0) write (error_unit, '(a, i0, a, i0, 2a)') 'multipartition STEPS SIZE WRITE_EVERY: ', n_ranks, &
      ' ranks and ', points, ' points; ranks must be a square of two or more, points a multiple of its root.'
    call MPI_Finalize(ierror)
    error stop
  end if
  side = points / q
  call find_partners(rank)
  most = max(6 * q * side**2 * 2 * variables, q * side**3 * variables, side**2 * forward)
  allocate (outgoing(most), incoming(most))
  outgoing = rank
  call MPI_File_open(MPI_COMM_WORLD, 'multipartition.out', ior(MPI_MODE_CREATE, MPI_MODE_WRONLY), &
                     MPI_INFO_NULL, file, ierror)

  MEASURED region = perfield_region_define('adi', __FILE__, __LINE__)
  MEASURED call show_mesh(rank)
  MEASURED call perfield_initialize()
  do step = 1, steps
    MEASURED call perfield_region_begin(region)
    received = 0
    call step_once()
    MEASURED call perfield_region_end(region)
    if (mod(step, write_every) == 0) call write_cells(file, step / write_every - 1, rank)
    MEASURED call perfield_step(step, real(step, real64))
  end do
  call MPI_File_close(file, ierror)
  call MPI_Reduce(received, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
  if (rank == 0) print '(3(i0, a), i0)', steps, ' steps on ', q, ' x ', q, ' ranks, sum ', nint(total)
  call MPI_Finalize(ierror)
end program multipartition
