! SPDX-License-Identifier: BSD-3-Clause
!
! fortran_messages_alone.f90 - the messages of fortran_calls.f90, and nothing else.
#include "fortran_ring.inc"
#include "fortran_messages.f90"

program fortran_messages_alone
  use ring
  use fortran_messages, only: messages
  implicit none

  call begin()
  call messages()
  call finish()
end program
