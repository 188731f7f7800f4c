! SPDX-License-Identifier: BSD-3-Clause
!
! regions.f90 - `regions WHAT N`: enters and leaves a region N times, without MPI. Its instructions
! are counted, and WHAT is ignored.
program regions
  use perfield
  implicit none
  integer :: i, n, region
  character(len=16) :: text
  call get_command_argument(2, text)
  read (text, *) n
  region = perfield_region_define('region')
  call perfield_initialize()
  do i = 1, n
    call perfield_region_begin(region)
    call perfield_region_end(region)
  end do
  call perfield_finalize()
end program
