# SPDX-License-Identifier: BSD-3-Clause
"""Tests of record_limit: spans of entries that grow with the run, and shares that nothing exceeds."""

from __future__ import annotations

import pytest

from twins import twin

TEN_REGIONS = """
  perfield_region r[10];
  const char* names[10] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  for (int n = 0; n < 10; ++n) r[n] = perfield_region_define(names[n], "a.c", n);
  perfield_initialize();
  for (int s = 0; s < STEPS; ++s) {
    for (int n = 0; n < 10; ++n) { perfield_region_begin(r[n]); perfield_region_end(r[n]); }
    perfield_step(s, s);
  }
"""


def bytes_in(run_directory):
    """Of the streams and meshes."""
    return sum(
        path.stat().st_size for room in ("stream", "mesh") for path in run_directory.glob(f"{room}/*.pf")
    )


def step_entries(run_directory):
    """By rank: first step, last step and measured of its entries of steps."""
    found = {}
    for path in run_directory.glob("stream/*.pf"):
        for entry in twin.decode(path.read_bytes())[0]:
            if entry["type"] == "step" and entry["body"]["kind"] == 0:
                last, span = entry["index"], entry["body"]["span"]
                measured = not entry["body"]["flags"] & 4
                found.setdefault(entry["rank"], []).append((last - span + 1, last, measured))
    return found


def assert_aligned(entries, n_steps):
    """They hold each step once, and all but the last begin and end at multiples of their spans."""
    assert [first for first, _, _ in entries] == [0, *(last + 1 for _, last, _ in entries[:-1])]
    assert entries[-1][1] == n_steps - 1
    spans = [last - first + 1 for first, last, _ in entries[:-1]]
    assert all(span & (span - 1) == 0 and first % span == 0 for span, (first, _, _) in zip(spans, entries))
    assert spans == sorted(spans)


def test_a_long_run_keeps_many_frames_of_its_later_part(measured, tmp_path):
    run, result = measured(TEN_REGIONS, env={"PERFIELD_RECORD_LIMIT": "1000000"}, flags=["-DSTEPS=100000"])
    entries = step_entries(tmp_path / "perfield-run")[0]
    assert sum(last > 5120 for _, last, _ in entries) >= 200
    assert_aligned(entries, 100_000)
    assert bytes_in(tmp_path / "perfield-run") <= 1_000_000
    assert len(run) == len(entries)
    assert result.stderr.count("nears record_limit") == 1
    spans = [last - first + 1 for first, last, _ in entries]
    first = entries[spans.index(max(spans))][0]
    assert f"; from step {first:,} on {max(spans):,} steps share an entry" in result.stderr


@pytest.mark.parametrize("limit", [1, 3000, 20_000])
def test_a_limit_of_few_entries_loses_no_step(measured, tmp_path, limit):
    run, result = measured(TEN_REGIONS, env={"PERFIELD_RECORD_LIMIT": str(limit)}, flags=["-DSTEPS=3000"])
    assert sum(frame.values["j_count"][0] for frame in run.frames()) == 3000
    assert run.state == "finished" and not run.damage
    assert result.stderr.count("all steps share one entry, which is written when the program ends") == 1
    assert bytes_in(tmp_path / "perfield-run") < max(1.05 * limit, 8000)


UNLIKE_RANKS = """
  perfield_initialize();
  for (int s = 0; s < 3000; ++s) {
    for (int n = 0; rank == 0 && n < 10; ++n) {
      char name[] = {'a' + n, 0};
      perfield_begin(name);
      perfield_end(name);
    }
    perfield_step(s, s);
  }
"""


def test_ranks_of_different_sizes_choose_spans_of_their_own_that_nest(measured, tmp_path):
    measured(UNLIKE_RANKS, n=2, mpi=True, env={"PERFIELD_RECORD_LIMIT": "400000"})
    entries = step_entries(tmp_path / "perfield-run")
    assert_aligned(entries[0], 3000)
    assert_aligned(entries[1], 3000)
    assert len(entries[0]) < len(entries[1])  # by how much depends on how well times pack
    assert not (set((tmp_path / "perfield-run/stream").glob(".shared*")))


