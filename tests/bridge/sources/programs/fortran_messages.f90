! SPDX-License-Identifier: BSD-3-Clause
!
! fortran_messages.f90 - the n-th form of sending, and the n-th way of receiving, moves n integers
! from the left to the right neighbour. Most ignore the status; odd ways of receiving name the
! source, even ones take any. Persistent sends are started three times.

#define SENT_BY(procedure) call post(); call MPI_Barrier(comm ERR); n = n + 1; call procedure(out, n, MPI_INTEGER, right, 7, comm ERR); call take(n)
#define STARTED_BY(procedure) call post(); call MPI_Barrier(comm ERR); n = n + 1; call procedure(out, n, MPI_INTEGER, right, 7, comm, pair(2) ERR); call sent(); call take(n)
#define KEPT_BY(procedure) n = n + 1; call procedure(out, n, MPI_INTEGER, right, 7, comm, pair(2) ERR); call start_three(n)
#define EACH_SOURCE do i = 1, 2; call next_way(source)
#define END_EACH call arrived(in(:n)); in = 0; end do

module fortran_messages
  use ring
  implicit none
  integer, parameter :: longest = 64
  integer, asynchronous :: out(longest), in(longest)
  integer :: n, i, k, source, which, n_done, indices(2)
  logical :: flag
  character, target :: buffer(100000)
  HANDLE(MPI_Request) :: pair(2)
  HANDLE(MPI_Message) :: message
  STATUS :: status
  STATUSES(2) :: both

