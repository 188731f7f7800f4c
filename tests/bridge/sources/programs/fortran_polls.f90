! SPDX-License-Identifier: BSD-3-Clause
!
! fortran_polls.f90 - rank 1 sleeps and then sends to rank 0, which finds out in another way each time.

module fortran_polls
  use ring
  use iso_c_binding
  implicit none
  interface
    integer(c_int) function usleep(us) bind(c)
      import c_int
      integer(c_int), value :: us
    end function
  end interface
  integer, parameter :: ways = 8
  integer, asynchronous :: word(1)
  integer :: way, which, n_done, indices(1)
  logical :: flag
  HANDLE(MPI_Request) :: pair(1)
  HANDLE(MPI_Message) :: message
  STATUS :: status
  STATUSES(1) :: all

contains

  subroutine polls()
    do way = 0, ways - 1
      call MPI_Barrier(comm ERR)
      if (rank == 1) then
        if (usleep(100000) /= 0) stop 1
        call MPI_Send(word, 1, MPI_INTEGER, 0, way, comm ERR)
      else if (rank == 0) then
        call poll_for()
      end if
    end do
  end subroutine

  subroutine poll_for()
    flag = .false.
    if (way >= 4) call MPI_Irecv(word, 1, MPI_INTEGER, 1, way, comm, pair(1) ERR)
    select case (way)
    case (0)
      call MPI_Probe(1, way, comm, status ERR)
    case (1)
      call MPI_Mprobe(1, way, comm, message, status ERR)
      call MPI_Mrecv(word, 1, MPI_INTEGER, message, status ERR)
    case (2)
      do while (.not. flag)
        call MPI_Iprobe(1, way, comm, flag, status ERR)
      end do
    case (3)
      do while (.not. flag)
        call MPI_Improbe(1, way, comm, flag, message, status ERR)
      end do
      call MPI_Mrecv(word, 1, MPI_INTEGER, message, status ERR)
    case (4)
      do while (.not. flag)
        call MPI_Test(pair(1), flag, MPI_STATUS_IGNORE ERR)
      end do
    case (5)
      do while (.not. flag)
        call MPI_Testall(1, pair, flag, all ERR)
      end do
    case (6)
      do while (.not. flag)
        call MPI_Testany(1, pair, which, flag, status ERR)
      end do
    case (7)
      n_done = 0
      do while (n_done < 1)
        call MPI_Testsome(1, pair, n_done, indices, all ERR)
      end do
    end select
    if (way == 0 .or. way == 2) call MPI_Recv(word, 1, MPI_INTEGER, 1, way, comm, status ERR)
  end subroutine

end module
