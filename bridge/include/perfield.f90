! SPDX-License-Identifier: BSD-3-Clause
!
! perfield.f90 - module perfield, for Fortran simulations to be measured. Standard Fortran 2008 in
! one file: compile it with the program's own compiler, before the files that use it. Link no
! library: the module looks up the functions of perfield.h at the first call, and without perfield
! every call does nothing. Start the program with perfield-exec. (With a glibc older than 2.34, link
! with -ldl for the look-up.) perfield.h describes each call in full.
!
!   use perfield
!   integer :: solve      ! with -fdefault-integer-8 or the like: integer(c_int32_t)
!   solve = perfield_region_define("solve", __FILE__, __LINE__)    ! file and line are optional
!   call perfield_mesh_image(0, [0, ni, 0, nj, 0, nk], origin, spacing)
!   call perfield_field(0, "pressure", perfield_cells, q(5, 1:ni, 1:nj, 1:nk))
!   call perfield_initialize()                                     ! the time loop starts
!   do step = 1, steps
!     call perfield_region_begin(solve)
!     ...
!     call perfield_region_end(solve)
!     call perfield_step(step, time)                                ! closes the step
!   end do
!
! Arrays may be parts of larger ones: q(5, 1:ni, 1:nj, 1:nk) is one variable of q without its
! ghost layers. Nothing is copied: the addresses of its elements describe the part. perfield reads
! mesh arrays during the call, and field arrays when steps close. So fields must be variables that
! live as long as the simulation, best with the attribute `target`. Expressions and parts selected
! by a vector of indices are copies, which are gone after the call.
module perfield
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer, parameter, public :: perfield_points = 0, perfield_cells = 1  ! associations

  public :: perfield_initialize, perfield_finalize, perfield_step, perfield_measuring
  public :: perfield_region_define, perfield_region_begin, perfield_region_begin_on
  public :: perfield_region_end, perfield_begin, perfield_end
  public :: perfield_pause, perfield_resume
  public :: perfield_mesh_image, perfield_mesh_rectilinear, perfield_mesh_structured
  public :: perfield_mesh_unstructured, perfield_mesh_ghosts, perfield_mesh_size
  public :: perfield_mesh_changed, perfield_field

  ! Closes a time step: (step, time), the program's own number and time, of either kind.
  interface perfield_step
    module procedure run_i4_r4, run_i4_r8, run_i8_r4, run_i8_r8
  end interface

  ! (block, extent(6), x(:), y(:), z(:)): coordinates of a rectilinear block. As for all structured
  ! blocks, extent holds the global numbers of the first and last point along i, j and k.
  interface perfield_mesh_rectilinear
    module procedure rectilinear_r4, rectilinear_r8
  end interface

  ! (block, extent(6), points(3, ni, nj, nk)): a curvilinear block.
  interface perfield_mesh_structured
    module procedure structured_r4, structured_r8
  end interface

  ! (block, points(3, n), connectivity(:), offsets(:), types(:), first_number): cell c (from 0)
  ! uses connectivity from offsets(c) up to but not including offsets(c + 1), counted from 0; so
  ! offsets has one number more than there are cells. types: VTK's number for each cell, or one for
  ! all. first_number: the number of the first point in connectivity; 1 if left out.
  interface perfield_mesh_unstructured
    module procedure unstructured_r4_i4, unstructured_r4_i8, unstructured_r8_i4, unstructured_r8_i8
  end interface

  ! (block, association, ghosts): nonzero where a point or cell belongs to a neighbour.
  interface perfield_mesh_ghosts
    module procedure ghosts_1, ghosts_2, ghosts_3
  end interface

  ! (block, name, association, values, components_along): values have rank 1 to 4 and kind real(4),
  ! real(8) or integer(4). components_along: the dimension of values that runs over a vector's
  ! components, the first or the last; 0 for a scalar. If left out: 1 for rank 4, else 0.
  interface perfield_field
    module procedure field_r4_1, field_r4_2, field_r4_3, field_r4_4
    module procedure field_r8_1, field_r8_2, field_r8_3, field_r8_4
    module procedure field_i4_1, field_i4_2, field_i4_3, field_i4_4
  end interface

  ! --- users need not read on ---------------------------------------------------------------------
  integer(c_int32_t), parameter :: type_i4 = 3, type_i8 = 4, type_r4 = 5, type_r8 = 6
  integer, parameter :: longest_name = 1000

  ! perfield_array of perfield.h: an array seen as (component, i, j, k), strides in numbers.
  type, bind(C) :: array
    type(c_ptr) :: data = c_null_ptr
    integer(c_int32_t) :: type = 0, components = 1
    integer(c_int64_t) :: component_stride = 1
    integer(c_int64_t) :: size(3) = 1
    integer(c_int64_t) :: stride(3) = 0
  end type array

  ! Turns a Fortran array into perfield_array; the second argument is components_along.
  interface array_of
    module procedure array_r4_1, array_r4_2, array_r4_3, array_r4_4
    module procedure array_r8_1, array_r8_2, array_r8_3, array_r8_4
    module procedure array_i4_1, array_i4_2, array_i4_3, array_i4_4, array_i8_1
  end interface

  abstract interface
    subroutine without_arguments() bind(C)
    end subroutine without_arguments
    subroutine with_step(step, time) bind(C)
      import :: c_int64_t, c_double
      integer(c_int64_t), value :: step
      real(c_double), value :: time
    end subroutine with_step
    function giving_integer() bind(C) result(answer)
      import :: c_int
      integer(c_int) :: answer
    end function giving_integer
    function giving_region(name, file, line) bind(C) result(region)
      import :: c_char, c_ptr, c_int, c_int32_t
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: file
      integer(c_int), value :: line
      integer(c_int32_t) :: region
    end function giving_region
    subroutine with_region(region) bind(C)
      import :: c_int32_t
      integer(c_int32_t), value :: region
    end subroutine with_region
    subroutine with_region_and_block(region, block) bind(C)
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: region
      integer(c_int), value :: block
    end subroutine with_region_and_block
    subroutine with_name(name) bind(C)
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine with_name
    subroutine with_place(place) bind(C)
      import :: c_intptr_t
      integer(c_intptr_t), value :: place
    end subroutine with_place
    subroutine with_image(block, extent, origin, spacing) bind(C)
      import :: c_int, c_int64_t, c_double
      integer(c_int), value :: block
      integer(c_int64_t), intent(in) :: extent(6)
      real(c_double), intent(in) :: origin(3), spacing(3)
    end subroutine with_image
    subroutine with_size(grid, cells, points, ghost_cells) bind(C)
      import :: c_ptr, c_int64_t
      type(c_ptr), value :: grid
      integer(c_int64_t), value :: cells, points, ghost_cells
    end subroutine with_size
    subroutine with_coordinates(block, extent, x, y, z) bind(C)
      import :: c_int, c_int64_t, array
      integer(c_int), value :: block
      integer(c_int64_t), intent(in) :: extent(6)
      type(array), value :: x, y, z
    end subroutine with_coordinates
    subroutine with_points(block, extent, points) bind(C)
      import :: c_int, c_int64_t, array
      integer(c_int), value :: block
      integer(c_int64_t), intent(in) :: extent(6)
      type(array), value :: points
    end subroutine with_points
    subroutine with_cells(block, points, connectivity, offsets, types, first_number) bind(C)
      import :: c_int, array
      integer(c_int), value :: block
      type(array), value :: points, connectivity, offsets, types
      integer(c_int), value :: first_number
    end subroutine with_cells
    subroutine with_ghosts(block, association, ghosts) bind(C)
      import :: c_int, array
      integer(c_int), value :: block, association
      type(array), value :: ghosts
    end subroutine with_ghosts
    subroutine with_values(block, name, association, values) bind(C)
      import :: c_int, c_char, array
      integer(c_int), value :: block, association
      character(kind=c_char), intent(in) :: name(*)
      type(array), value :: values
    end subroutine with_values
    function giving_addresses(addresses, most) bind(C) result(n)
      import :: c_int, c_ptr
      type(c_ptr) :: addresses(*)
      integer(c_int), value :: most
      integer(c_int) :: n
    end function giving_addresses
  end interface

  interface
    function dlsym(handle, symbol) bind(C, name="dlsym") result(address)
      import :: c_ptr, c_funptr, c_char
      type(c_ptr), value :: handle  ! null: wherever it is
      character(kind=c_char), intent(in) :: symbol(*)
      type(c_funptr) :: address
    end function dlsym
  end interface

  logical, save :: present_here = .false., looked_up = .false.
  procedure(without_arguments), pointer, save :: c_initialize => null(), c_finalize => null()
  procedure(without_arguments), pointer, save :: c_pause => null(), c_resume => null()
  procedure(without_arguments), pointer, save :: c_mesh_changed => null()
  procedure(with_step), pointer, save :: c_run => null()
  procedure(giving_integer), pointer, save :: c_measuring => null()
  procedure(giving_region), pointer, save :: c_region_define => null()
  procedure(with_region), pointer, save :: c_region_begin => null(), c_region_end => null()
  procedure(with_region_and_block), pointer, save :: c_region_begin_on => null()
  procedure(with_name), pointer, save :: c_begin => null(), c_end => null()
  procedure(with_image), pointer, save :: c_mesh_image => null()
  procedure(with_coordinates), pointer, save :: c_mesh_rectilinear => null()
  procedure(with_points), pointer, save :: c_mesh_structured => null()
  procedure(with_cells), pointer, save :: c_mesh_unstructured => null()
  procedure(with_ghosts), pointer, save :: c_mesh_ghosts => null()
  procedure(with_size), pointer, save :: c_mesh_size => null()
  procedure(with_values), pointer, save :: c_field => null()

  ! Arms the next region that this thread enters: `call perfield_pipeline_next()`. It is a pointer,
  ! so that the program itself calls the C function, which sees its caller's address.
  procedure(without_arguments), pointer, protected, save, public :: &
    perfield_pipeline_next => first_pipeline_next

