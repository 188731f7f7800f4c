# SPDX-License-Identifier: BSD-3-Clause
"""A program reads its own values: they equal the frame's, and reading changes none."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.fields import table as fields
from perfield.pictures.mesh_messages import focus_values

MS = 1e-3

# Writes what perfield says to a file of this rank, each number with all its digits.
NOTE = """
#include <inttypes.h>
static void note(const char* when, int rank) {
  perfield_value v[200];
  perfield_region_value r[50];
  perfield_message_value m[50];
  char path[32];
  sprintf(path, "noted-%d", rank);
  FILE* out = fopen(path, "a");
  int n = perfield_values(200, v);
  for (int i = 0; i < n; ++i) fprintf(out, "field %s %s %.17g\\n", when, v[i].name, v[i].value);
  n = perfield_region_values(50, r);
  for (int i = 0; i < n; ++i)
    fprintf(out, "region %s %s %" PRIu64 " %.17g\\n", when, r[i].name, r[i].count, r[i].time_s);
  n = perfield_message_values(50, m);
  for (int i = 0; i < n; ++i)
    fprintf(out, "message %s %d %s %" PRIu64 " %" PRIu64 "\\n", when, m[i].peer, m[i].call, m[i].count,
            m[i].bytes);
  fprintf(out, "size %s %d\\n", when, perfield_world_size());
  fclose(out);
}
"""


@pytest.fixture
def noted(tmp_path):
    """noted(kind, when, rank=0): the rows of one kind that a rank wrote, as words."""

    def rows(kind: str, when: str, rank: int = 0) -> list[list[str]]:
        words = [line.split(" ") for line in (tmp_path / f"noted-{rank}").read_text().splitlines()]
        return [row[2:] for row in words if row[:2] == [kind, when]]

    return rows


@pytest.fixture
def noted_fields(noted):
    """noted_fields(when, rank=0): field name -> value."""
    return lambda when, rank=0: {name: float(value) for name, value in noted("field", when, rank)}


def test_values_after_a_step_equal_its_frame(measured, noted, noted_fields):
    run, _ = measured(
        """
      MPI_Init(NULL, NULL);
      int rank, size, other; char buffer[4000] = {0};
      MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);
      other = (rank + 1) % size;
      perfield_region flux = REGION("2nd <flux>"), send = REGION("isend"), all = REGION("step");
      perfield_initialize();
      MPI_Win win; MPI_Win_create(buffer, 4000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
      for (int step = 0; step < 3; ++step) {
        char name[8]; sprintf(name, "%d", step);
        perfield_region_begin(all);
        perfield_region_begin_on(flux, 0); work(1 + rank); perfield_region_end(flux);
        perfield_region_begin_on(flux, 1); work(1); perfield_region_end(flux);
        if (rank == 1) { perfield_region_begin(send); work(0.3); perfield_region_end(send); }
        MPI_Request q[2]; char got[4000];
        MPI_Irecv(got, 4000, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &q[0]);
        MPI_Isend(buffer, 100 * (step + 1) + rank, MPI_CHAR, other, 0, MPI_COMM_WORLD, &q[1]);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        MPI_Win_fence(0, win);
        if (step > 0) MPI_Put(got, 7, MPI_CHAR, other, 0, 7, MPI_CHAR, win);
        MPI_Get(got, 9, MPI_CHAR, other, 0, 9, MPI_CHAR, win);
        MPI_Win_fence(0, win);
        perfield_region_end(all);
        perfield_step(step, step * 0.1);
        note(name, rank);
      }
      MPI_Win_free(&win);
      MPI_Finalize();
      note("after", rank);
    """,
        n=2,
        before=NOTE,
    )
    computed_later = {"node_id", "package_id", "core_id", "waited_for_time_s"}
    for step in range(3):
        frame = run.frame(step)
        for rank in range(2):
            values = noted_fields(str(step), rank)
            assert len(values) > 30
            for name, value in values.items():
                assert np.array_equal([frame.values[name][rank]], [value], equal_nan=True), name
            for name in set(frame.values) - set(values) - computed_later:  # what this rank never did
                assert np.isnan(frame.values[name][rank]) or frame.values[name][rank] == 0, name
            expected = []
            for m in frame.messages:
                own, peer = ("target", "source") if m["call"] == "get" else ("source", "target")
                if m[own] == rank:
                    expected.append([str(m[peer]), m["call"], str(m["count"]), str(m["bytes"])])
            assert sorted(noted("message", str(step), rank)) == sorted(expected)
            assert noted("size", str(step), rank) == [["2"]]
    assert noted_fields("1", 1)["region_isend_count"] == 1
    assert "_2nd__flux__time_s" in noted_fields("0", 0)
    assert noted_fields("0", 0)["region_step_mpi_onesided_time_s"] > 0
    assert noted("size", "after") == [["0"]]
    assert noted("field", "after") == []


def test_values_for_focus_ranks_equal_the_arrays_of_pictures(measured, noted_fields):
    """All that a rank counts itself; only what is fetched from it, it does not know."""
    run, _ = measured(
        """
      char sent[300] = {0}, got[300], name[8];
      int next = (rank + 1) % size;
      MPI_Win window;
      MPI_Win_create(sent, 300, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
      perfield_initialize();
      for (int step = 0; step < 2; ++step) {
        MPI_Request open;
        MPI_Irecv(got, 300, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &open);
        MPI_Send(sent, 10 * step + rank, MPI_CHAR, next, 1, MPI_COMM_WORLD);
        MPI_Wait(&open, MPI_STATUS_IGNORE);
        MPI_Win_fence(0, window);
        if (rank == 0) MPI_Put(got, 7, MPI_CHAR, 1, 0, 7, MPI_CHAR, window);
        if (rank == 2) MPI_Get(got, 9, MPI_CHAR, 1, 0, 9, MPI_CHAR, window);
        MPI_Win_fence(0, window);
        perfield_step(step, step);
        sprintf(name, "%d", step);
        note(name, rank);
      }
      MPI_Win_free(&window);
    """,
        n=3,
        mpi=True,
        before=NOTE,
        env={"PERFIELD_FOCUS_RANKS": "1"},
    )
    for step in range(2):
        pictures = focus_values(run.frame(step), [1], 3)
        for rank in range(3):
            values = noted_fields(str(step), rank)
            shown = {name: value for name, value in values.items() if name.endswith(("_to_1", "_from_1"))}
            fetched = {"get_count_from_1", "get_bytes_from_1"} if rank == 2 else set()
            calls = {0: {"send", "put"}, 1: {"send"}, 2: {"send"}}[rank]
            expected = {f"{call}_{what}_to_1" for call in {"sent", *calls} for what in ("count", "bytes")}
            assert set(shown) == {*expected, *fetched, "received_count_from_1", "received_bytes_from_1"}
            for name, value in shown.items():
                assert np.array_equal([pictures[name][rank]], [value], equal_nan=True), (rank, name)
    assert noted_fields("1", 0)["sent_bytes_to_1"] == 10 + 7
    assert noted_fields("1", 2)["received_bytes_from_1"] == 11


def test_values_inside_a_step_are_the_counts_so_far(measured, noted, noted_fields):
    run, _ = measured(
        """
      perfield_region outer = REGION("outer"), inner = REGION("inner");
      perfield_initialize();
      for (int step = 0; step < 2; ++step) {
        perfield_region_begin(outer); work(5);
        perfield_region_begin(inner); work(2);
        note("within", 0);
        work(1); perfield_region_end(inner);
        note("behind", 0);
        work(10); perfield_region_end(outer);
        perfield_step(step, step);
      }
    """,
        before=NOTE,
    )
    within = noted("region", "within")
    assert [[name, count] for name, count, _ in within] == [["outer", "1"], ["inner", "1"]] * 2
    assert [float(row[2]) for row in within] == pytest.approx([7 * MS, 2 * MS] * 2)
    behind = noted_fields("behind")
    assert behind["outer_self_time_s"] == pytest.approx(5 * MS)
    assert behind["inner_time_s"] == pytest.approx(3 * MS)
    for frame in run.frames():  # nobody sees that somebody looked
        assert frame.values["outer_time_s"][0] == pytest.approx(18 * MS)
        assert frame.values["outer_self_time_s"][0] == pytest.approx(15 * MS)
        assert frame.values["inner_time_s"][0] == pytest.approx(3 * MS)
        assert frame.values["step_time_s"][0] == pytest.approx(18 * MS)
        assert (frame.values["outer_count"][0], frame.values["inner_count"][0]) == (1, 1)


def test_reading_values_is_not_program_time(measured):
    run, _ = measured(
        """
      perfield_region solve = REGION("solve");
      perfield_initialize();
      perfield_region_begin(solve);
      work(5);
      for (int i = 0; i < 200; ++i) perfield_values(0, NULL);
      work(5);
      perfield_region_end(solve);
      perfield_step(0, 0.0);
    """,
        real_time=True,
    )
    values = run.frame(0).values
    assert values["perfield_time_s"][0] > 200e-6
    assert values["solve_time_s"][0] < values["step_time_s"][0] + 1e-6


@pytest.mark.parametrize("setting", ["PERFIELD_MEASURE_EVERY", "PERFIELD_SUM_EVERY"])
def test_values_of_summed_steps_are_the_newest_frame(measured, setting, noted_fields):
    run, _ = measured(
        """
      perfield_region solve = REGION("solve");
      perfield_initialize();
      for (int step = 0; step < 4; ++step) {
        char name[8]; sprintf(name, "%d", step);
        perfield_region_begin(solve); work(step + 1); perfield_region_end(solve);
        perfield_step(step, step);
        note(name, 0);
      }
    """,
        before=NOTE,
        env={setting: "2"},
    )
    times = [noted_fields(str(step))["solve_time_s"] for step in range(4)]
    expected = [1, 1, 3, 3] if setting == "PERFIELD_MEASURE_EVERY" else [1, 3, 3, 7]
    assert times == pytest.approx([ms * MS for ms in expected])
    assert times[-1] == run.frame(1).values["solve_time_s"][0]


def test_values_never_exceed_the_callers_buffer(measured):
    _, result = measured(
        """
      perfield_initialize();
      perfield_value v[3] = {{NULL, -1}, {NULL, -1}, {NULL, -1}};
      int n = perfield_values(2, v);
      printf("%d %s %s %g\\n", n > 10, v[0].name, v[1].name, v[2].value);
      printf("%d\\n", perfield_region_values(5, NULL));
    """
    )
    assert result.stdout.splitlines()[:2] == ["1 rank step_time_s -1", "0"]


def test_without_measuring_there_are_no_values(measured, build_c, execute, noted):
    program = build_c(measured.prologue + NOTE + 'int main(void) { note("now", 0); return 0; }\n', mpi=False)
    assert execute(program).returncode == 0
    assert (noted("size", "now"), noted("field", "now"), noted("region", "now")) == ([["0"]], [], [])


def test_clashing_region_names_equal_the_readers(measured, noted_fields):
    run, _ = measured(
        """
      perfield_initialize();
      const char* names[] = {"a b", "a-b", "a_b", "a_self", "a"};
      for (int i = 0; i < 5; ++i) { perfield_begin(names[i]); work(i + 1); perfield_end(names[i]); }
      perfield_step(0, 0.0);
      note("end", 0);
    """,
        before=NOTE,
    )
    values = noted_fields("end")
    stems = [region.field for region in run.known_regions]
    assert len(set(stems)) == 5
    for stem in stems:
        of_region = [name for name in fields.region_fields(stem) if name in run.frame(0).values]
        assert len(of_region) == 4
        for name in of_region:
            assert values[name] == run.frame(0).values[name][0], name
