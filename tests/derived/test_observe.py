# SPDX-License-Identifier: BSD-3-Clause
"""What findings ask of a run is read exactly, whatever became of the run."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from known_runs.uneven_runs import uneven_run

import perfield
from perfield.analysis.findings import answers, needs
from perfield.derived import observe as observing
from perfield.fields.columns import Columns
from twins import twin

NAMES = ("compute_time_s", "resident_bytes", "sent_count", "<region>_time_s", "no_such_field")


def observed(path, names=NAMES):
    return observing.observe(perfield.open(path), names)


def varied(rank, step, values):
    """Numbers that differ in each step."""
    values["resident_bytes"] = 1000 * step + rank
    values["messages"][0]["count"] = 3 + step


@pytest.fixture
def run(tmp_path):
    return twin.write_run(tmp_path / "run", ranks=4, steps=10, change_step=varied, mesh=False)


def test_tables_and_sums_are_those_of_the_frames(run):
    found = observed(run)
    frames = list(perfield.open(run).frames())
    assert found.index.tolist() == list(range(10))
    assert found.label.tolist() == [frame.label for frame in frames]
    assert found.ranks.tolist() == [0, 1, 2, 3]
    assert (found.n_program_steps, found.n_uneven, found.n_left_out) == (10, 0, 0)
    assert set(found.tables) == {"step_time_s", "solve_time_s", "exchange_time_s", *NAMES[:3]}
    for name, table in found.tables.items():
        expected = np.array([frame.values[name] for frame in frames])
        np.testing.assert_allclose(table, expected, rtol=1e-7)
        if name in found.totals:
            np.testing.assert_allclose(found.totals[name], expected.sum(axis=1), rtol=1e-12)
            np.testing.assert_allclose(found.largest[name], expected.max(axis=1), rtol=1e-12)
    sent = found.messages[(found.messages["source"] == 1) & (found.messages["target"] == 2)]
    assert sent["count"].tolist() == [sum(3 + step for step in range(10))]
    assert sent["empty"].tolist() == [10]
    assert sent["small"].tolist() == [10], "the empty ones; others have 2,000 B"
    assert found.waits["count"].tolist() == [10, 10, 10, 10]
    assert found.empty.tolist() == [4.0] * 10, "one of each rank"
    assert found.regions == {"solve": "solve", "exchange": "exchange"}
    assert found.placement.n_ranks == 4


def test_rows_of_a_large_run_hold_several_steps(run, monkeypatch):
    exact = observed(run)
    monkeypatch.setattr(observing, "MOST_NUMBERS", 4 * 10 * 6 // 3)
    monkeypatch.setattr(observing, "ENTRIES_PER_CHUNK", 16)
    found = observed(run)
    assert found.row.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]
    for name, joined in (("solve_time_s", np.sum), ("resident_bytes", lambda part, axis: part[-1])):
        parts = [joined(exact.of(name)[begin : begin + 3], axis=0) for begin in range(0, 10, 3)]
        np.testing.assert_allclose(found.of(name), parts, rtol=1e-6)
    assert (found.messages == exact.messages).all()
    for name, total in exact.totals.items():
        np.testing.assert_allclose(found.totals[name], total, err_msg="of each single step")


def test_begins_and_ends_are_those_of_the_frames(run, monkeypatch):
    frames = list(perfield.open(run).frames())
    begin, end = (np.array([getattr(frame, name) for frame in frames]) for name in ("begin_s", "end_s"))
    found = observed(run, ("begin_s", "end_s"))
    np.testing.assert_array_equal(found.begin_s, begin)
    np.testing.assert_array_equal(found.end_s, end)
    assert found.begin_s.dtype == np.float64, "float32 has hours only to 0.2 ms"
    assert found.has("begin_s") and not observed(run).has("begin_s")
    monkeypatch.setattr(observing, "MOST_NUMBERS", 70)  # of 40 times one field and two stamps
    joined = observed(run, ("begin_s", "end_s"))
    np.testing.assert_array_equal(joined.begin_s, begin[::3])
    np.testing.assert_array_equal(joined.end_s, end[[2, 5, 8, 9]])


def test_each_entry_is_read_once(run, monkeypatch):
    opened, read, reading = perfield.open(run), [], Columns.read_tables

    def counted(self, places, *more, **options):
        read.extend(zip(places.step.tolist(), places.rank.tolist(), places.offset.tolist()))
        return reading(self, places, *more, **options)

    monkeypatch.setattr(Columns, "read_tables", counted)
    monkeypatch.setattr(observing, "ENTRIES_PER_CHUNK", 16)
    observing.observe(opened, NAMES)
    assert len(read) == 4 * 10 == len({offset for _, _, offset in read})


def test_run_of_one_step_is_observed(tmp_path):
    found = observed(twin.write_run(tmp_path / "run", steps=1, mesh=False))
    assert (found.n_steps, found.of("solve_time_s").shape) == (1, (1, 4))


def test_run_without_steps_is_one_frame(tmp_path):
    found = observed(twin.write_run(tmp_path / "run", steps=0, mesh=False))
    assert (found.n_steps, found.elapsed_s > 0) == (1, True)


def test_run_that_has_just_begun_is_empty(tmp_path):
    path = twin.write_run(tmp_path / "run", steps=0, ended=False, change_rank=twin.live_rank, mesh=False)
    found = observed(path, needs())
    assert (found.n_steps, found.elapsed_s, found.of("compute_time_s").shape) == (0, 0.0, (0, 0))
    assert all(not answer.findings for answer in answers(found))


def test_step_that_some_ranks_have_not_closed_is_left_out(tmp_path):
    path = twin.write_run(
        tmp_path / "run",
        steps=3,
        ended=False,
        mesh=False,
        change_rank=twin.live_rank,
        change_step=lambda rank, step, values: not (rank == 3 and step == 2),
    )
    found = observed(path)
    assert (found.index.tolist(), found.n_left_out) == ([0, 1], 1)
    assert found.ranks.tolist() == [0, 1, 2, 3]


def test_field_that_appears_late_is_absent_before(tmp_path):
    def change(rank, step, values):
        if step < 3:
            values["regions"] = values["regions"][:1]

    found = observed(twin.write_run(tmp_path / "run", steps=5, change_step=change, mesh=False))
    assert np.isnan(found.of("exchange_time_s")[:3]).all()
    assert np.isfinite(found.of("exchange_time_s")[3:]).all()


def test_step_with_a_damaged_entry_is_left_out(run):
    stream = next((run / "stream").iterdir())
    intact = observed(run)
    data = bytearray(stream.read_bytes())
    entries, _ = twin.decode(bytes(data))
    offset = next(e["offset"] for e in entries[::-1] if (e["type"], e["rank"], e["index"]) == ("step", 2, 5))
    data[offset + twin.HEADER.size + 20] ^= 0xFF
    stream.write_bytes(bytes(data))
    found = observed(run)
    assert (found.index.tolist(), found.n_left_out) == ([0, 1, 2, 3, 4, 6, 7, 8, 9], 1)
    np.testing.assert_array_equal(found.of("solve_time_s")[5], intact.of("solve_time_s")[6])


def test_ranks_that_stop_early_do_not_hide_the_steps_of_a_larger_group(tmp_path):
    path = uneven_run(tmp_path / "run", [3, 3, 40, 40], groups=["a", "a", "b", "b"], mesh=False)
    found = observed(path)
    assert (found.ranks.tolist(), found.n_steps, found.n_left_out) == ([2, 3], 40, 0)


def test_rank_that_lacks_some_steps_is_kept_without_them(tmp_path):
    path = uneven_run(tmp_path / "run", [10, 10, 10, 6], groups=["a", "a", "a", "b"], mesh=False)
    found = observed(path)
    assert (found.ranks.tolist(), found.n_steps, found.n_left_out) == ([0, 1, 2, 3], 6, 4)


def test_steps_that_ranks_numbered_differently_are_left_out_and_counted(tmp_path):
    path = uneven_run(
        tmp_path / "run", [5, 5], label=lambda rank, step: step + rank * (step == 2), mesh=False
    )
    found = observed(path)
    assert (found.index.tolist(), found.n_uneven, found.n_left_out) == ([0, 1, 3, 4], 1, 0)


def test_workers_of_a_cluster_read_the_run(run, tmp_path):
    pytest.importorskip("distributed", reason="dask's distributed is not installed")
    program = tmp_path / "program.py"
    program.write_text(f"""
import distributed, perfield
from perfield.derived.observe import observe

if __name__ == "__main__":
    options = dict(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None)
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        found = observe(perfield.open({str(run)!r}), ["solve_time_s"])
        print(found.n_steps, sum(client.run(lambda: "perfield" in __import__("sys").modules).values()))
""")
    result = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["10", "1"]