contains

  ! --- looking up ---------------------------------------------------------------------------------
  ! Whether perfield is present. Safe on several threads at once: all find the same.
  logical function is_present()
    if (.not. looked_up) call look_up()
    is_present = present_here
  end function is_present

  function address_of(name) result(address)
    character(len=*), intent(in) :: name
    type(c_funptr) :: address
    address = dlsym(c_null_ptr, name // c_null_char)
  end function address_of

  subroutine look_up()
    if (c_associated(address_of("perfield_step"))) then
      call c_f_procpointer(address_of("perfield_initialize"), c_initialize)
      call c_f_procpointer(address_of("perfield_finalize"), c_finalize)
      call c_f_procpointer(address_of("perfield_step"), c_run)
      call c_f_procpointer(address_of("perfield_measuring"), c_measuring)
      call c_f_procpointer(address_of("perfield_region_define"), c_region_define)
      call c_f_procpointer(address_of("perfield_region_begin"), c_region_begin)
      call c_f_procpointer(address_of("perfield_region_begin_on"), c_region_begin_on)
      call c_f_procpointer(address_of("perfield_region_end"), c_region_end)
      call c_f_procpointer(address_of("perfield_begin"), c_begin)
      call c_f_procpointer(address_of("perfield_end"), c_end)
      call c_f_procpointer(address_of("perfield_pause"), c_pause)
      call c_f_procpointer(address_of("perfield_resume"), c_resume)
      call c_f_procpointer(address_of("perfield_mesh_image"), c_mesh_image)
      call c_f_procpointer(address_of("perfield_mesh_rectilinear"), c_mesh_rectilinear)
      call c_f_procpointer(address_of("perfield_mesh_structured"), c_mesh_structured)
      call c_f_procpointer(address_of("perfield_mesh_unstructured"), c_mesh_unstructured)
      call c_f_procpointer(address_of("perfield_mesh_ghosts"), c_mesh_ghosts)
      call c_f_procpointer(address_of("perfield_mesh_size"), c_mesh_size)
      call c_f_procpointer(address_of("perfield_mesh_changed"), c_mesh_changed)
      call c_f_procpointer(address_of("perfield_field"), c_field)
      call c_f_procpointer(address_of("perfield_pipeline_next"), perfield_pipeline_next)
      present_here = .true.
    else
      perfield_pipeline_next => nothing
    end if
    looked_up = .true.
  end subroutine look_up

  subroutine nothing() bind(C, name="")
  end subroutine nothing

  ! Runs if this is the program's very first call of perfield: it passes its caller's address to C.
  ! From the next call on, C sees the caller itself.
  subroutine first_pipeline_next() bind(C, name="")
    procedure(giving_addresses), pointer :: c_backtrace
    procedure(with_place), pointer :: c_pipeline_next_at
    type(c_funptr) :: backtrace, pipeline_next_at
    type(c_ptr) :: callers(2)  ! this procedure and its caller
    if (.not. is_present()) return
    backtrace = address_of("backtrace")
    pipeline_next_at = address_of("perfield_pipeline_next_at")
    if (.not. c_associated(backtrace) .or. .not. c_associated(pipeline_next_at)) return
    call c_f_procpointer(backtrace, c_backtrace)
    call c_f_procpointer(pipeline_next_at, c_pipeline_next_at)
    if (c_backtrace(callers, 2_c_int) < 2) return
    call c_pipeline_next_at(transfer(callers(2), 0_c_intptr_t))
  end subroutine first_pipeline_next

  ! --- steps and regions --------------------------------------------------------------------------
  ! Call it where the time loop starts, after MPI_Init: everything before it is setup.
  subroutine perfield_initialize()
    if (is_present()) call c_initialize()
  end subroutine perfield_initialize

  ! Not needed in a program that runs under perfield-exec and calls MPI_Finalize.
  subroutine perfield_finalize()
    if (is_present()) call c_finalize()
  end subroutine perfield_finalize

  ! Whether perfield measures in this process now.
  logical function perfield_measuring()
    perfield_measuring = .false.
    if (is_present()) perfield_measuring = c_measuring() /= 0
  end function perfield_measuring

  ! Between pause and resume, perfield counts nothing. They nest. MPI_Pcontrol(0) is a pause of its
  ! own, which MPI_Pcontrol(1) ends.
  subroutine perfield_pause()
    if (is_present()) call c_pause()
  end subroutine perfield_pause

  subroutine perfield_resume()
    if (is_present()) call c_resume()
  end subroutine perfield_resume

  ! The handle of a region, the same for the same name. Without perfield it is 0, which every call
  ! ignores. Call it once and keep the handle. Trailing blanks are not part of the name.
  function perfield_region_define(name, file, line) result(region)
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: file
    integer, intent(in), optional :: line
    integer(c_int32_t) :: region
    character(kind=c_char), target :: file_text(longest_name + 1)
    type(c_ptr) :: file_at
    integer(c_int) :: line_number
    region = 0
    if (.not. is_present()) return
    file_at = c_null_ptr
    if (present(file)) then
      file_text = c_text(file)
      file_at = c_loc(file_text)
    end if
    line_number = 0
    if (present(line)) line_number = int(line, c_int)
    region = c_region_define(c_text(name), file_at, line_number)
  end function perfield_region_define

  ! Enters a region on this thread. Regions nest and recurse.
  subroutine perfield_region_begin(region)
    integer(c_int32_t), intent(in) :: region
    if (region /= 0) call c_region_begin(region)
  end subroutine perfield_region_begin

  ! The same, but gives the time to one block of this rank's mesh.
  subroutine perfield_region_begin_on(region, block)
    integer(c_int32_t), intent(in) :: region
    integer, intent(in) :: block
    if (region /= 0) call c_region_begin_on(region, int(block, c_int))
  end subroutine perfield_region_begin_on

  subroutine perfield_region_end(region)
    integer(c_int32_t), intent(in) :: region
    if (region /= 0) call c_region_end(region)
  end subroutine perfield_region_end

  ! The same by name, somewhat slower.
  subroutine perfield_begin(name)
    character(len=*), intent(in) :: name
    if (is_present()) call c_begin(c_text(name))
  end subroutine perfield_begin

  subroutine perfield_end(name)
    character(len=*), intent(in) :: name
    if (is_present()) call c_end(c_text(name))
  end subroutine perfield_end

  ! A C string without trailing blanks, in memory of a fixed size.
  pure function c_text(text)
    character(len=*), intent(in) :: text
    character(kind=c_char) :: c_text(longest_name + 1)
    integer :: i, n
    n = min(len_trim(text), longest_name)
    do i = 1, n
      c_text(i) = text(i:i)
    end do
    c_text(n + 1) = c_null_char
  end function c_text

  subroutine run_i8_r8(step, time)
    integer(c_int64_t), intent(in) :: step
    real(c_double), intent(in) :: time
    if (is_present()) call c_run(step, time)
  end subroutine run_i8_r8

  subroutine run_i4_r8(step, time)
    integer(c_int32_t), intent(in) :: step
    real(c_double), intent(in) :: time
    call run_i8_r8(int(step, c_int64_t), time)
  end subroutine run_i4_r8

  subroutine run_i8_r4(step, time)
    integer(c_int64_t), intent(in) :: step
    real(c_float), intent(in) :: time
    call run_i8_r8(step, real(time, c_double))
  end subroutine run_i8_r4

  subroutine run_i4_r4(step, time)
    integer(c_int32_t), intent(in) :: step
    real(c_float), intent(in) :: time
    call run_i8_r8(int(step, c_int64_t), real(time, c_double))
  end subroutine run_i4_r4

  ! --- the mesh: this rank's piece, block by block (blocks count from 0) --------------------------
  ! Points extent(1) to extent(2), ... (global numbers, inclusive) at origin + spacing * number.
  subroutine perfield_mesh_image(block, extent, origin, spacing)
    integer, intent(in) :: block, extent(6)
    real(c_double), intent(in) :: origin(3), spacing(3)
    if (is_present()) call c_mesh_image(int(block, c_int), int(extent, c_int64_t), origin, spacing)
  end subroutine perfield_mesh_image

  ! How large this rank's piece is, for a program that does not describe its mesh: its own cells and
  ! points, and the ghost cells beside them. The numbers hold until a later step brings new ones.
  subroutine perfield_mesh_size(cells, points, ghost_cells)
    integer, intent(in) :: cells, points, ghost_cells
    if (is_present()) call c_mesh_size(c_null_ptr, int(cells, c_int64_t), int(points, c_int64_t), &
      int(ghost_cells, c_int64_t))
  end subroutine perfield_mesh_size

  ! Forgets all blocks and fields, because a new mesh follows.
  subroutine perfield_mesh_changed()
    if (is_present()) call c_mesh_changed()
  end subroutine perfield_mesh_changed

  subroutine rectilinear_r4(block, extent, x, y, z)
    integer, intent(in) :: block, extent(6)
    real(c_float), intent(in), target :: x(:), y(:), z(:)
    if (is_present()) call c_mesh_rectilinear(int(block, c_int), int(extent, c_int64_t), &
                                              array_of(x), array_of(y), array_of(z))
  end subroutine rectilinear_r4

  subroutine rectilinear_r8(block, extent, x, y, z)
    integer, intent(in) :: block, extent(6)
    real(c_double), intent(in), target :: x(:), y(:), z(:)
    if (is_present()) call c_mesh_rectilinear(int(block, c_int), int(extent, c_int64_t), &
                                              array_of(x), array_of(y), array_of(z))
  end subroutine rectilinear_r8

  subroutine structured_r4(block, extent, points)
    integer, intent(in) :: block, extent(6)
    real(c_float), intent(in), target :: points(:, :, :, :)
    if (is_present()) call c_mesh_structured(int(block, c_int), int(extent, c_int64_t), &
                                             array_of(points))
  end subroutine structured_r4

  subroutine structured_r8(block, extent, points)
    integer, intent(in) :: block, extent(6)
    real(c_double), intent(in), target :: points(:, :, :, :)
    if (is_present()) call c_mesh_structured(int(block, c_int), int(extent, c_int64_t), &
                                             array_of(points))
  end subroutine structured_r8

  subroutine add_cells(block, points, connectivity, offsets, types, first_number)
    integer, intent(in) :: block
    type(array), intent(in) :: points, connectivity, offsets
    integer(c_int32_t), intent(in), target :: types(:)
    integer, intent(in), optional :: first_number
    integer(c_int) :: first
    first = 1
    if (present(first_number)) first = int(first_number, c_int)
    if (is_present()) call c_mesh_unstructured(int(block, c_int), points, connectivity, offsets, &
                                               array_of(types), first)
  end subroutine add_cells

  subroutine unstructured_r4_i4(block, points, connectivity, offsets, types, first_number)
    integer, intent(in) :: block
    real(c_float), intent(in), target :: points(:, :)
    integer(c_int32_t), intent(in), target :: connectivity(:), offsets(:)
    integer(c_int32_t), intent(in), target :: types(:)
    integer, intent(in), optional :: first_number
    call add_cells(block, array_of(points, 1), array_of(connectivity), array_of(offsets), types, &
                   first_number)
  end subroutine unstructured_r4_i4

  subroutine unstructured_r4_i8(block, points, connectivity, offsets, types, first_number)
    integer, intent(in) :: block
    real(c_float), intent(in), target :: points(:, :)
    integer(c_int64_t), intent(in), target :: connectivity(:), offsets(:)
    integer(c_int32_t), intent(in), target :: types(:)
    integer, intent(in), optional :: first_number
    call add_cells(block, array_of(points, 1), array_of(connectivity), array_of(offsets), types, &
                   first_number)
  end subroutine unstructured_r4_i8

  subroutine unstructured_r8_i4(block, points, connectivity, offsets, types, first_number)
    integer, intent(in) :: block
    real(c_double), intent(in), target :: points(:, :)
    integer(c_int32_t), intent(in), target :: connectivity(:), offsets(:)
    integer(c_int32_t), intent(in), target :: types(:)
    integer, intent(in), optional :: first_number
    call add_cells(block, array_of(points, 1), array_of(connectivity), array_of(offsets), types, &
                   first_number)
  end subroutine unstructured_r8_i4

  subroutine unstructured_r8_i8(block, points, connectivity, offsets, types, first_number)
    integer, intent(in) :: block
    real(c_double), intent(in), target :: points(:, :)
    integer(c_int64_t), intent(in), target :: connectivity(:), offsets(:)
    integer(c_int32_t), intent(in), target :: types(:)
    integer, intent(in), optional :: first_number
    call add_cells(block, array_of(points, 1), array_of(connectivity), array_of(offsets), types, &
                   first_number)
  end subroutine unstructured_r8_i8

  subroutine ghosts_1(block, association, ghosts)
    integer, intent(in) :: block, association
    integer(c_int32_t), intent(in), target :: ghosts(:)
    if (is_present()) call c_mesh_ghosts(int(block, c_int), int(association, c_int), &
                                         array_of(ghosts))
  end subroutine ghosts_1

  subroutine ghosts_2(block, association, ghosts)
    integer, intent(in) :: block, association
    integer(c_int32_t), intent(in), target :: ghosts(:, :)
    if (is_present()) call c_mesh_ghosts(int(block, c_int), int(association, c_int), &
                                         array_of(ghosts))
  end subroutine ghosts_2

  subroutine ghosts_3(block, association, ghosts)
    integer, intent(in) :: block, association
    integer(c_int32_t), intent(in), target :: ghosts(:, :, :)
    if (is_present()) call c_mesh_ghosts(int(block, c_int), int(association, c_int), &
                                         array_of(ghosts))
  end subroutine ghosts_3

  ! --- fields -------------------------------------------------------------------------------------
  subroutine add_field(block, name, association, values)
    integer, intent(in) :: block, association
    character(len=*), intent(in) :: name
    type(array), intent(in) :: values
    if (is_present()) call c_field(int(block, c_int), c_text(name), int(association, c_int), values)
  end subroutine add_field

  subroutine field_r4_1(block, name, association, values, components_along)
    integer, intent(in) :: block, association
    character(len=*), intent(in) :: name
    real(c_float), intent(in), target :: values(:)
    integer, intent(in), optional :: components_along
    call add_field(block, name, association, array_of(values, components_along))
  end subroutine field_r4_1

  subroutine field_r4_2(block, name, association, values, components_along)
    integer, intent(in) :: block, association
    character(len=*), intent(in) :: name
    real(c_float), intent(in), target :: values(:, :)
    integer, intent(in), optional :: components_along
    call add_field(block, name, association, array_of(values, components_along))
  end subroutine field_r4_2

  subroutine field_r4_3(block, name, association, values, components_along)
    integer, intent(in) :: block, association
    character(len=*), intent(in) :: name
    real(c_float), intent(in), target :: values(:, :, :)
    integer, intent(in), optional :: components_along
    call add_field(block, name, association, array_of(values, components_along))
  end subroutine field_r4_3

  subroutine field_r4_4(block, name, association, values, components_along)
    integer, intent(in) :: block, association
    character(len=*), intent(in) :: name
    real(c_float), intent(in), target :: values(:, :, :, :)
    integer, intent(in), optional :: components_along
    call add_field(block, name, association, array_of(values, components_along))
  end subroutine field_r4_4

  subroutine field_r8_1(block, name, association, values, components_along)
    integer, intent(in) :: block, association
    character(len=*), intent(in) :: name
    real(c_double), intent(in), target :: values(:)
    integer, intent(in), optional :: components_along
    call add_field(block, name, association, array_of(values, components_along))
  end subroutine field_r8_1

  subroutine field_r8_2(block, name, association, values, components_along)
    integer, intent(in) :: block, association
    character(len=*), intent(in) :: name
    real(c_double), intent(in), target :: values(:, :)
    integer, intent(in), optional :: components_along
    call add_field(block, name, association, array_of(values, components_along))
  end subroutine field_r8_2

  subroutine field_r8_3(block, name, association, values, components_along)
    integer, intent(in) :: block, association
    character(len=*), intent(in) :: name
    real(c_double), intent(in), target :: values(:, :, :)
    integer, intent(in), optional :: components_along
    call add_field(block, name, association, array_of(values, components_along))
  end subroutine field_r8_3

  subroutine field_r8_4(block, name, association, values, components_along)
    integer, intent(in) :: block, association
    character(len=*), intent(in) :: name
    real(c_double), intent(in), target :: values(:, :, :, :)
    integer, intent(in), optional :: components_along
    call add_field(block, name, association, array_of(values, components_along))
  end subroutine field_r8_4

  subroutine field_i4_1(block, name, association, values, components_along)
    integer, intent(in) :: block, association
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(in), target :: values(:)
    integer, intent(in), optional :: components_along
    call add_field(block, name, association, array_of(values, components_along))
  end subroutine field_i4_1

  subroutine field_i4_2(block, name, association, values, components_along)
    integer, intent(in) :: block, association
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(in), target :: values(:, :)
    integer, intent(in), optional :: components_along
    call add_field(block, name, association, array_of(values, components_along))
  end subroutine field_i4_2

  subroutine field_i4_3(block, name, association, values, components_along)
    integer, intent(in) :: block, association
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(in), target :: values(:, :, :)
    integer, intent(in), optional :: components_along
    call add_field(block, name, association, array_of(values, components_along))
  end subroutine field_i4_3

  subroutine field_i4_4(block, name, association, values, components_along)
    integer, intent(in) :: block, association
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(in), target :: values(:, :, :, :)
    integer, intent(in), optional :: components_along
    call add_field(block, name, association, array_of(values, components_along))
  end subroutine field_i4_4

  ! --- arrays -------------------------------------------------------------------------------------
  ! An array of this shape without an address yet; along: the dimension of the components.
  function shaped(type, shape, along) result(a)
    integer(c_int32_t), intent(in) :: type
    integer, intent(in) :: shape(:), along
    type(array) :: a
    integer :: d, direction
    a%type = type
    direction = 0
    do d = 1, size(shape)
      if (d == along) then
        a%components = int(shape(d), c_int32_t)
      else
        direction = direction + 1
        a%size(direction) = shape(d)
      end if
    end do
  end function shaped

  ! Gives it its addresses: of its first element, and of the next one along each dimension (of the
  ! first again if there is no next).
  subroutine place(a, along, bytes, addresses)
    type(array), intent(inout) :: a
    integer, intent(in) :: along, bytes
    type(c_ptr), intent(in) :: addresses(:)
    integer(c_int64_t) :: first, stride
    integer :: d, direction
    a%data = addresses(1)
    first = transfer(addresses(1), 0_c_intptr_t)
    direction = 0
    do d = 1, size(addresses) - 1
      stride = (transfer(addresses(d + 1), 0_c_intptr_t) - first) / bytes
      if (d == along) then
        a%component_stride = stride
      else
        direction = direction + 1
        a%stride(direction) = stride
      end if
    end do
  end subroutine place

  ! components_along if given, else 1 for rank 4 and 0 for other ranks.
  integer function direction_of(along, rank)
    integer, intent(in), optional :: along
    integer, intent(in) :: rank
    direction_of = merge(1, 0, rank == 4)
    if (present(along)) direction_of = along
    if (rank == 4 .and. direction_of /= 4) direction_of = 1
  end function direction_of

  function array_r4_1(v, along) result(a)
    real(c_float), intent(in), target :: v(:)
    integer, intent(in), optional :: along
    type(array) :: a
    integer :: n(1)
    n = min(2, shape(v))
    a = shaped(type_r4, shape(v), direction_of(along, 1))
    if (size(v) > 0) call place(a, direction_of(along, 1), 4, [c_loc(v(1)), c_loc(v(n(1)))])
  end function array_r4_1

  function array_r4_2(v, along) result(a)
    real(c_float), intent(in), target :: v(:, :)
    integer, intent(in), optional :: along
    type(array) :: a
    integer :: n(2)
    n = min(2, shape(v))
    a = shaped(type_r4, shape(v), direction_of(along, 2))
    if (size(v) > 0) call place(a, direction_of(along, 2), 4, [c_loc(v(1, 1)), &
                                  c_loc(v(n(1), 1)), c_loc(v(1, n(2)))])
  end function array_r4_2

  function array_r4_3(v, along) result(a)
    real(c_float), intent(in), target :: v(:, :, :)
    integer, intent(in), optional :: along
    type(array) :: a
    integer :: n(3)
    n = min(2, shape(v))
    a = shaped(type_r4, shape(v), direction_of(along, 3))
    if (size(v) > 0) call place(a, direction_of(along, 3), 4, [c_loc(v(1, 1, 1)), &
                                  c_loc(v(n(1), 1, 1)), c_loc(v(1, n(2), 1)), &
                                  c_loc(v(1, 1, n(3)))])
  end function array_r4_3

  function array_r4_4(v, along) result(a)
    real(c_float), intent(in), target :: v(:, :, :, :)
    integer, intent(in), optional :: along
    type(array) :: a
    integer :: n(4)
    n = min(2, shape(v))
    a = shaped(type_r4, shape(v), direction_of(along, 4))
    if (size(v) > 0) call place(a, direction_of(along, 4), 4, [c_loc(v(1, 1, 1, 1)), &
                                  c_loc(v(n(1), 1, 1, 1)), c_loc(v(1, n(2), 1, 1)), &
                                  c_loc(v(1, 1, n(3), 1)), c_loc(v(1, 1, 1, n(4)))])
  end function array_r4_4

  function array_r8_1(v, along) result(a)
    real(c_double), intent(in), target :: v(:)
    integer, intent(in), optional :: along
    type(array) :: a
    integer :: n(1)
    n = min(2, shape(v))
    a = shaped(type_r8, shape(v), direction_of(along, 1))
    if (size(v) > 0) call place(a, direction_of(along, 1), 8, [c_loc(v(1)), c_loc(v(n(1)))])
  end function array_r8_1

  function array_r8_2(v, along) result(a)
    real(c_double), intent(in), target :: v(:, :)
    integer, intent(in), optional :: along
    type(array) :: a
    integer :: n(2)
    n = min(2, shape(v))
    a = shaped(type_r8, shape(v), direction_of(along, 2))
    if (size(v) > 0) call place(a, direction_of(along, 2), 8, [c_loc(v(1, 1)), &
                                  c_loc(v(n(1), 1)), c_loc(v(1, n(2)))])
  end function array_r8_2

  function array_r8_3(v, along) result(a)
    real(c_double), intent(in), target :: v(:, :, :)
    integer, intent(in), optional :: along
    type(array) :: a
    integer :: n(3)
    n = min(2, shape(v))
    a = shaped(type_r8, shape(v), direction_of(along, 3))
    if (size(v) > 0) call place(a, direction_of(along, 3), 8, [c_loc(v(1, 1, 1)), &
                                  c_loc(v(n(1), 1, 1)), c_loc(v(1, n(2), 1)), &
                                  c_loc(v(1, 1, n(3)))])
  end function array_r8_3

  function array_r8_4(v, along) result(a)
    real(c_double), intent(in), target :: v(:, :, :, :)
    integer, intent(in), optional :: along
    type(array) :: a
    integer :: n(4)
    n = min(2, shape(v))
    a = shaped(type_r8, shape(v), direction_of(along, 4))
    if (size(v) > 0) call place(a, direction_of(along, 4), 8, [c_loc(v(1, 1, 1, 1)), &
                                  c_loc(v(n(1), 1, 1, 1)), c_loc(v(1, n(2), 1, 1)), &
                                  c_loc(v(1, 1, n(3), 1)), c_loc(v(1, 1, 1, n(4)))])
  end function array_r8_4

  function array_i4_1(v, along) result(a)
    integer(c_int32_t), intent(in), target :: v(:)
    integer, intent(in), optional :: along
    type(array) :: a
    integer :: n(1)
    n = min(2, shape(v))
    a = shaped(type_i4, shape(v), direction_of(along, 1))
    if (size(v) > 0) call place(a, direction_of(along, 1), 4, [c_loc(v(1)), c_loc(v(n(1)))])
  end function array_i4_1

  function array_i4_2(v, along) result(a)
    integer(c_int32_t), intent(in), target :: v(:, :)
    integer, intent(in), optional :: along
    type(array) :: a
    integer :: n(2)
    n = min(2, shape(v))
    a = shaped(type_i4, shape(v), direction_of(along, 2))
    if (size(v) > 0) call place(a, direction_of(along, 2), 4, [c_loc(v(1, 1)), &
                                  c_loc(v(n(1), 1)), c_loc(v(1, n(2)))])
  end function array_i4_2

  function array_i4_3(v, along) result(a)
    integer(c_int32_t), intent(in), target :: v(:, :, :)
    integer, intent(in), optional :: along
    type(array) :: a
    integer :: n(3)
    n = min(2, shape(v))
    a = shaped(type_i4, shape(v), direction_of(along, 3))
    if (size(v) > 0) call place(a, direction_of(along, 3), 4, [c_loc(v(1, 1, 1)), &
                                  c_loc(v(n(1), 1, 1)), c_loc(v(1, n(2), 1)), &
                                  c_loc(v(1, 1, n(3)))])
  end function array_i4_3

  function array_i4_4(v, along) result(a)
    integer(c_int32_t), intent(in), target :: v(:, :, :, :)
    integer, intent(in), optional :: along
    type(array) :: a
    integer :: n(4)
    n = min(2, shape(v))
    a = shaped(type_i4, shape(v), direction_of(along, 4))
    if (size(v) > 0) call place(a, direction_of(along, 4), 4, [c_loc(v(1, 1, 1, 1)), &
                                  c_loc(v(n(1), 1, 1, 1)), c_loc(v(1, n(2), 1, 1)), &
                                  c_loc(v(1, 1, n(3), 1)), c_loc(v(1, 1, 1, n(4)))])
  end function array_i4_4

  function array_i8_1(v, along) result(a)
    integer(c_int64_t), intent(in), target :: v(:)
    integer, intent(in), optional :: along
    type(array) :: a
    integer :: n(1)
    n = min(2, shape(v))
    a = shaped(type_i8, shape(v), direction_of(along, 1))
    if (size(v) > 0) call place(a, direction_of(along, 1), 8, [c_loc(v(1)), c_loc(v(n(1)))])
  end function array_i8_1
end module perfield
