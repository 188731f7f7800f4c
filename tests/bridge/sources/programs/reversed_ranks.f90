! What reversed_ranks.c does on its communicators, in Fortran.
! SPDX-License-Identifier: BSD-3-Clause
program reversed_ranks
  use mpi
  implicit none
  integer :: rank, size, backwards, error, reversed, requests(2), statuses(MPI_STATUS_SIZE, 2)
  real(8) :: out(100) = 0, in(100)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  call MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, reversed, error)
  call MPI_Irecv(in, 10, MPI_DOUBLE_PRECISION, modulo(rank - 1, size), 1, MPI_COMM_WORLD, requests(1), error)
  call MPI_Isend(out, 10, MPI_DOUBLE_PRECISION, modulo(rank + 1, size), 1, MPI_COMM_WORLD, requests(2), error)
  call MPI_Waitall(2, requests, statuses, error)
  call MPI_Comm_rank(reversed, backwards, error)
  if (backwards == 0) call MPI_Send(out, 100, MPI_DOUBLE_PRECISION, 1, 2, reversed, error)
  if (backwards == 1) call MPI_Recv(in, 100, MPI_DOUBLE_PRECISION, 0, 2, reversed, statuses(:, 1), error)
  call MPI_Comm_free(reversed, error)
  call MPI_Finalize(error)
end program reversed_ranks
