! SPDX-License-Identifier: BSD-3-Clause
!
! waits.f90 - the scenarios of waits.c in Fortran, with the same log: waits SCENARIO|all [MILLISECONDS].
module waits_log
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: int64
  use mpi_f08
  implicit none
  public

  integer, parameter :: most = 20000

  type line_type
    integer :: step, peer, tag, root
    character(len=24) :: scenario, kind, call
    integer(int64) :: begun, wait_begin, wait_end
  end type line_type

  type(line_type) :: lines(most)
  integer :: n_lines = 0, rank, ranks, step = 0
  character(len=24) :: scenario

  interface
    integer(c_int) function usleep(microseconds) bind(C)
      import :: c_int
      integer(c_int), value :: microseconds
    end function usleep
  end interface

contains

  ! CLOCK_MONOTONIC in ns, as gfortran's system_clock counts it.
  integer(int64) function now()
    call system_clock(now)
  end function now

  subroutine sleep_for(seconds)
    real, intent(in) :: seconds
    integer(c_int) :: status
    status = usleep(int(seconds * 1e6, c_int))
  end subroutine sleep_for

  subroutine note(kind, name, peer, tag, root, begun, wait_begin, wait_end)
    character(len=*), intent(in) :: kind, name
    integer, intent(in) :: peer, tag, root
    integer(int64), intent(in) :: begun, wait_begin, wait_end
    if (n_lines == most) call MPI_Abort(MPI_COMM_WORLD, 3)
    n_lines = n_lines + 1
    lines(n_lines) = line_type(step, peer, tag, root, scenario, kind, name, begun, wait_begin, wait_end)
  end subroutine note

  subroutine write_log()
    character(len=32) :: name
    integer :: file, i
    write (name, '("waits-", i0, ".csv")') rank
    open (newunit=file, file=name, status='replace', action='write')
    write (file, '(a)') 'step,scenario,kind,call,peer,tag,group,root,begun,wait_begin,wait_end'
    do i = 1, n_lines
      associate (l => lines(i))
        write (file, '(i0, 3(",", a), 2(",", i0), ",", a, 4(",", i0))') l%step, trim(l%scenario), &
          trim(l%kind), trim(l%call), l%peer, l%tag, trim(merge('all', '   ', l%peer < 0)), l%root, &
          l%begun, l%wait_begin, l%wait_end
      end associate
    end do
    close (file)
  end subroutine write_log

end module waits_log

! What the scenarios are made of.
module waits_calls
  use, intrinsic :: iso_c_binding, only: c_ptr
  use, intrinsic :: iso_fortran_env, only: int64
  use mpi_f08
  use waits_log
  implicit none
  public

  integer, parameter :: partners = 6, large_bytes = 2**21
  character, asynchronous, target :: large(large_bytes) = ' ', small(64) = ' '
  ! One-sided transfers go from ranks 0 and 1 to rank 2.
  integer, parameter :: origins(2) = [0, 1], targets(1) = [2]
  type(MPI_Win) :: fenced, window
  type(MPI_Group) :: group_of_origins, group_of_targets
  integer, asynchronous :: put_value(1) = 0
  logical :: has_windows

