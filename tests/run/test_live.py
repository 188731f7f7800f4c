# SPDX-License-Identifier: BSD-3-Clause
"""Runs that are being written, were killed, or are damaged."""

from __future__ import annotations

import subprocess
import time

import numpy as np
import pytest

import perfield
from twins import twin


def stream_of(path):
    return next((path / "stream").iterdir())


def without_last_entry_of(path, rank):
    """Removes the newest entry of a rank from a stream."""
    data = stream_of(path).read_bytes()
    entry = [e for e in twin.decode(data)[0] if e["rank"] == rank][-1]
    stream_of(path).write_bytes(data[: entry["offset"]] + data[entry["end"] :])


def test_run_of_a_living_process_is_running(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ended=False, change_rank=twin.live_rank))
    assert run.state == "running" and run.damage == []


def test_run_of_a_dead_process_was_killed(tmp_path):
    process = subprocess.Popen(["true"])
    process.wait()

    def dead(rank, values):
        twin.live_rank(rank, values)
        values["pid"] = process.pid

    assert perfield.open(twin.write_run(tmp_path / "run", ended=False, change_rank=dead)).state == "killed"


def test_reused_process_number_is_not_the_rank(tmp_path):
    def long_ago(rank, values):
        twin.live_rank(rank, values)
        values["realtime_ns"] = twin.START_NS

    run = perfield.open(twin.write_run(tmp_path / "run", ended=False, change_rank=long_ago))
    assert run.state == "killed"


@pytest.mark.parametrize(("age_s", "state"), [(5, "running"), (120, "killed")])
def test_rank_of_another_host_is_dead_after_a_silent_minute(tmp_path, age_s, state):
    def at(rank, step, values):
        values["realtime_ns"] = time.time_ns() - age_s * 10**9

    assert perfield.open(twin.write_run(tmp_path / "run", ended=False, change_step=at)).state == state


def test_run_without_steps_that_ends_has_a_frame_and_its_fields(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=0, ended=False, change_rank=twin.live_rank)
    run = perfield.open(path)
    assert len(run) == 0 and "step_time_s" in run.all_fields.names
    twin.Writer(stream_of(path), 0).add("end", twin.json_body({"reason": "finalize"}))
    run.refresh()
    assert len(run) == 1
    assert run.all_fields.per_step(["step_time_s"], [0])[0].shape == (1, 1)


def test_aborted_run_was_killed(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=1, ended=False)
    twin.Writer(stream_of(path), 0).add("end", twin.json_body({"reason": "abort"}))
    assert perfield.open(path).state == "killed"


def test_killed_run_keeps_all_its_frames(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", steps=6, ended=False))
    assert run.state == "killed" and len(run) == 6 and run.frame(5).present.all()


def test_frame_is_partial_until_the_last_rank_delivers(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=3, steps=4, ended=False, change_rank=twin.live_rank)
    whole = stream_of(path).read_bytes()
    without_last_entry_of(path, rank=2)
    run = perfield.open(path)
    frame = run.frame(3)
    assert frame.partial and frame.present.tolist() == [True, True, False]
    assert np.isnan(frame.values["step_time_s"][2]) and not run.frame(2).partial
    with stream_of(path).open("ab") as file:  # it was rank 2's turn: its entry is the last
        file.write(whole[len(stream_of(path).read_bytes()) :])
    run.refresh()
    assert not run.frame(3).partial and run.frame(3).present.all()


def test_frames_do_not_wait_for_a_slower_group(tmp_path):
    def coupled(rank, values):
        twin.live_rank(rank, values)
        values["group"] = "ocean" if rank < 2 else "ice"

    def slow_ice(rank, step, values):
        return rank < 2 or step < 2

    path = twin.write_run(tmp_path / "run", 4, 5, ended=False, change_rank=coupled, change_step=slow_ice)
    run = perfield.open(path)
    assert run.groups == {"ocean": [0, 1], "ice": [2, 3]}
    assert [frame.present.sum() for frame in run.frames()] == [4, 4, 2, 2, 2]
    assert not any(frame.partial for frame in run.frames())


def test_values_that_are_no_numbers_are_unknown(tmp_path):
    def odd(rank, values):
        values.update(size="many", pid=None, realtime_ns="now", sources=None, group=None)

    run = perfield.open(twin.write_run(tmp_path / "run", ranks=2, ended=False, change_rank=odd))
    assert run.n_ranks == 2 and run.state == "killed" and run.groups == {"heat": [0, 1]}


def test_refresh_without_news_changes_nothing(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ended=False, change_rank=twin.live_rank))
    run.refresh()
    assert len(run) == 5 and run.state == "running" and run.frame(4).present.all()


def test_lost_entry_leaves_a_reported_gap(tmp_path):
    def lost(rank, step, values):
        return not (rank == 1 and step == 2)

    path = twin.write_run(tmp_path / "run", ranks=2, steps=4, change_step=lost)
    frame = perfield.open(path).frame(2)
    assert not frame.partial and frame.present.tolist() == [True, False]

    twin.write_run(tmp_path / "other", ranks=2, steps=4)
    data = stream_of(tmp_path / "other").read_bytes()
    entry = next(
        e for e in twin.decode(data)[0] if e["rank"] == 1 and e["type"] == "step" and e["index"] == 2
    )
    stream_of(tmp_path / "other").write_bytes(data[: entry["offset"]] + data[entry["end"] :])
    damage = perfield.open(tmp_path / "other").damage
    assert len(damage) == 1 and "1 entry of rank 1 is lost before its entry at" in damage[0]
    assert f"(sequence {entry['sequence']} to {entry['sequence']})" in damage[0]


