! SPDX-License-Identifier: BSD-3-Clause
!
! input.f90 - the user's input: a file like that of heat3d, and options that override it. The defaults
! are the values of heat3d.input.
module heat_input
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: input_type, read_input

  type input_type
    logical :: print_log = .true.
    integer :: minds(3) = 3, points(3) = 9 ! ranks and grid points along x, y, z
    integer :: max_num_time_steps = 10
    real(real64) :: dt = 0.5_real64 ! s
    logical :: check_convergence = .false.
    real(real64) :: precision_T = 1                    ! K
    real(real64) :: thermal_diffusivity = 0.000864_real64 ! m^2/s
    real(real64) :: internal_T = 200                   ! K
    real(real64) :: d_dim(3) = [0.12_real64, 0.1_real64, 0.09_real64] ! m
    real(real64) :: boundary_conditions(6) = [300, 100, 400, 50, 150, 350] ! K
    character(len=20) :: exchange = 'put'
    real(real64) :: hot_spot = 0 ! ms
    logical :: print_hot_spot = .false., verify = .false.
    character(len=300) :: wrong = '' ! the first error, as a sentence
    integer, private :: multiple_minds = 3, base_minds(3) = 1, multiple_points = 9, base_points(3) = 1
  end type input_type

  integer, parameter :: longest_line = 1000

