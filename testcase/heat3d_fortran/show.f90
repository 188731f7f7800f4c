! SPDX-License-Identifier: BSD-3-Clause
!
! show.f90 - describes this rank's piece of the mesh to perfield, once: a rectilinear grid. A piece
! extends to the first point of the next one, and the outermost pieces to the walls, so the pieces
! fill the box without gap or overlap.
module heat_show
  use mpi_f08, only: MPI_PROC_NULL
  use perfield
  use heat_equation, only: heat_type, change, temperature
  use heat_grid, only: grid_type, position_of
  implicit none
  private
  public :: show_mesh

contains

  ! perfield reads heat%q when steps close, so it must stay in place.
  subroutine show_mesh(grid, heat)
    type(grid_type), intent(in) :: grid
    type(heat_type), intent(in), target :: heat
    integer :: low(3), high(3), p, extent(6) ! local numbers of the piece's first and last point
    low = merge(0, 1, grid%below == MPI_PROC_NULL)
    high = grid%n + 1
    extent(1:5:2) = grid%first + low
    extent(2:6:2) = grid%first + high
    call perfield_mesh_rectilinear(0, extent, &
                                   position_of(grid, 1, [(p, p=extent(1), extent(2))]), &
                                   position_of(grid, 2, [(p, p=extent(3), extent(4))]), &
                                   position_of(grid, 3, [(p, p=extent(5), extent(6))]))
    ! One variable of q, without the layers of neighbours; nothing is copied.
    associate (part => heat%q(:, low(1):high(1), low(2):high(2), low(3):high(3)))
      call perfield_field(0, 'temperature', perfield_points, part(temperature, :, :, :))
      call perfield_field(0, 'change', perfield_points, part(change, :, :, :))
    end associate
  end subroutine show_mesh

end module heat_show
