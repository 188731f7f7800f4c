! SPDX-License-Identifier: BSD-3-Clause
!
! events.f90 - the cost of one MPI call in Fortran: `events calls|messages`, like events.c. Compile
! it with -DMPIFH or -DUSE_F08. Prints one number per repetition: nanoseconds per call.
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
  integer, parameter :: repetitions = 41, n_events = 100000, int64 = selected_int_kind(18)
  integer :: i, ierror
  double precision :: nanoseconds
  character(len=16) :: what

  call get_command_argument(1, what)
  call MPI_Init(ierror)
  do i = 0, repetitions
    if (what == 'calls') nanoseconds = calls()
    if (what == 'messages') nanoseconds = messages()
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
    do event = 1, n_events / 10
      out = event
      call MPI_Irecv(in, 1, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_SELF, request, ierror)
      call MPI_Send(out, 1, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_SELF, ierror)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    end do
    messages = (now() - begin) / (n_events / 10 * 3)
  end function

end program