contains

  subroutine messages()
    out = [(1000 * rank + i, i = 1, longest)]
    in = 0
    n = 0
    call send_in_all_forms()
    n = 0
    call receive_in_all_ways()
    call receive_nothing()
  end subroutine

  subroutine post()
    call MPI_Irecv(in, longest, MPI_INTEGER, left, 7, comm, pair(1) ERR)
  end subroutine

  subroutine take(n)
    integer, intent(in) :: n
    call MPI_Wait(pair(1), MPI_STATUS_IGNORE ERR)
    call arrived(in(:n))
    in = 0
  end subroutine

  subroutine sent()
    call MPI_Wait(pair(2), MPI_STATUS_IGNORE ERR)
  end subroutine

  subroutine start_three(n)
    integer, intent(in) :: n
    HANDLE(MPI_Request) :: kept(1)
    integer :: time
    do time = 1, 3
      call post()
      call MPI_Barrier(comm ERR)
      kept(1) = pair(2)
      if (time == 1) then
        call MPI_Start(pair(2) ERR)
      else
        call MPI_Startall(1, kept ERR)
      end if
      call sent()
      call take(n)
    end do
    call MPI_Request_free(pair(2) ERR)
  end subroutine

  subroutine send_in_all_forms()
    call MPI_Buffer_attach(buffer, 100000 ERR)
    SENT_BY(MPI_Send)
    SENT_BY(MPI_Bsend)
    SENT_BY(MPI_Ssend)
    SENT_BY(MPI_Rsend)
    STARTED_BY(MPI_Isend)
    STARTED_BY(MPI_Ibsend)
    STARTED_BY(MPI_Issend)
    STARTED_BY(MPI_Irsend)
    n = 9
    call MPI_Sendrecv(out, n, MPI_INTEGER, right, 7, in, longest, MPI_INTEGER, left, 7, comm, status ERR)
    call arrived(in(:n))
    n = 10
    in = out
    ! To where the status is then filled from: a habit of many programs.
    SOURCE_OF(status) = right
    call MPI_Sendrecv_replace(in, n, MPI_INTEGER, SOURCE_OF(status), 7, left, 7, comm, status ERR)
    call arrived(in(:n))
    KEPT_BY(MPI_Send_init)
    KEPT_BY(MPI_Bsend_init)
    KEPT_BY(MPI_Ssend_init)
    KEPT_BY(MPI_Rsend_init)
  end subroutine

  ! Sends n integers to the right; says from where to receive.
  subroutine next_way(source)
    integer, intent(out) :: source
    n = n + 1
    call MPI_Isend(out, n, MPI_INTEGER, right, n, comm, pair(2) ERR)
    source = merge(left, MPI_ANY_SOURCE, mod(n, 2) == 1)
  end subroutine

  subroutine post_from(source)
    integer, intent(in) :: source
    call MPI_Irecv(in, longest, MPI_INTEGER, source, n, comm, pair(1) ERR)
  end subroutine

  subroutine receive_in_all_ways()
    EACH_SOURCE
      call MPI_Recv(in, longest, MPI_INTEGER, source, n, comm, MPI_STATUS_IGNORE ERR)
      call sent()
    END_EACH
    EACH_SOURCE
      call MPI_Recv(in, longest, MPI_INTEGER, source, n, comm, status ERR)
      call sent()
    END_EACH
    EACH_SOURCE
      call post_from(source)
      call MPI_Wait(pair(1), status ERR)
      call sent()
    END_EACH
    EACH_SOURCE
      call post_from(source)
      call MPI_Waitall(2, pair, MPI_STATUSES_IGNORE ERR)
    END_EACH
    EACH_SOURCE
      call post_from(source)
      call MPI_Waitall(2, pair, both ERR)
    END_EACH
    EACH_SOURCE
      call post_from(source)
      do k = 1, 2
        call MPI_Waitany(2, pair, which, MPI_STATUS_IGNORE ERR)
      end do
    END_EACH
    EACH_SOURCE
      call post_from(source)
      k = 0
      do while (k < 2)
        call MPI_Waitsome(2, pair, n_done, indices, MPI_STATUSES_IGNORE ERR)
        k = k + n_done
      end do
    END_EACH
    EACH_SOURCE
      call post_from(source)
      flag = .false.
      do while (.not. flag)
        call MPI_Test(pair(1), flag, MPI_STATUS_IGNORE ERR)
      end do
      call sent()
    END_EACH
    EACH_SOURCE
      call post_from(source)
      flag = .false.
      do while (.not. flag)
        call MPI_Testall(2, pair, flag, MPI_STATUSES_IGNORE ERR)
      end do
    END_EACH
    EACH_SOURCE
      call post_from(source)
      k = 0
      do while (k < 2)
        call MPI_Testany(2, pair, which, flag, MPI_STATUS_IGNORE ERR)
        if (flag .and. which /= MPI_UNDEFINED) k = k + 1
      end do
    END_EACH
    EACH_SOURCE
      call post_from(source)
      k = 0
      do while (k < 2)
        call MPI_Testsome(2, pair, n_done, indices, both ERR)
        k = k + n_done
      end do
    END_EACH
    EACH_SOURCE
      call MPI_Probe(source, n, comm, status ERR)
      call MPI_Recv(in, longest, MPI_INTEGER, SOURCE_OF(status), n, comm, status ERR)
      call sent()
    END_EACH
    EACH_SOURCE
      flag = .false.
      do while (.not. flag)
        call MPI_Iprobe(source, n, comm, flag, MPI_STATUS_IGNORE ERR)
      end do
      call MPI_Recv(in, longest, MPI_INTEGER, source, n, comm, MPI_STATUS_IGNORE ERR)
      call sent()
    END_EACH
    EACH_SOURCE
      call MPI_Mprobe(source, n, comm, message, MPI_STATUS_IGNORE ERR)
      call MPI_Mrecv(in, longest, MPI_INTEGER, message, MPI_STATUS_IGNORE ERR)
      call sent()
    END_EACH
    EACH_SOURCE
      flag = .false.
      do while (.not. flag)
        call MPI_Improbe(source, n, comm, flag, message, MPI_STATUS_IGNORE ERR)
      end do
      call MPI_Imrecv(in, longest, MPI_INTEGER, message, pair(1) ERR)
      call MPI_Waitall(2, pair, MPI_STATUSES_IGNORE ERR)
    END_EACH
    EACH_SOURCE
      call MPI_Recv_init(in, longest, MPI_INTEGER, source, n, comm, pair(1) ERR)
      call MPI_Start(pair(1) ERR)
      call MPI_Waitall(2, pair, MPI_STATUSES_IGNORE ERR)
      call MPI_Wait(pair(1), MPI_STATUS_IGNORE ERR) ! not started: no message
      call MPI_Request_free(pair(1) ERR)
    END_EACH
  end subroutine

  ! None of these is a message.
  subroutine receive_nothing()
    call MPI_Irecv(in, longest, MPI_INTEGER, MPI_ANY_SOURCE, 999, comm, pair(1) ERR)
    call MPI_Cancel(pair(1) ERR)
    call MPI_Wait(pair(1), MPI_STATUS_IGNORE ERR)
    call MPI_Recv(in, longest, MPI_INTEGER, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE ERR)
    call MPI_Mprobe(MPI_PROC_NULL, 0, comm, message, MPI_STATUS_IGNORE ERR)
    call MPI_Mrecv(in, longest, MPI_INTEGER, message, MPI_STATUS_IGNORE ERR)
  end subroutine

end module
