! SPDX-License-Identifier: BSD-3-Clause
!
! fortran_epochs.f90 - three one-sided epochs from each rank to its right neighbour, the last of which
! ends with a test, then locks. The groups are freed after each epoch.

module fortran_epochs
  use, intrinsic :: iso_c_binding, only: c_ptr
  use ring
  implicit none
  integer, asynchronous :: values(4)
#ifdef USE_F08
  type(c_ptr) :: base
#else
  integer(kind=MPI_ADDRESS_KIND) :: base
#endif
  integer(kind=MPI_ADDRESS_KIND) :: place
  integer :: round
  logical :: flag
  HANDLE(MPI_Win) :: window
  HANDLE(MPI_Group) :: all_ranks, from, to

contains

  subroutine epochs()
    place = 64
    call MPI_Win_allocate(place, 4, MPI_INFO_NULL, comm, base, window ERR)
    call MPI_Comm_group(comm, all_ranks ERR)
    place = 1
    values = rank
    do round = 1, 3
      call MPI_Group_incl(all_ranks, 1, [left], from ERR)
      call MPI_Group_incl(all_ranks, 1, [right], to ERR)
      call MPI_Win_post(from, 0, window ERR)
      call MPI_Win_start(to, 0, window ERR)
      call MPI_Put(values, 1, MPI_INTEGER, right, place, 1, MPI_INTEGER, window ERR)
      call MPI_Win_complete(window ERR)
      if (round < 3) then
        call MPI_Win_wait(window ERR)
      else
        flag = .false.
        do while (.not. flag)
          call MPI_Win_test(window, flag ERR)
        end do
      end if
      call MPI_Group_free(from ERR)
      call MPI_Group_free(to ERR)
    end do
    call MPI_Barrier(comm ERR)
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window ERR)
    call MPI_Put(values, 1, MPI_INTEGER, right, place, 1, MPI_INTEGER, window ERR)
    call MPI_Win_flush(right, window ERR)
    call MPI_Win_unlock(right, window ERR)
    call MPI_Barrier(comm ERR)
    call MPI_Win_lock_all(0, window ERR)
    call MPI_Win_flush_all(window ERR)
    call MPI_Win_unlock_all(window ERR)
    call MPI_Win_free(window ERR)
  end subroutine


end module
