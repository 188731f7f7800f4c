! SPDX-License-Identifier: BSD-3-Clause
!
! fortran_collectives.f90 - every collective four times: blocking or not, apart or in place. Root is
! rank 1. Finally a broadcast from MPI_BOTTOM, whose datatype contains the addresses.

module fortran_collectives
  use ring
  implicit none
  integer, parameter :: root = 1, longest = 64
  integer, asynchronous :: in(longest), out(longest), absolute(4)
  integer, allocatable :: counts(:), places(:), equal(:), byte_places(:)
  HANDLE(MPI_Datatype), allocatable :: types(:)
  HANDLE(MPI_Request) :: request
  integer :: r

contains

  subroutine collectives()
    allocate(counts(size), places(size), equal(size), byte_places(size), types(size))
    types = MPI_INTEGER
    out = [(100 * rank + r, r = 1, longest)]
    in = out
    call MPI_Barrier(comm ERR)
    call blocking()
    call MPI_Ibarrier(comm, request ERR)
    call MPI_Wait(request, MPI_STATUS_IGNORE ERR)
    call not_blocking()
    call by_absolute_addresses()
  end subroutine

  subroutine got()
    call arrived(in)
    in = out
  end subroutine

  subroutine blocking()
#define CALL(name) call MPI_/**/name
#define END ERR); call got()
#include "fortran_collectives.h"
#undef CALL
#undef END
  end subroutine

  subroutine not_blocking()
#define CALL(name) call MPI_I/**/name
#define END , request ERR); call MPI_Wait(request, MPI_STATUS_IGNORE ERR); call got()
#include "fortran_collectives.h"
#undef CALL
#undef END
  end subroutine

  subroutine by_absolute_addresses()
    HANDLE(MPI_Datatype) :: from_bottom
    integer(kind=MPI_ADDRESS_KIND) :: address(1)
    absolute = rank
    call MPI_Get_address(absolute, address(1) ERR)
    call MPI_Type_create_hindexed(1, [4], address, MPI_INTEGER, from_bottom ERR)
    call MPI_Type_commit(from_bottom ERR)
    call MPI_Bcast(MPI_BOTTOM, 1, from_bottom, root, comm ERR)
    call arrived(absolute)
    call MPI_Type_free(from_bottom ERR)
  end subroutine

end module
