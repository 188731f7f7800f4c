# SPDX-License-Identifier: BSD-3-Clause
"""A region's own work and its waiting as fields of frames, and for whom ranks wait."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import perfield
from twins import twin

MPI_IO, FILE = 3, 4
QUANTITIES = (
    *twin.QUANTITIES,
    ("mpi_io_time", "ns", "region", "longest"),
    ("file_time", "ns", "region", "longest"),
)
INSIDE = ("mpi", "mpi_p2p", "mpi_wait", "compute")


def named(stem: str) -> list[str]:
    return [f"{stem}_{name}_time_s" for name in INSIDE]


def test_a_regions_work_and_its_time_in_mpi_add_up_to_its_time(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=3, steps=2))
    for frame in run.frames():
        for field, ms in zip(named("exchange"), (0.09, 0.05, 0.04, 0.11)):
            np.testing.assert_allclose(frame.values[field], np.full(3, ms * 1e-3), rtol=1e-12, err_msg=field)
        np.testing.assert_array_equal(frame.values["solve_mpi_time_s"], np.zeros(3))
        np.testing.assert_array_equal(frame.values["solve_compute_time_s"], frame.values["solve_time_s"])


def test_classes_that_no_region_held_have_no_fields(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=1, steps=1))
    of_region = {name for name in run.frame(0).values if name.startswith("exchange_")}
    ordinary = {f"exchange_{name}" for name in ("time_s", "count", "time_per_call_s", "self_time_s")}
    assert of_region == ordinary | set(named("exchange"))


def test_a_run_without_calls_inside_regions_has_no_such_fields(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=1, steps=1, quantities=()))
    assert not set(named("exchange") + named("solve")) & set(run.frame(0).values)


def test_all_frames_and_ranks_carry_what_one_rank_did_in_one_step(tmp_path):
    def once(rank, step, values):
        values["quantities"] = []
        if (rank, step) == (1, 2):
            values["quantities"] = [
                {"region": 2, "quantity": MPI_IO, "value": 1000},
                {"region": 2, "quantity": FILE, "value": 500},
            ]

    path = twin.write_run(tmp_path / "run", ranks=2, steps=4, change_step=once, quantities=QUANTITIES)
    run = perfield.open(path)
    names = [name for name in run.frame(0).values if "mpi_io" in name or "file" in name]
    of_regions = [f"{stem}_{name}_time_s" for stem in ("exchange", "solve") for name in ("mpi_io", "file")]
    assert sorted(names) == sorted(["mpi_io_time_s", *of_regions])
    assert all(list(frame.values) == list(run.frame(0).values) for frame in run.frames())
    values = run.frame(2).values
    np.testing.assert_allclose(values["exchange_mpi_io_time_s"], [0, 1e-6])
    np.testing.assert_allclose(values["exchange_compute_time_s"], [200e-6, 198.5e-6])


def test_what_was_not_entered_or_not_watched_is_absent(tmp_path):
    def change(rank, step, values):
        if rank == 1:
            values["regions"] = values["regions"][:1]
            values["quantities"] = []
        if rank == 2:
            twin.without_calls(rank, step, values)

    def blind(rank, values):
        if rank == 2:
            twin.without_mpi(rank, values)

    path = twin.write_run(tmp_path / "run", ranks=3, steps=1, change_step=change, change_rank=blind)
    values = perfield.open(path).frame(0).values
    for field in named("exchange"):
        assert np.isfinite(values[field]).tolist() == [True, False, False], field
    for field in named("solve"):
        assert np.isfinite(values[field]).tolist() == [True, True, False], field


def test_work_is_never_less_than_nothing(tmp_path):
    def too_much(rank, step, values):
        values["quantities"] = [{"region": 2, "quantity": twin.WAIT, "value": 10**9}]

    run = perfield.open(twin.write_run(tmp_path / "run", ranks=1, steps=1, change_step=too_much))
    assert run.frame(0).values["exchange_compute_time_s"] == [0]


def test_blocks_of_a_region_have_their_own_share(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=0, ended=False)
    writer = twin.Writer(next((path / "stream").iterdir()), 0)
    writer.sequence = 4 + len(twin.QUANTITIES)
    for number, block in ((3, 0), (4, 1)):
        definition = {"id": number, "name": "flux", "block": block, "armed_at": 0}
        writer.add("region", twin.json_body(definition), index=number)
    rows = [twin.region_row(3, 8000), twin.region_row(4, 2000)]
    inside = [
        {"region": 3, "quantity": twin.WAIT, "value": 5000},
        {"region": 4, "quantity": twin.P2P, "value": 500},
    ]
    writer.add("step", twin.step_body(**twin.step_values(0, 1, 0) | {"regions": rows, "quantities": inside}))
    frame = perfield.open(path).frame(0)
    np.testing.assert_allclose(
        [frame.values[name][0] for name in named("flux")], [5.5e-6, 5e-7, 5e-6, 4.5e-6]
    )
    for name, shares in zip(named("flux"), [(5e-6, 5e-7), (0, 5e-7), (5e-6, 0), (3e-6, 1.5e-6)]):
        found = frame.block_values[name]
        assert [found[0, block] for block in range(2)] == pytest.approx(shares), name


def test_a_rank_has_the_time_that_all_others_waited_for_it(tmp_path):
    def for_zero(rank, step, values):
        values["waits"] = [
            {"peer": 0, "count": 2, "ns": 1000 * (rank + 1)},
            {"peer": -3, "count": 1, "ns": 7},
        ]

    run = perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=1, change_step=for_zero))
    waited_for = run.frame(0).values["waited_for_time_s"]
    np.testing.assert_allclose(waited_for, [(2 + 3 + 4) * 1e-6, 0, 0, 0])  # not what rank 0 waits for itself


def test_entries_of_another_version_are_passed_over_and_reported(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=2)
    stream = next((path / "stream").iterdir())
    writer = twin.Writer(stream, 0)
    writer.sequence = 7 + len(twin.QUANTITIES)
    body = twin.step_body(**twin.step_values(0, 1, 2))
    writer.add("step", body, index=2, version=2)
    run = perfield.open(path)
    assert len(run) == 2
    assert any("1 entries of another version of perfield" in sentence for sentence in run.damage)


@pytest.mark.parametrize("rows", [1, 2**32 - 1])
def test_more_rows_than_there_are_make_no_step(tmp_path, rows):
    body = twin.step_body(quantities=[{"region": 1, "quantity": 0, "value": 1}])
    at = twin.STEP.size + 4  # the number of rows in the table's header
    body = body[:at] + struct.pack("<I", rows + 1 if rows == 1 else rows) + body[at + 4 :]
    read = perfield._bridge.decode_steps([body])
    assert not read["whole"].any() and len(read["quantities"]) == 0