contains

  subroutine send(bytes, to, tag)
    integer, intent(in) :: bytes, to, tag
    integer(int64) :: begun
    begun = now()
    if (bytes > size(small)) then
      call MPI_Send(large, bytes, MPI_CHARACTER, to, tag, MPI_COMM_WORLD)
    else
      call MPI_Send(small, bytes, MPI_CHARACTER, to, tag, MPI_COMM_WORLD)
    end if
    call note('send', 'send', to, tag, -1, begun, begun, now())
  end subroutine send

  subroutine receive(bytes, from, tag)
    integer, intent(in) :: bytes, from, tag
    integer(int64) :: begun
    begun = now()
    if (bytes > size(small)) then
      call MPI_Recv(large, bytes, MPI_CHARACTER, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    else
      call MPI_Recv(small, bytes, MPI_CHARACTER, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    end if
    call note('receive', 'recv', from, tag, -1, begun, begun, now())
  end subroutine receive

  subroutine send_and_receive(to, from)
    integer, intent(in) :: to, from
    character :: in(8)
    integer(int64) :: begun, end
    begun = now()
    call MPI_Sendrecv(small, 8, MPI_CHARACTER, to, 0, in, 8, MPI_CHARACTER, from, 0, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    end = now()
    call note('send', 'sendrecv', to, 0, -1, begun, begun, end)
    call note('receive', 'sendrecv', from, 0, -1, begun, begun, end)
  end subroutine send_and_receive

  ! Posts receives from some ranks, sends to some, and waits for all of that in one call.
  subroutine exchange(from, to)
    integer, intent(in) :: from(:), to(:)
    character, asynchronous :: in(8, partners)
    type(MPI_Request) :: requests(2 * partners)
    integer(int64) :: begun(2 * partners), wait_begin, wait_end
    integer :: i, n
    n = size(from)
    do i = 1, n
      begun(i) = now()
      call MPI_Irecv(in(:, i), 8, MPI_CHARACTER, from(i), 0, MPI_COMM_WORLD, requests(i))
    end do
    do i = 1, size(to)
      begun(n + i) = now()
      call MPI_Isend(small, 8, MPI_CHARACTER, to(i), 0, MPI_COMM_WORLD, requests(n + i))
    end do
    wait_begin = now()
    call MPI_Waitall(n + size(to), requests, MPI_STATUSES_IGNORE)
    wait_end = now()
    do i = 1, n
      call note('receive', 'waitall', from(i), 0, -1, begun(i), wait_begin, wait_end)
    end do
    do i = 1, size(to)
      call note('send', 'isend', to(i), 0, -1, begun(n + i), wait_begin, wait_end)
    end do
  end subroutine exchange

  ! Open MPI 4 has no windows between hosts on some networks. Then scenarios with them are left out.
  subroutine make_windows()
    type(MPI_Group) :: all_ranks
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    has_windows = is_made(fenced)
    if (has_windows) has_windows = is_made(window)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    if (.not. has_windows) return
    call MPI_Win_fence(0, fenced)
    call MPI_Comm_group(MPI_COMM_WORLD, all_ranks)
    call MPI_Group_incl(all_ranks, 2, origins, group_of_origins)
    call MPI_Group_incl(all_ranks, 1, targets, group_of_targets)
    call MPI_Group_free(all_ranks)
  end subroutine make_windows

  logical function is_made(made)
    type(MPI_Win), intent(out) :: made
    type(c_ptr) :: memory
    integer :: error
    call MPI_Win_allocate(8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, made, error)
    is_made = error == MPI_SUCCESS
  end function is_made

  subroutine free_windows()
    if (.not. has_windows) return
    call MPI_Win_fence(0, fenced)
    call MPI_Win_free(fenced)
    call MPI_Win_free(window)
    call MPI_Group_free(group_of_origins)
    call MPI_Group_free(group_of_targets)
  end subroutine free_windows

  ! Synchronises with some partners.
  subroutine synchronise(name, partners)
    character(len=*), intent(in) :: name
    integer, intent(in) :: partners(:)
    integer(int64) :: begun, end
    integer :: i
    begun = now()
    select case (name)
    case ('win_post')
      call MPI_Win_post(group_of_origins, 0, window)
    case ('win_wait')
      call MPI_Win_wait(window)
    case ('win_start')
      call MPI_Win_start(group_of_targets, 0, window)
    case ('win_complete')
      call MPI_Win_complete(window)
    case ('lock')
      call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, partners(1), 0, window)
    case ('flush')
      call MPI_Win_flush(partners(1), window)
    case ('unlock')
      call MPI_Win_unlock(partners(1), window)
    end select
    end = now()
    do i = 1, size(partners)
      call note('synchronisation', name, partners(i), 0, -1, begun, begun, end)
    end do
  end subroutine synchronise

  subroutine put(to, at)
    type(MPI_Win), intent(in) :: to
    integer, intent(in) :: at
    call MPI_Put(put_value, 1, MPI_INTEGER, at, int(modulo(rank, 2), MPI_ADDRESS_KIND), 1, MPI_INTEGER, to)
  end subroutine put

  subroutine barrier()
    integer(int64) :: begun
    begun = now()
    call MPI_Barrier(MPI_COMM_WORLD)
    call note('collective', 'barrier', -1, 0, -1, begun, begun, now())
  end subroutine barrier

end module waits_calls

program waits
  use, intrinsic :: iso_fortran_env, only: int64, error_unit
  use mpi_f08
  use perfield
  use waits_log
  use waits_calls
  implicit none

  character(len=24), parameter :: names(20) = [character(len=24) :: &
    'late_sender_recv', 'late_sender_wait', 'late_sender_waitall', 'late_sender_sendrecv', &
    'late_neighbour', 'late_receiver', 'eager', 'late_at_allreduce', 'late_at_barrier', &
    'late_at_bcast', 'late_at_reduce', 'alternating', 'chain', 'crossing', 'two_causes', &
    'put_fence', 'late_post', 'late_complete', 'lock', 'clean']
  character(len=24) :: chosen, word
  real :: delay, planted
  type(MPI_Comm) :: ring
  integer :: i

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  chosen = 'all'
  delay = 0.04
  if (command_argument_count() > 0) call get_command_argument(1, chosen)
  if (command_argument_count() > 1) then
    call get_command_argument(2, word)
    read (word, *) delay
    delay = delay / 1000
  end if
  if (.not. (chosen == 'all' .or. any(names == chosen)) .or. delay <= 0 .or. ranks < partners + 1) then
    if (rank == 0) then
      write (error_unit, '(a, i0, a)') 'usage: waits SCENARIO|all [MILLISECONDS], on ', partners + 1, &
        ' ranks or more; scenarios:'
      write (error_unit, '("  ", a)') names
    end if
    call MPI_Finalize()
    stop 2
  end if
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring)
  call make_windows()
  ! Connections are made here, so that no scenario waits for them.
  do i = 1, ranks - 1
    call send_and_receive(modulo(rank + i, ranks), modulo(rank - i, ranks))
  end do
  planted = delay
  delay = 0
  if (has_windows) call one_step('late_post', 0)
  if (has_windows) call one_step('lock', 0)
  delay = planted
  n_lines = 0
  call MPI_Barrier(MPI_COMM_WORLD)
  call perfield_initialize()
  do i = 1, size(names)
    if ((chosen == 'all' .or. chosen == names(i)) .and. (has_windows .or. .not. needs_windows(names(i)))) &
      call run(names(i))
  end do
  call write_log()
  call free_windows()
  call MPI_Comm_free(ring)
  call MPI_Finalize()

contains

  logical function needs_windows(name)
    character(len=*), intent(in) :: name
    needs_windows = any(name == [character(len=24) :: 'put_fence', 'late_post', 'late_complete', 'lock'])
  end function needs_windows

  subroutine run(name)
    character(len=*), intent(in) :: name
    integer :: number, steps
    scenario = name
    steps = merge(11, 2, name == 'crossing')
    do number = 0, steps - 1
      if (name /= 'crossing' .or. number == 0) call barrier()
      call one_step(name, number)
      call perfield_step(int(step, int64), real(step, kind(1d0)))
      step = step + 1
    end do
  end subroutine run

  subroutine one_step(name, number)
    character(len=*), intent(in) :: name
    integer, intent(in) :: number
    type(MPI_Request) :: request
    integer(int64) :: begun, wait_begin, end
    integer :: sum, n, in(2), out(2), neighbours(2)
    integer, allocatable :: none(:)
    allocate (none(0))
    select case (name)
    case ('late_sender_recv')
      if (rank == 1) call late_send(1.0, 1)
      if (rank == 0) call receive(8, 1, 1)
    case ('late_sender_wait')
      if (rank == 1) call late_send(1.0, 1)
      if (rank == 0) then
        begun = now()
        call MPI_Irecv(small, 8, MPI_CHARACTER, 1, 1, MPI_COMM_WORLD, request)
        call sleep_for(delay / 4) ! work that the message overlaps with
        wait_begin = now()
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call note('receive', 'wait', 1, 1, -1, begun, wait_begin, now())
      end if
    case ('late_sender_waitall')
      if (rank == 3) call sleep_for(delay)
      if (rank == 5) call sleep_for(delay / 2)
      if (rank == 0) then
        call exchange([(n, n=1, partners)], none)
      else if (rank <= partners) then
        call exchange(none, [0])
      end if
    case ('late_sender_sendrecv')
      if (rank == 1) call sleep_for(delay)
      if (rank <= 1) call send_and_receive(1 - rank, 1 - rank)
    case ('late_neighbour')
      neighbours = modulo([rank - 1, rank + 1], ranks)
      out = rank
      if (rank == 2) call sleep_for(delay)
      begun = now()
      call MPI_Neighbor_alltoall(out, 1, MPI_INTEGER, in, 1, MPI_INTEGER, ring)
      end = now()
      do n = 1, 2
        call note('send', 'neighbor_alltoall', neighbours(n), -1, -1, begun, begun, end)
        call note('receive', 'neighbor_alltoall', neighbours(n), -1, -1, begun, begun, end)
      end do
    case ('late_receiver')
      if (rank == 0) call send(large_bytes, 1, 2)
      if (rank == 1) then
        call sleep_for(delay)
        call receive(large_bytes, 0, 2)
      end if
    case ('eager')
      if (rank == 0) call send(8, 1, 2)
      if (rank == 1) then
        call sleep_for(delay)
        call receive(8, 0, 2)
      end if
    case ('late_at_allreduce')
      if (rank == 4) call sleep_for(delay)
      begun = now()
      call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
      call note('collective', 'allreduce', -1, 0, -1, begun, begun, now())
    case ('late_at_barrier')
      if (rank == 5) call sleep_for(delay)
      call barrier()
    case ('late_at_bcast')
      sum = number
      if (rank == 0) call sleep_for(delay)
      begun = now()
      call MPI_Bcast(sum, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
      call note('collective', 'bcast', -1, 0, 0, begun, begun, now())
    case ('late_at_reduce')
      if (rank == 3) call sleep_for(delay)
      begun = now()
      call MPI_Reduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
      call note('collective', 'reduce', -1, 0, 0, begun, begun, now())
    case ('alternating')
      if (rank > 1) return
      if (rank == 1) call sleep_for(delay)
      call send_and_receive(1 - rank, 1 - rank)
      if (rank == 0) call sleep_for(delay)
      call send_and_receive(1 - rank, 1 - rank)
    case ('chain')
      if (rank > 3) return
      if (rank == 3) call sleep_for(delay)
      if (rank < 3) call receive(8, rank + 1, 3)
      if (rank > 0) call send(8, rank - 1, 3)
    case ('crossing')
      if (rank == 0 .and. number == 0) call sleep_for(delay)
      call exchange(pack([rank - 1], rank > 0), pack([rank + 1], rank < ranks - 1))
    case ('two_causes')
      if (rank == 1 .or. rank == 2) call late_send(real(rank), 4)
      if (rank == 0) then
        call receive(8, 1, 4)
        call receive(8, 2, 4)
      end if
    case ('put_fence')
      put_value = number
      if (rank == 2) then
        call sleep_for(delay)
        call put(fenced, 3)
      end if
      begun = now()
      call MPI_Win_fence(0, fenced)
      call note('collective', 'fence', -1, 0, -1, begun, begun, now())
    case ('late_post')
      put_value = number
      if (rank == targets(1)) then
        call sleep_for(delay)
        call synchronise('win_post', origins)
        call synchronise('win_wait', origins)
      else if (any(rank == origins)) then
        call synchronise('win_start', targets)
        call put(window, targets(1))
        call synchronise('win_complete', targets)
      end if
    case ('late_complete')
      put_value = number
      if (rank == targets(1)) then
        call synchronise('win_post', origins)
        call synchronise('win_wait', origins)
      else if (any(rank == origins)) then
        call synchronise('win_start', targets)
        call put(window, targets(1))
        call sleep_for(merge(delay, delay / 2, rank == 0))
        call synchronise('win_complete', targets)
      end if
    case ('lock')
      put_value = number
      if (rank == 1) call receive(8, 0, 5)
      if (any(rank == origins)) then
        call synchronise('lock', targets)
        call put(window, targets(1))
      end if
      if (rank == 0) then
        call synchronise('flush', targets)
        call send(8, 1, 5)
        call sleep_for(delay)
      end if
      if (any(rank == origins)) call synchronise('unlock', targets)
    case ('clean')
      call send_and_receive(modulo(rank + 1, ranks), modulo(rank - 1, ranks))
    end select
  end subroutine one_step

  ! To rank 0, after so many delays.
  subroutine late_send(delays, tag)
    real, intent(in) :: delays
    integer, intent(in) :: tag
    call sleep_for(delays * delay)
    call send(8, 0, tag)
  end subroutine late_send

end program waits
