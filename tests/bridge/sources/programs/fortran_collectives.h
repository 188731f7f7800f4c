! SPDX-License-Identifier: BSD-3-Clause
!
! fortran_collectives.h - every collective once, then once more in place. CALL and END are those of
! the blocking or of the other form: see fortran_collectives.f90.
    counts = [(r, r = 1, size)] ! rank r gives r + 1 integers
    places = [(r * (r - 1) / 2, r = 1, size)]
    equal = rank + 1
    CALL(bcast)(in, 3, MPI_INTEGER, root, comm END
    CALL(gather)(out, 4, MPI_INTEGER, in, 4, MPI_INTEGER, root, comm END
    CALL(gatherv)(out, rank + 1, MPI_INTEGER, in, counts, places, MPI_INTEGER, root, comm END
    CALL(scatter)(out, 5, MPI_INTEGER, in, 5, MPI_INTEGER, root, comm END
    CALL(scatterv)(out, counts, places, MPI_INTEGER, in, rank + 1, MPI_INTEGER, root, comm END
    CALL(allgather)(out, 6, MPI_INTEGER, in, 6, MPI_INTEGER, comm END
    CALL(allgatherv)(out, rank + 1, MPI_INTEGER, in, counts, places, MPI_INTEGER, comm END
    CALL(alltoall)(out, 7, MPI_INTEGER, in, 7, MPI_INTEGER, comm END
    places = [((r - 1) * size, r = 1, size)]
    byte_places = 4 * places
    CALL(alltoallv)(out, equal, places, MPI_INTEGER, in, counts, places, MPI_INTEGER, comm END
    CALL(alltoallw)(out, equal, byte_places, types, in, counts, byte_places, types, comm END
    CALL(reduce)(out, in, 8, MPI_INTEGER, MPI_SUM, root, comm END
    CALL(allreduce)(out, in, 9, MPI_INTEGER, MPI_SUM, comm END
    CALL(reduce_scatter)(out, in, counts, MPI_INTEGER, MPI_SUM, comm END
    CALL(reduce_scatter_block)(out, in, 10, MPI_INTEGER, MPI_SUM, comm END
    CALL(scan)(out, in, 11, MPI_INTEGER, MPI_SUM, comm END
    CALL(exscan)(out, in, 12, MPI_INTEGER, MPI_SUM, comm END

    ! In place. What is not significant then is given as numbers that nobody may use.
    places = [(r * (r - 1) / 2, r = 1, size)]
    if (rank == root) then
      CALL(gather)(MPI_IN_PLACE, 0, MPI_INTEGER, in, 4, MPI_INTEGER, root, comm END
      CALL(gatherv)(MPI_IN_PLACE, 0, MPI_INTEGER, in, counts, places, MPI_INTEGER, root, comm END
      CALL(scatter)(out, 5, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_INTEGER, root, comm END
      CALL(scatterv)(out, counts, places, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_INTEGER, root, comm END
      CALL(reduce)(MPI_IN_PLACE, in, 8, MPI_INTEGER, MPI_SUM, root, comm END
    else
      CALL(gather)(out, 4, MPI_INTEGER, in, 4, MPI_INTEGER, root, comm END
      CALL(gatherv)(out, rank + 1, MPI_INTEGER, in, counts, places, MPI_INTEGER, root, comm END
      CALL(scatter)(out, 5, MPI_INTEGER, in, 5, MPI_INTEGER, root, comm END
      CALL(scatterv)(out, counts, places, MPI_INTEGER, in, rank + 1, MPI_INTEGER, root, comm END
      CALL(reduce)(out, in, 8, MPI_INTEGER, MPI_SUM, root, comm END
    end if
    CALL(allgather)(MPI_IN_PLACE, 0, MPI_INTEGER, in, 6, MPI_INTEGER, comm END
    CALL(allgatherv)(MPI_IN_PLACE, 0, MPI_INTEGER, in, counts, places, MPI_INTEGER, comm END
    CALL(alltoall)(MPI_IN_PLACE, 0, MPI_INTEGER, in, 7, MPI_INTEGER, comm END
    counts = 2
    places = [((r - 1) * size, r = 1, size)]
    byte_places = 4 * places
    equal = -99
    CALL(alltoallv)(MPI_IN_PLACE, equal, places, MPI_INTEGER, in, counts, places, MPI_INTEGER, comm END
    CALL(alltoallw)(MPI_IN_PLACE, equal, byte_places, types, in, counts, byte_places, types, comm END
    counts = [(r, r = 1, size)]
    CALL(allreduce)(MPI_IN_PLACE, in, 9, MPI_INTEGER, MPI_SUM, comm END
    CALL(reduce_scatter)(MPI_IN_PLACE, in, counts, MPI_INTEGER, MPI_SUM, comm END
    CALL(reduce_scatter_block)(MPI_IN_PLACE, in, 10, MPI_INTEGER, MPI_SUM, comm END
    CALL(scan)(MPI_IN_PLACE, in, 11, MPI_INTEGER, MPI_SUM, comm END
    CALL(exscan)(MPI_IN_PLACE, in, 12, MPI_INTEGER, MPI_SUM, comm END
