C     SPDX-License-Identifier: BSD-3-Clause
C
C     fortran_fixed.f - a program in the style before modules: fixed form, implicit types, statuses
C     as arrays, and a message to the sender of the last one. Prints the sum of what rank 0 got.
      PROGRAM FIXED
      INCLUDE 'mpif.h'
      INTEGER IERROR, MYRANK, NPROC, NEXT, LAST, ISTAT(MPI_STATUS_SIZE)
      DOUBLE PRECISION X(10), Y(10), TOTAL
      CALL MPI_INIT(IERROR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, MYRANK, IERROR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, NPROC, IERROR)
      NEXT = MOD(MYRANK + 1, NPROC)
      LAST = MOD(MYRANK + NPROC - 1, NPROC)
      DO 10 I = 1, 10
        X(I) = MYRANK + I
   10 CONTINUE
      CALL MPI_SENDRECV(X, 10, MPI_DOUBLE_PRECISION, NEXT, 1, Y, 10,
     &     MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
     &     ISTAT, IERROR)
      CALL MPI_SEND(Y, 3, MPI_DOUBLE_PRECISION, ISTAT(MPI_SOURCE), 2,
     &     MPI_COMM_WORLD, IERROR)
      CALL MPI_RECV(X, 10, MPI_DOUBLE_PRECISION, NEXT, 2,
     &     MPI_COMM_WORLD, ISTAT, IERROR)
      CALL MPI_REDUCE(Y(1), TOTAL, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0,
     &     MPI_COMM_WORLD, IERROR)
      IF (MYRANK .EQ. 0) WRITE (*, *) TOTAL
      CALL MPI_FINALIZE(IERROR)
      END
