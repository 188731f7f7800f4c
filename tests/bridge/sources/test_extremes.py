# SPDX-License-Identifier: BSD-3-Clause
"""Very many peers, and none at all: from MPI calls to frames, closing lines and pictures."""

from __future__ import annotations

import pytest

import perfield

ALL_TO_ALL = """
#include <mpi.h>
#include "perfield.h"
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  perfield_initialize();
  for (int s = 0; s < 3; ++s) {
    static char in[64][64], out[64];
    MPI_Request requests[128];
    int n = 0;
    for (int peer = 0; peer < size; ++peer) {
      MPI_Irecv(in[peer], 64, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &requests[n++]);
      MPI_Isend(out, rank * size + peer, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &requests[n++]);
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    perfield_step(s, s);
  }
  MPI_Finalize();
  if (rank == 0) puts("the answer is 42");
  return 0;
}
"""
RANKS = 7


@pytest.mark.parametrize("room", [1, 3, 4096])
def test_all_to_all_sums_are_exact_beyond_the_table(build_c, mpirun, bin_dir, room):
    program = bin_dir / "perfield-exec", build_c(ALL_TO_ALL)
    result = mpirun(RANKS, *program, env={"PERFIELD_MAX_PEERS": str(room)})
    assert (result.returncode, result.stdout) == (0, "the answer is 42\n"), result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    assert len(run) == 3
    for frame in run.frames():
        sent, received = frame.messages, frame.received
        for rank in range(RANKS):
            mine = sent[sent["source"] == rank]
            size = sum(rank * RANKS + peer for peer in range(RANKS))
            assert (mine["count"].sum(), mine["bytes"].sum()) == (RANKS, size)
            arrived = received[received["target"] == rank]
            size = sum(peer * RANKS + rank for peer in range(RANKS))
            assert (arrived["count"].sum(), arrived["bytes"].sum()) == (RANKS, size)
            named = len(mine[mine["target"] >= 0]) + len(arrived[arrived["source"] >= 0])
            assert named <= 4 * room
            if room == 4096:
                assert named == 2 * RANKS
        assert sent["empty"].sum() == received["empty"].sum() == 1  # from rank 0 to itself
        assert (frame.values["isend_count"] == RANKS).all()
    printed = result.stderr.count("messages are counted as `other peers`; raise max_peers")
    assert printed == (0 if room == 4096 else 1)


@pytest.mark.parametrize("ranks", [1, 2])
def test_run_without_regions_messages_or_cells_is_readable(build_c, mpirun, bin_dir, perfield_cli, ranks):
    """The last rank's piece has no cells; with one rank the mesh is empty."""
    program = build_c("""
      #include <mpi.h>
      #include "perfield.h"
      #include <stdio.h>
      int main(int argc, char** argv) {
        MPI_Init(&argc, &argv);
        int rank, size;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        int64_t zero = 0, e[6] = {0, 2, 0, 2, 0, 2};
        double o[3] = {0}, d[3] = {1, 1, 1};
        perfield_array none = perfield_array_of(0, PERFIELD_FLOAT64, 3, 0);
        perfield_array no_numbers = perfield_array_of(0, PERFIELD_INT64, 1, 0);
        perfield_initialize();
        if (rank == size - 1)
          perfield_mesh_unstructured(0, none, no_numbers, perfield_array_of(&zero, PERFIELD_INT64, 1, 1),
                                     no_numbers, 0);
        else
          perfield_mesh_image(0, e, o, d);
        for (int s = 0; s < 2; ++s) perfield_step(s, s);
        MPI_Finalize();
        puts("the answer is 42");
        return 0;
      }
    """)
    result = mpirun(ranks, bin_dir / "perfield-exec", program)
    assert (result.returncode, result.stdout) == (0, "the answer is 42\n" * ranks), result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    assert (len(run), run.n_ranks, run.known_regions, run.state) == (2, ranks, [], "finished")
    for frame in run.frames():
        assert len(frame.messages) == len(frame.received) == 0
        assert (frame.values["sent_count"] == 0).all() and (frame.values["step_time_s"] > 0).all()
    assert "\nmessages " not in result.stderr
    info = perfield_cli("info", "perfield-run", "--regions", "--messages", "--ranks", cwd=result.cwd)
    assert info.returncode == 0, info.stderr
    shown = perfield_cli("render", "perfield-run", cwd=result.cwd, timeout=300)
    assert shown.returncode == 0, shown.stderr
    for name in ("geometry", "messages", "topology"):
        assert (result.cwd / f"perfield-run/pictures/{name}.pvd").is_file()


def test_null_datatype_without_neighbour_is_allowed(measured):
    """A side without neighbours may be given as MPI_DATATYPE_NULL."""
    run, result = measured(
        """
      MPI_Init(&argc, &argv);
      int rank, to = 1, from = 0, one = 1, none = 0, value = 7, got = 0;
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      MPI_Comm line;
      MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 1, &from, MPI_UNWEIGHTED, rank == 0, &to,
                                     MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &line);
      perfield_initialize();
      MPI_Neighbor_alltoallv(&value, &one, &none, rank == 0 ? MPI_INT : MPI_DATATYPE_NULL,
                             &got, &one, &none, rank == 1 ? MPI_INT : MPI_DATATYPE_NULL, line);
      perfield_step(0, 0.0);
      printf("%d", got);
      MPI_Finalize();
    """,
        n=2,
    )
    assert sorted(result.stdout) == ["0", "7"]
    (message,) = run.frame(0).messages
    assert (message["source"], message["target"], message["bytes"]) == (0, 1, 4)


def test_failed_receives_do_not_affect_later_ones(measured):
    """Under MPI_THREAD_MULTIPLE, which searches the handles of all threads."""
    run, _ = measured(
        """
      int level, rank, out[4] = {0}, in[100];
      MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
      perfield_initialize();
      if (rank > 0) {
        for (int i = 0; i < (rank == 1 ? 1 : 100); ++i)
          MPI_Send(out, 4, MPI_INT, 0, rank, MPI_COMM_WORLD);
      } else {
        MPI_Request request;
        int index;
        MPI_Irecv(in, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request); /* too short for what is sent */
        MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
        for (int i = 0; i < 100; ++i) {
          MPI_Irecv(in, 4, MPI_INT, 2, 2, MPI_COMM_WORLD, &request);
          MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
        }
      }
      MPI_Barrier(MPI_COMM_WORLD);
      perfield_step(0, 0.0);
      MPI_Finalize();
    """,
        n=3,
    )
    (row,) = run.frame(0).received
    assert (row["source"], row["target"], row["count"]) == (2, 0, 100)
