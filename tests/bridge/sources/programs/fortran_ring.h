! SPDX-License-Identifier: BSD-3-Clause
!
! fortran_ring.h - what the Fortran test programs share, for each binding: compiled with -DMPIFH,
! -DUSE_MPI or -DUSE_F08. A communicator in which world rank w has rank size - 1 - w, and this
! rank's neighbours in it. ONLY_ERR and ERR stand for the last argument, which mpi_f08 may leave out.
#ifdef USE_F08
#define HANDLE(kind) type(kind)
#define STATUS type(MPI_Status)
#define STATUSES(n) type(MPI_Status), dimension(n)
#define SOURCE_OF(status) status%MPI_SOURCE
#define ERR
#define ONLY_ERR
#else
#define HANDLE(kind) integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#define STATUSES(n) integer, dimension(MPI_STATUS_SIZE, n)
#define SOURCE_OF(status) status(MPI_SOURCE)
#define ERR , ierror
#define ONLY_ERR ierror
#endif

module ring
#ifdef USE_F08
  use mpi_f08
#endif
#ifdef USE_MPI
  use mpi
#endif
  implicit none
#ifdef MPIFH
  include 'mpif.h'
#endif
  HANDLE(MPI_Comm) :: comm
  integer :: rank, size, left, right, ierror
  integer, save :: checksum = 0

contains

  subroutine begin()
    integer :: world_rank
    call MPI_Init(ONLY_ERR)
    call MPI_Comm_rank(MPI_COMM_WORLD, world_rank ERR)
    call MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, comm ERR)
    call MPI_Comm_rank(comm, rank ERR)
    call MPI_Comm_size(comm, size ERR)
    left = mod(rank + size - 1, size)
    right = mod(rank + 1, size)
  end subroutine

  ! Adds what has arrived to the checksum that is printed at the end.
  subroutine arrived(values)
    integer, intent(in) :: values(:)
    checksum = mod(31 * checksum + sum(values), 1000003)
  end subroutine

  subroutine finish()
    integer, allocatable :: all_checksums(:)
    allocate(all_checksums(size))
    call MPI_Allgather(checksum, 1, MPI_INTEGER, all_checksums, 1, MPI_INTEGER, comm ERR)
    if (rank == 0) print '(*(i0, 1x))', all_checksums
    call MPI_Comm_free(comm ERR)
    call MPI_Finalize(ONLY_ERR)
  end subroutine

end module