def test_a_rank_that_measures_more_rarely_measures_what_others_do(measured, tmp_path):
    _, result = measured(
        UNLIKE_RANKS,
        n=2,
        mpi=True,
        env={"PERFIELD_RECORD_LIMIT": "80000", "PERFIELD_MEASURE_EVERY": "3"},
    )
    entries = step_entries(tmp_path / "perfield-run")
    few, many = ({first for first, _, measured in entries[rank] if measured} for rank in (0, 1))
    assert len(few) < 0.9 * len(many)
    assert few < many <= set(range(0, 3000, 3))
    rarest = max(last - first + 1 for of_rank in entries.values() for first, last, _ in of_rank) + 1
    assert f"on one step in {rarest:,} is measured" in result.stderr


# --- meshes and fields ---------------------------------------------------------------------------

SLAB = """
  static double points[3 * 4000], t[4000];
  int64_t e[6] = {0, 3999, 0, 0, 0, 0};
  perfield_initialize();
  perfield_field(0, "t", PERFIELD_POINTS, perfield_array_of(t, PERFIELD_FLOAT64, 1, 4000));
"""


NODE_PER_RANK = """
__attribute__((constructor)) static void choose_node(void) {
  char name[16];
  snprintf(name, sizeof name, "n%s", getenv("OMPI_COMM_WORLD_RANK"));
  setenv("SLURMD_NODENAME", name, 1);
}
"""


def test_streams_meshes_and_fields_of_two_nodes_keep_to_the_limit(measured, tmp_path):
    limit = 2_000_000
    run, result = measured(
        SLAB
        + """
      for (int s = 0; s < 4000; ++s) {
        if (s % 100 == 0) {
          perfield_mesh_changed();
          perfield_mesh_structured(0, e, perfield_array_of(points, PERFIELD_FLOAT64, 3, 4000));
          perfield_field(0, "t", PERFIELD_POINTS, perfield_array_of(t, PERFIELD_FLOAT64, 1, 4000));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        perfield_step(s, s);
      }
    """,
        n=2,
        mpi=True,
        env={"PERFIELD_RECORD_LIMIT": str(limit), "PERFIELD_FIELDS_EVERY": "10"},
        before=NODE_PER_RANK,
    )
    assert len(list((tmp_path / "perfield-run/mesh").glob("*.pf"))) == 2
    assert 0.5 * limit < bytes_in(tmp_path / "perfield-run") < 1.05 * limit
    assert len(run) > 100
    assert "of the mesh of rank" in result.stderr and "the fields of a step of rank" in result.stderr


def test_a_mesh_that_is_over_its_share_is_reported_and_left_out(measured, tmp_path):
    run, result = measured(
        SLAB
        + """
      e[1] = rank == 1 ? 3999 : 39;
      perfield_mesh_structured(0, e, perfield_array_of(points, PERFIELD_FLOAT64, 3, rank == 1 ? 4000 : 40));
      for (int s = 0; s < 3; ++s) perfield_step(s, s);
    """,
        n=2,
        mpi=True,
        env={"PERFIELD_RECORD_LIMIT": "100000", "PERFIELD_FIELDS_EVERY": "0"},
    )
    assert [frame.mesh_version.tolist() for frame in run.frames()] == [[1, 0]] * 3
    sentence = "block 0 of the mesh of rank 1 would take 96"
    assert result.stderr.count(sentence) == 1
    assert (
        "the share of rank 1 in record_limit (50000 of 100000 bytes, for 2 ranks) has room for"
        in result.stderr
    )
    needed = int(result.stderr.partition("set record_limit to more than ")[2].split()[0])
    assert 200_000 < needed < 300_000
