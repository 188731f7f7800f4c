! SPDX-License-Identifier: BSD-3-Clause
!
! fortran_calls.f90 - the modules that it includes, one after another; each is a case of listener.c, with
! which it is linked, and a step.
#include "fortran_ring.inc"
#include "fortran_messages.f90"
#include "fortran_collectives.f90"
#include "fortran_others.f90"
#include "fortran_epochs.f90"
#include "fortran_polls.f90"

program fortran_calls
  use ring
  use fortran_messages, only: messages
  use fortran_collectives, only: collectives
  use fortran_others, only: others
  use fortran_epochs, only: epochs
  use fortran_polls, only: polls
  use, intrinsic :: iso_c_binding, only: c_char, c_null_char
  implicit none
  interface
    subroutine end_case(name) bind(c)
      import c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
  end interface

  call begin()
  call ended('begin')
  call messages()
  call ended('messages')
  call collectives()
  call ended('collectives')
  call others()
  call ended('others')
  call epochs()
  call ended('epochs')
  call polls()
  call ended('polls')
  call finish()

contains

  ! The barrier keeps the messages of two cases apart, and is not counted.
  subroutine ended(name)
    character(*), intent(in) :: name
    call MPI_Pcontrol(0)
    call MPI_Barrier(comm ERR)
    call MPI_Pcontrol(1)
    call end_case(name // c_null_char)
  end subroutine

end program