contains

  ! Reads `heat3d_fortran [INPUT FILE] [--key value ...]`, for a job of n_ranks ranks.
  type(input_type) function read_input(n_ranks) result(input)
    integer, intent(in) :: n_ranks
    character(len=longest_line) :: word
    integer :: first
    first = 1
    call get_command_argument(1, word)
    if (word /= '' .and. word(1:2) /= '--') then
      call read_file(trim(word), input)
      first = 2
    end if
    call read_options(first, input)
    input%minds = input%multiple_minds * input%base_minds
    input%points = input%multiple_points * input%base_points
    call check(n_ranks, input)
  end function read_input

  subroutine read_file(path, input)
    character(len=*), intent(in) :: path
    type(input_type), intent(inout) :: input
    character(len=longest_line) :: line
    integer :: unit, status, number, equals
    open (newunit=unit, file=path, status='old', action='read', iostat=status)
    if (status /= 0) then
      input%wrong = path // ' cannot be read; give the path of an input file'
      return
    end if
    number = 0
    do
      read (unit, '(a)', iostat=status) line
      if (status /= 0) exit
      number = number + 1
      if (index(line, '#') > 0) line(index(line, '#'):) = ''
      if (line == '') cycle
      equals = index(line, '=')
      if (equals == 0) then
        call set(input, '', line, place())
      else
        call set(input, trim(adjustl(line(:equals - 1))), line(equals + 1:), place())
      end if
    end do
    close (unit)
  contains
    function place() result(text)
      character(len=:), allocatable :: text
      character(len=12) :: digits
      write (digits, '(i0)') number
      text = path // ':' // trim(digits)
    end function place
  end subroutine read_file

  subroutine read_options(first, input)
    integer, intent(in) :: first
    type(input_type), intent(inout) :: input
    character(len=longest_line) :: option, word, value
    integer :: at, i
    at = first
    do while (at <= command_argument_count())
      call get_command_argument(at, option)
      value = ''
      do at = at + 1, command_argument_count()
        call get_command_argument(at, word)
        if (word(1:2) == '--') exit
        value = trim(value) // ' ' // word
      end do
      word = option(3:)
      do i = 1, len_trim(word)
        if (word(i:i) == '-') word(i:i) = '_'
      end do
      if (word == 'steps') word = 'max_num_time_steps'
      call set(input, trim(word), value, trim(option))
    end do
  end subroutine read_options

  ! Sets one key. where: the place of the key, for messages.
  subroutine set(input, name, value, where)
    type(input_type), intent(inout) :: input
    character(len=*), intent(in) :: name, value, where
    integer :: status
    status = 0
    select case (name)
    case ('print_log'); call read_logical(input%print_log)
    case ('multiple_minds'); read (value, *, iostat=status) input%multiple_minds
    case ('base_minds_dim'); read (value, *, iostat=status) input%base_minds
    case ('multiple_points'); read (value, *, iostat=status) input%multiple_points
    case ('base_points_dim'); read (value, *, iostat=status) input%base_points
    case ('max_num_time_steps'); read (value, *, iostat=status) input%max_num_time_steps
    case ('dt'); read (value, *, iostat=status) input%dt
    case ('check_convergence'); call read_logical(input%check_convergence)
    case ('precision_T'); read (value, *, iostat=status) input%precision_T
    case ('thermal_diffusivity'); read (value, *, iostat=status) input%thermal_diffusivity
    case ('internal_T'); read (value, *, iostat=status) input%internal_T
    case ('d_dim'); read (value, *, iostat=status) input%d_dim
    case ('boundary_conditions'); read (value, *, iostat=status) input%boundary_conditions
    case ('exchange'); input%exchange = adjustl(value)
    case ('hot_spot')
      input%hot_spot = 20
      if (value /= '') read (value, *, iostat=status) input%hot_spot
    case ('print_hot_spot'); call read_logical(input%print_hot_spot)
    case ('verify'); call read_logical(input%verify)
    case ('minds') ! ranks along x, y, z at once; points likewise
      input%multiple_minds = 1
      read (value, *, iostat=status) input%base_minds
    case ('points')
      input%multiple_points = 1
      read (value, *, iostat=status) input%base_points
    case default
      call refuse(input, where // ": unknown key '" // name // "'; see heat3d.input for the keys")
    end select
    if (status /= 0) call refuse(input, where // ': ' // name // " is '" // trim(adjustl(value)) // &
                                 "', which is not valid; see heat3d.input")
  contains
    ! 0 or 1; an option without a value means 1.
    subroutine read_logical(target)
      logical, intent(out) :: target
      integer :: number
      number = 1
      if (value /= '') read (value, *, iostat=status) number
      target = number /= 0
    end subroutine read_logical
  end subroutine set

  subroutine refuse(input, sentence)
    type(input_type), intent(inout) :: input
    character(len=*), intent(in) :: sentence
    if (input%wrong == '') input%wrong = sentence
  end subroutine refuse

  subroutine check(n_ranks, input)
    integer, intent(in) :: n_ranks
    type(input_type), intent(inout) :: input
    character(len=200) :: text
    real(real64) :: largest_stable_dt
    if (input%wrong /= '') return
    if (any(input%minds < 1) .or. any(input%points < 1) .or. any(input%d_dim <= 0)) then
      call refuse(input, 'ranks (--minds), points (--points) and distances (--d-dim) must be positive')
      return
    end if
    if (any(mod(input%points, input%minds) /= 0)) then
      write (text, '(2(i0, " x ", i0, " x ", i0, a))') input%points, ' points do not divide among ', &
        input%minds, ' ranks; change --points to multiples of --minds'
      call refuse(input, trim(text))
    end if
    if (product(input%minds) /= n_ranks) then
      write (text, '(4(a, i0), a)') 'the input asks for ', input%minds(1), ' x ', input%minds(2), ' x ', &
        input%minds(3), ' ranks, but ', n_ranks, ' were started; change -n or --minds'
      call refuse(input, trim(text))
    end if
    largest_stable_dt = 1 / (2 * input%thermal_diffusivity * sum(1 / input%d_dim**2))
    if (.not. (input%dt > 0 .and. input%dt <= largest_stable_dt)) then
      write (text, '(a, g0.4, a, g0.4, a)') 'dt = ', input%dt, ' s must be positive and at most ', &
        rounded_down(largest_stable_dt), ' s, or the scheme is unstable'
      call refuse(input, trim(text))
    end if
    if (all(input%exchange /= ['put     ', 'isend   ', 'sendrecv'])) &
      call refuse(input, "unknown exchange '" // trim(input%exchange) // "'; use put, isend or sendrecv")
  end subroutine check

  ! Four digits, rounded down.
  real(real64) function rounded_down(value)
    real(real64), intent(in) :: value
    real(real64) :: scale
    scale = 10.0_real64**(3 - floor(log10(value)))
    rounded_down = aint(value * scale) / scale
  end function rounded_down

end module heat_input