@pytest.mark.parametrize("live", [True, False])
def test_cut_tail_is_pending_then_damage(tmp_path, live):
    path = twin.write_run(
        tmp_path / "run", ranks=1, steps=3, ended=False, change_rank=twin.live_rank if live else None
    )
    data = stream_of(path).read_bytes()
    stream_of(path).write_bytes(data[:-10])
    run = perfield.open(path)
    assert len(run) == 2
    if live:
        assert run.damage == []
        stream_of(path).write_bytes(data)
        run.refresh()
        assert len(run) == 3
    else:
        assert (
            len(run.damage) == 1
            and "the step entry of rank 0, index 2 is not there to its end" in run.damage[0]
        )


def test_frames_appear_while_a_run_is_followed(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=2, ended=False, change_rank=twin.live_rank)
    run = perfield.open(path)
    names = list(run.frame(0).values)
    writer = twin.Writer(stream_of(path), 0)
    writer.sequence = 6
    writer.add("region", twin.json_body({"id": 3, "name": "a new one", "block": -1, "armed_at": 0}), index=3)
    body = twin.step_values(0, 1, 2) | {"regions": [twin.region_row(3, 1000)]}
    writer.add("step", twin.step_body(**body), index=2)
    assert len(run) == 2
    run.refresh()
    assert len(run) == 3 and run.frame(2).values["a_new_one_time_s"] == pytest.approx([1e-6])
    assert np.isnan(run.frame(0).values["a_new_one_time_s"]).all()
    assert set(run.frame(0).values) == set(names) | {
        *(f"a_new_one{s}" for s in ("_time_s", "_count", "_time_per_call_s", "_self_time_s")),
        *(f"a_new_one{s}_time_s" for s in ("_mpi", "_mpi_p2p", "_mpi_wait", "_compute")),
    }


def test_host_that_joins_late_appears(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=1, hosts=("a", "b"))
    late = sorted((path / "stream").iterdir())[1]
    data = late.read_bytes()
    late.unlink()
    run = perfield.open(path)
    assert run.rank_entries[1] is None
    late.write_bytes(data)
    run.refresh()
    assert run.rank_entries[1]["host"] == "b" and run.frame(0).present.all()


def test_flipped_byte_leaves_other_entries_readable(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=2, mesh=False, regions=("solve",))
    data = stream_of(path).read_bytes()
    entries = twin.decode(data)[0]
    for at in range(0, len(data), 29):  # the decoder's own test flips all
        stream_of(path).write_bytes(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :])
        run = perfield.open(path)
        hit = next(entry for entry in entries if at < entry["end"])
        present = np.array([frame.present for frame in run.frames()])
        lost = hit["type"] == "step" and hit["body"]["kind"] == 0
        assert present.sum() == 4 - lost, f"byte {at}"
        assert run.damage, f"byte {at}"
        assert run.setup.kind == "setup" and run.teardown.kind == "teardown" and "step" in run.steps.sizes


def test_lost_definition_gives_its_time_to_other_regions(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=1, mesh=False)
    data = bytearray(stream_of(path).read_bytes())
    entry = next(e for e in twin.decode(bytes(data))[0] if e["type"] == "region" and e["index"] == 1)
    data[entry["offset"] + 60] ^= 1
    stream_of(path).write_bytes(data)
    values = perfield.open(path).frame(0).values
    assert values["other_regions_time_s"][0] == pytest.approx(twin.solve_ns(0, 0) / 1e9)
    assert "solve_time_s" not in values and values["exchange_time_s"][0] == pytest.approx(0.2e-3)


def test_entries_of_another_run_are_ignored_and_named(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=2)
    twin.Writer(stream_of(path), 0, run_id=0xABC).add("step", twin.step_body(), index=7)
    run = perfield.open(path)
    assert len(run) == 2 and len(run.damage) == 1
    assert "1 entries of another run (0000000000000abc) were ignored" in run.damage[0]


def test_frame_of_a_large_run_reads_only_its_own_entries(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=3, steps=50))
    stream = next((tmp_path / "run" / "stream").iterdir())
    data = bytearray(stream.read_bytes())
    for entry in twin.decode(bytes(data))[0]:
        if (entry["type"], entry["index"]) != ("step", 25):
            data[entry["offset"] : entry["end"]] = bytes(entry["end"] - entry["offset"])
    stream.write_bytes(data)
    assert run.frame(25).present.all()
    assert not run.frame(24).present.any()


def test_process_in_another_container_is_evaluated_by_its_last_sign(tmp_path):
    def elsewhere(rank, values):
        twin.live_rank(rank, values)
        values |= {"pid": 2**22 + 1, "pid_namespace": "pid:[1]"}

    assert (
        perfield.open(twin.write_run(tmp_path / "run", ended=False, change_rank=elsewhere)).state == "running"
    )
