! SPDX-License-Identifier: BSD-3-Clause
!
! events.f90 - the cost of one MPI call in Fortran: `events calls|messages|sendrecv [N]`, like
! events.c. Compile it with -DMPIFH or -DUSE_F08. Prints one number per repetition: nanoseconds per
! call. With N, it makes N iterations once.
program events
#ifdef USE_F08
  use mpi_f08
#endif
  implicit none
#ifdef USE_F08
  type(MPI_Request) :: request
#else
  include 'mpif.h'
  integer :: request
#endif
  integer, parameter :: repetitions = 41, int64 = selected_int_kind(18)
  integer :: i, ierror, n_events = 100000, n_exchanges = 10000, first = 0
  double precision :: nanoseconds
  character(len=16) :: what, n

  call get_command_argument(1, what)
  if (command_argument_count() > 1) then
    call get_command_argument(2, n)
    read (n, *) n_events
    n_exchanges = n_events
    first = repetitions
  end if
  call MPI_Init(ierror)
  do i = first, repetitions
    if (what == 'calls') nanoseconds = calls()
    if (what == 'messages') nanoseconds = messages()
    if (what == 'sendrecv') nanoseconds = sendrecv()
    if (i > 0) print '(f0.3)', nanoseconds ! 0 warms up
  end do
  call MPI_Finalize(ierror)

contains

  double precision function now()
    integer(int64) :: count, rate
    call system_clock(count, rate)
    now = 1d9 * dble(count) / dble(rate)
  end function

  ! The cheapest counted call: nearly all its time is the wrapper's.
  double precision function calls()
    double precision :: begin
    logical :: done
    integer :: event
    begin = now()
    do event = 1, n_events
      request = MPI_REQUEST_NULL
      call MPI_Test(request, done, MPI_STATUS_IGNORE, ierror)
    end do
    calls = (now() - begin) / n_events
  end function

  ! Messages to oneself, each a receive, a send and a wait; returns the time per call.
  double precision function messages()
    double precision :: begin, out
    double precision, asynchronous :: in
    integer :: event
    begin = now()
    do event = 1, n_exchanges
      out = event
      call MPI_Irecv(in, 1, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_SELF, request, ierror)
      call MPI_Send(out, 1, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_SELF, ierror)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    end do
    messages = (now() - begin) / (n_exchanges * 3)
  end function

  ! Both messages of an exchange with oneself in one call.
  double precision function sendrecv()
    double precision :: begin, out, in
    integer :: event
    begin = now()
    do event = 1, n_exchanges
      out = event
      call MPI_Sendrecv(out, 1, MPI_DOUBLE_PRECISION, 0, 0, in, 1, MPI_DOUBLE_PRECISION, 0, 0, &
                        MPI_COMM_SELF, MPI_STATUS_IGNORE, ierror)
    end do
    sendrecv = (now() - begin) / n_exchanges
  end function

end program
