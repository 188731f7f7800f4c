! SPDX-License-Identifier: BSD-3-Clause
!
! exchange.f90 - fills the halo of every rank with the outermost layers of its neighbours, with
! MPI_Put, MPI_Isend or MPI_Sendrecv. Each layer of the temperature is an MPI datatype, so no code
! packs it. At a wall the neighbour is MPI_PROC_NULL, and the same calls do nothing.
module heat_exchange
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use heat_equation, only: heat_type, temperature, variables
  use heat_grid, only: grid_type
  implicit none
  private
  public :: exchange_type, prepare, exchange, release

  ! The layers across one direction, lowest to highest: halo, own, own, halo.
  type layers_type
    type(MPI_Datatype) :: low_halo, low, high, high_halo
  end type layers_type

  type exchange_type
    character(len=20) :: kind = ''
    type(layers_type) :: layers(3)
    type(MPI_Win) :: window
  end type exchange_type

contains

  ! Collective. kind: 'put', 'isend' or 'sendrecv'.
  subroutine prepare(this, kind, grid, heat)
    type(exchange_type), intent(out) :: this
    character(len=*), intent(in) :: kind
    type(grid_type), intent(in) :: grid
    type(heat_type), intent(inout), target :: heat
    integer :: d, n_ranks, bytes
    this%kind = kind
    do d = 1, 3
      this%layers(d) = layers_type(layer(grid, d, 0), layer(grid, d, 1), layer(grid, d, grid%n(d)), &
                                   layer(grid, d, grid%n(d) + 1))
    end do
    if (kind /= 'put') return
    call MPI_Comm_size(grid%ranks, n_ranks)
    if (n_ranks == 1) then ! Open MPI 4 refuses a window over a single rank
      this%kind = 'sendrecv'
      return
    end if
    bytes = storage_size(heat%q) / 8
    call MPI_Win_create(heat%q, int(size(heat%q), MPI_ADDRESS_KIND) * bytes, bytes, MPI_INFO_NULL, &
                        grid%ranks, this%window)
  end subroutine prepare

  ! Layer `number` of the temperature across direction d.
  type(MPI_Datatype) function layer(grid, d, number) result(type)
    type(grid_type), intent(in) :: grid
    integer, intent(in) :: d, number
    integer :: sizes(4), part(4), start(4)
    sizes = [variables, grid%n + 2]
    part = [1, grid%n + 2]
    start = [temperature - 1, 0, 0, 0]
    part(d + 1) = 1
    start(d + 1) = number
    call MPI_Type_create_subarray(4, sizes, part, start, MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, type)
    call MPI_Type_commit(type)
  end function layer

  ! Collective. Exchanges along x, then y, then z, and includes the halo already filled: this fills
  ! the halo's edges and corners, too.
  subroutine exchange(this, grid, q)
    type(exchange_type), intent(in) :: this
    type(grid_type), intent(in) :: grid
    real(real64), intent(inout), asynchronous :: q(:, :, :, :)
    integer :: d
    if (this%kind == 'put') call MPI_Win_fence(0, this%window) ! all ranks are done with their halo
    do d = 1, 3
      associate (own => this%layers(d), below => grid%below(d), above => grid%above(d))
        select case (this%kind)
        case ('put') ! each rank writes its outermost layers directly into its neighbours' halo
          call MPI_Put(q, 1, own%low, below, 0_MPI_ADDRESS_KIND, 1, own%high_halo, this%window)
          call MPI_Put(q, 1, own%high, above, 0_MPI_ADDRESS_KIND, 1, own%low_halo, this%window)
          call MPI_Win_fence(0, this%window)
        case ('isend')
          call exchange_at_once(own, below, above, grid%ranks, q)
        case ('sendrecv') ! all ranks pass a layer upwards, then all pass one downwards
          call MPI_Sendrecv(q, 1, own%high, above, 0, q, 1, own%low_halo, below, 0, grid%ranks, &
                            MPI_STATUS_IGNORE)
          call MPI_Sendrecv(q, 1, own%low, below, 0, q, 1, own%high_halo, above, 0, grid%ranks, &
                            MPI_STATUS_IGNORE)
        end select
      end associate
    end do
  end subroutine exchange

  ! Posts all four messages, then waits for them in one call.
  subroutine exchange_at_once(own, below, above, ranks, q)
    type(layers_type), intent(in) :: own
    integer, intent(in) :: below, above
    type(MPI_Comm), intent(in) :: ranks
    real(real64), intent(inout), asynchronous :: q(:, :, :, :)
    type(MPI_Request) :: requests(4)
    call MPI_Irecv(q, 1, own%low_halo, below, 0, ranks, requests(1))
    call MPI_Irecv(q, 1, own%high_halo, above, 1, ranks, requests(2))
    call MPI_Isend(q, 1, own%low, below, 1, ranks, requests(3))
    call MPI_Isend(q, 1, own%high, above, 0, ranks, requests(4))
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
  end subroutine exchange_at_once

  ! Collective.
  subroutine release(this)
    type(exchange_type), intent(inout) :: this
    integer :: d
    if (this%kind == 'put') call MPI_Win_free(this%window)
    do d = 1, 3
      call MPI_Type_free(this%layers(d)%low_halo)
      call MPI_Type_free(this%layers(d)%low)
      call MPI_Type_free(this%layers(d)%high)
      call MPI_Type_free(this%layers(d)%high_halo)
    end do
  end subroutine release

end module heat_exchange
