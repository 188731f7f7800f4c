# SPDX-License-Identifier: BSD-3-Clause
"""Frames of a run: values in closed form, absent ranks, and directories that are no runs."""

from __future__ import annotations

import numpy as np
import pytest
from compiled.call_numbers import CALL

import perfield
from perfield import _bridge
from perfield.run import Region, RunError
from twins import twin


@pytest.fixture
def run(tmp_path):
    """Four ranks on two hosts, five steps, finished."""
    return perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=5, hosts=("a", "b")))


def test_finished_run_has_its_ranks_regions_and_frames(run):
    assert (run.state, run.n_ranks, len(run), run.damage) == ("finished", 4, 5, [])
    assert [rank["host"] for rank in run.rank_entries] == ["a", "a", "b", "b"]
    assert set(run.known_regions) == {
        Region("solve", -1, "solve", "heat.cpp", 10),
        Region("exchange", -1, "exchange", "heat.cpp", 20),
    }
    assert run.info["command"] == ["./heat", "heat.input"]


def test_values_equal_the_measurements(run):
    for step, frame in enumerate(run.frames()):
        solve = np.array([twin.solve_ns(rank, step) for rank in range(4)]) / 1e9
        length = solve[-1] + 0.2e-3
        expected = {
            "solve_time_s": solve,
            "solve_self_time_s": solve,
            "solve_count": np.ones(4),
            "solve_time_per_call_s": solve,
            "exchange_time_s": np.full(4, 0.2e-3),
            "step_time_s": np.full(4, length),
            "mpi_p2p_time_s": np.full(4, 50e-6),
            "mpi_wait_time_s": length - solve - 150e-6,
            "mpi_collective_time_s": np.zeros(4),
            "mpi_time_s": length - solve - 100e-6,
            "mpi_call_count": np.full(4, 4),
            "compute_time_s": solve + 100e-6,
            "sent_count": np.full(4, 3),
            "sent_bytes": 2000 * np.arange(1, 5),
            "isend_bytes": 2000 * np.arange(1, 5),
            "received_bytes": np.array([8000, 2000, 4000, 6000]),
            "peer_count": np.full(4, 2),
            "resident_bytes": 50_000_000 + np.arange(4),
            "io_write_bytes": np.array([4096, 0, 0, 0]),
            "rank": np.arange(4),
            "pu_id": np.arange(4),
        }
        for name, column in expected.items():
            # times are sums of whole ns, so only the last digits may differ, by rounding
            np.testing.assert_allclose(frame.values[name], column, rtol=1e-12, err_msg=name)
        assert (frame.index, frame.label, frame.time) == (step, step + 1, 0.5 * (step + 1))
        assert frame.present.all() and not frame.partial and (frame.mesh_version == 1).all()
        assert {column.shape for column in frame.values.values()} == {(4,)}


def test_messages_are_seen_from_both_ends(run):
    frame = run.frame(1)
    assert frame.messages.tolist() == [
        (r, (r + 1) % 4, "isend", 3, 2000 * (r + 1), 1, 1000 * (r + 1)) for r in range(4)
    ]
    sent, received = frame.messages.copy(), frame.received.copy()
    sent["call"] = received["call"] = ""
    assert sorted(sent.tolist()) == sorted(received.tolist())
    assert frame.waits["peer"].tolist() == [3, 0, 1, 2] and (frame.waits["time_s"] == 60e-6).all()


def test_setup_and_teardown_are_separate(run):
    assert (run.setup.values["step_time_s"] == 10e-3).all()
    assert (run.teardown.values["step_time_s"] == 2e-3).all()
    assert run.setup.index == -1 and run.teardown.index == 5
    assert set(run.setup.values) == set(run.frame(0).values)


def test_negative_numbers_count_frames_from_the_end(run):
    assert run.frame(-1).index == 4
    with pytest.raises(IndexError, match=r"frame 5 was asked for, but .* has 5 frames"):
        run.frame(5)


def test_rank_that_did_not_enter_a_region_is_absent_not_zero(tmp_path):
    def only_rank_0(rank, step, values):
        if rank:
            values["regions"] = []

    frame = perfield.open(twin.write_run(tmp_path / "run", ranks=2, change_step=only_rank_0)).frame(0)
    assert np.isfinite(frame.values["solve_time_s"]).tolist() == [True, False]
    assert np.isfinite(frame.values["step_time_s"]).all()


def test_all_frames_carry_the_same_fields(tmp_path):
    def late(rank, step, values):
        if step < 2:
            values["regions"], values["messages"] = [], []

    run = perfield.open(twin.write_run(tmp_path / "run", change_step=late))
    names = [list(frame.values) for frame in run.frames()]
    assert all(found == names[0] for found in names) and "isend_count" in names[0]
    assert run.frame(0).values["isend_count"].tolist() == [0, 0, 0, 0]


def test_rank_without_mpi_source_has_no_mpi_values(tmp_path):
    path = twin.write_run(
        tmp_path / "run", ranks=1, change_rank=twin.without_mpi, change_step=twin.without_calls
    )
    values = perfield.open(path).frame(0).values
    assert np.isnan(values["mpi_time_s"]).all() and np.isnan(values["sent_count"]).all()
    assert values["compute_time_s"] == values["step_time_s"]


def test_compute_time_is_absent_without_mpi(tmp_path):
    def first_two(rank, values):
        if rank < 2:
            twin.without_mpi(rank, values)

    def silent(rank, step, values):
        if rank < 2:
            twin.without_calls(rank, step, values)

    path = twin.write_run(tmp_path / "run", ranks=3, change_rank=first_two, change_step=silent)
    values = perfield.open(path).frame(0).values
    assert np.isnan(values["compute_time_s"]).tolist() == [True, True, False]
    assert np.isfinite(values["step_time_s"]).all()


def test_get_messages_flow_from_target_to_rank(tmp_path):
    def fetch(rank, step, values):
        values["messages"] = (
            [{"peer": 1, "call": CALL["get"], "count": 2, "bytes": 10, "largest": 5}] if rank == 0 else []
        )

    frame = perfield.open(twin.write_run(tmp_path / "run", ranks=2, change_step=fetch)).frame(0)
    assert frame.messages.tolist() == [(1, 0, "get", 2, 10, 0, 5)]
    assert frame.values["get_bytes"].tolist() == [10, 0] and frame.values["sent_bytes"].tolist() == [10, 0]


def test_peers_without_a_rank_keep_their_numbers(tmp_path):
    def elsewhere(rank, step, values):
        values["messages"] = [
            {"peer": peer, "call": twin.ISEND, "count": 1, "bytes": 8} for peer in (-1, -2, -3)
        ]

    frame = perfield.open(twin.write_run(tmp_path / "run", ranks=2, change_step=elsewhere)).frame(0)
    assert frame.messages["target"].tolist() == [-1, -2, -3] * 2
    assert frame.values["sent_count"].tolist() == [3, 3] and frame.values["peer_count"].tolist() == [0, 0]


def test_all_to_all_keeps_all_peers(tmp_path):
    ranks = 20

    def everyone(rank, step, values):
        values["messages"] = [
            {"peer": peer, "call": twin.ISEND, "count": 1, "bytes": rank * ranks + peer}
            for peer in range(ranks)
        ]

    path = twin.write_run(tmp_path / "run", ranks=ranks, steps=1, change_step=everyone)
    messages = perfield.open(path).frame(0).messages
    assert (messages["bytes"] == messages["source"] * ranks + messages["target"]).all()
    assert len(messages) == ranks**2


def test_run_without_regions_and_messages_is_read(tmp_path):
    def bare(rank, step, values):
        values["regions"], values["messages"], values["waits"], values["calls"] = [], [], [], []

    run = perfield.open(twin.write_run(tmp_path / "run", ranks=1, regions=(), mesh=False, change_step=bare))
    assert run.known_regions == [] and len(run.frame(0).messages) == 0
    assert run.frame(0).values["step_time_s"][0] > 0
    assert run.mesh(0, 1) == [] and run.fields(0, 0) == {}


def test_ended_run_without_steps_is_one_frame(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=0, ended=False)
    for rank in range(2):
        writer = twin.Writer(next((path / "stream").iterdir()), rank)
        writer.sequence = 4
        message = {"peer": 1 - rank, "call": twin.ISEND, "count": 3, "bytes": 7}
        row = twin.region_row(1, 5_000_000)
        body = twin.step_body(
            kind=2, measured_ns=2_000_000, resident_bytes=9, messages=[message], regions=[row]
        )
        writer.add("step", body, index=0)
    run = perfield.open(path)
    (frame,) = run.frames()
    assert (len(run), frame.kind, frame.index, frame.partial) == (1, "whole", 0, False)
    assert frame.values["step_time_s"] == pytest.approx([0.012, 0.012])  # 10 ms before, 2 ms after
    assert frame.values["resident_bytes"].tolist() == [9, 9]
    assert frame.values["sent_bytes"].tolist() == [7, 7] and frame.messages["count"].tolist() == [3, 3]
    assert frame.values["solve_time_s"] == pytest.approx([0.005, 0.005])
    assert run.fields(0, frame.index) == {} and run.steps.sizes["step"] == 1
    assert (run.setup.kind, run.setup.index, run.teardown.kind, run.teardown.index) == (
        "setup",
        -1,
        "teardown",
        0,
    )


def test_live_run_without_steps_has_no_frame_yet(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", steps=0, ended=False, change_rank=twin.live_rank))
    assert run.state == "running" and len(run) == 0 and list(run.frames()) == []


def test_run_with_only_skipped_steps_has_no_frame(tmp_path):
    def left_out(rank, step, values):
        values["flags"] = 4

    run = perfield.open(twin.write_run(tmp_path / "run", steps=2, change_step=left_out))
    assert run.state == "finished" and len(run) == 0


def test_run_without_setup_has_no_frame(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=0, regions=(), mesh=False, ended=False)
    stream = next((path / "stream").iterdir())
    data = stream.read_bytes()
    stream.write_bytes(data[: next(e["offset"] for e in twin.decode(data)[0] if e["type"] == "step")])
    run = perfield.open(path)
    assert run.state == "killed" and len(run) == 0


def test_regions_join_by_name_across_ids(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=0, regions=(), ended=False)
    stream = next((path / "stream").iterdir())
    for rank, names in enumerate((["first", "second"], ["second", "first"])):
        writer = twin.Writer(stream, rank)
        writer.sequence = 2
        for number, name in enumerate(names, 1):
            writer.add(
                "region", twin.json_body({"id": number, "name": name, "block": -1, "armed_at": 0}), number
            )
        rows = [twin.region_row(number, 1000 * len(name)) for number, name in enumerate(names, 1)]
        writer.add("step", twin.step_body(regions=rows), index=0)
    values = perfield.open(path).frame(0).values
    assert values["first_time_s"].tolist() == [5e-6, 5e-6] and values["second_time_s"].tolist() == [
        6e-6,
        6e-6,
    ]


def test_region_of_several_blocks_is_kept_and_summed(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=0, regions=())
    writer = twin.Writer(next((path / "stream").iterdir()), 0)
    writer.sequence = 4
    for number, block in ((1, 0), (2, 1), (3, -1)):
        definition = {"id": number, "name": "flux", "block": block, "armed_at": 0}
        writer.add("region", twin.json_body(definition), index=number)
    rows = [twin.region_row(1, 1000), twin.region_row(2, 2000), twin.region_row(3, 4000)]
    writer.add("step", twin.step_body(regions=rows), index=0)
    run = perfield.open(path)
    frame = run.frame(0)
    assert {(region.block, region.field) for region in run.known_regions} == {
        (-1, "flux"),
        (0, "flux"),
        (1, "flux"),
    }
    assert frame.values["flux_time_s"] == pytest.approx([7e-6])
    assert frame.block_values["flux_time_s"] == pytest.approx({(0, 0): 1e-6, (0, 1): 2e-6})
    assert frame.block_values["flux_count"] == {(0, 0): 1, (0, 1): 1}


def test_one_name_armed_at_two_places_is_two_regions(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=0, regions=())
    writer = twin.Writer(next((path / "stream").iterdir()), 0)
    writer.sequence = 4
    for number, site in ((1, 4096), (2, 8192)):
        writer.add(
            "region", twin.json_body({"id": number, "name": "flux", "block": -1, "armed_at": site}), number
        )
    writer.add("step", twin.step_body(regions=[twin.region_row(1, 1000), twin.region_row(2, 2000)]))
    values = perfield.open(path).frame(0).values
    assert values["flux_time_s"] == pytest.approx([1e-6])
    assert values["flux_2_time_s"] == pytest.approx([2e-6])


def test_full_table_gives_time_to_other_regions(tmp_path):
    names = tuple(f"region {number}" for number in range(1, 4096))

    def overflowing(rank, step, values):
        values["regions"] = [twin.region_row(0, 700), twin.region_row(4095, 300)]

    path = twin.write_run(tmp_path / "run", ranks=1, steps=1, regions=names, change_step=overflowing)
    run = perfield.open(path)
    values = run.frame(0).values
    assert len(run.known_regions) == 4096 and len(values) > 3 * 4096
    assert values["other_regions_time_s"] == pytest.approx([700e-9])
    assert values["region_4095_time_s"] == pytest.approx([300e-9])


def test_frames_join_by_index_and_not_by_label(tmp_path):
    def restarted(rank, step, values):
        values["label"] = 7 if rank else step

    run = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=3, change_step=restarted))
    assert len(run) == 3 and all(frame.present.all() for frame in run.frames())
    assert [frame.label for frame in run.frames()] == [0, 1, 2]


def test_ranks_that_took_back_different_numbers_of_steps_join_the_same_steps(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=0, regions=(), mesh=False, ended=False)
    for rank, taken_back in enumerate((3, 4)):
        writer = twin.Writer(next((path / "stream").iterdir()), rank)
        writer.sequence = 10
        for index in range(taken_back):
            writer.add("step", twin.step_body(label=index), index=index)
        writer.add("step", twin.outside_body(1, 1000), index=taken_back)
        for step in range(5):
            writer.add("step", twin.step_body(label=10 + step), index=taken_back + step)
    run = perfield.open(path)
    assert run.step_indexes.tolist() == list(range(5)) and run.steps_closed.tolist() == [5, 5]
    assert [frame.label for frame in run.frames()] == list(range(10, 15))
    assert all(frame.present.all() for frame in run.frames())
    assert any(line.startswith("steps      5 on 2 ranks") for line in _bridge.summary_lines(str(path)))


def test_unmeasured_steps_count_as_closed_but_are_no_frames(tmp_path):
    def every_third(rank, step, values):
        if step % 3:
            values.update(flags=4, regions=[], messages=[], waits=[], calls=[])

    run = perfield.open(twin.write_run(tmp_path / "run", steps=8, change_step=every_third))
    assert [frame.index for frame in run.frames()] == [0, 3, 6]
    assert run.steps_closed.tolist() == [8, 8, 8, 8]


def test_rank_that_never_checked_in_is_none_and_absent(tmp_path):
    def larger_world(rank, values):
        values["size"] = 3

    run = perfield.open(twin.write_run(tmp_path / "run", ranks=2, change_rank=larger_world))
    assert run.n_ranks == 3 and run.rank_entries[2] is None
    assert run.frame(0).present.tolist() == [True, True, False]
    assert run.state == "finished" and not run.frame(0).partial


def test_moved_rank_is_shown_at_its_new_place(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=1)
    writer = twin.Writer(next((path / "stream").iterdir()), 0)
    writer.add("place", twin.json_body({"cpuset": "4-7"}))
    assert perfield.open(path).rank_entries[0]["cpuset"] == "4-7"


def test_run_can_be_moved(tmp_path):
    path = twin.write_run(tmp_path / "run").rename(tmp_path / "moved here")
    assert len(perfield.open(path)) == 5


def not_a_run(folder, kind):
    """A path of that kind, which is not a run."""
    path = folder / "run"
    if kind == "a file":
        path.write_text("")
    elif kind != "nothing":
        (path / "stream").mkdir(parents=True)
        texts = {"broken json": "{", "a list": "[]", "no run id": "{}"}
        if kind != "no run.json":
            (path / "run.json").write_text(texts.get(kind, '{"run_id": "00000000000000ff"}'))
        if kind == "empty stream":
            (path / "stream" / "a.pf").write_bytes(b"")
        if kind == "another version":
            twin.Writer(path / "stream" / "a.pf", 0, run_id=255).add("rank", b"", version=2)
        if kind == "other run":
            twin.Writer(path / "stream" / "a.pf", 0).add("rank", twin.json_body({}))
    return path


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("nothing", "does not exist; give the directory that perfield made"),
        ("a file", "is a file, not a run directory"),
        ("no run.json", r"is not a run directory: it has no run.json \(it holds stream\)"),
        ("broken json", "run.json cannot be read"),
        ("a list", "holds no JSON object"),
        ("no run id", r"names no run id \(found None, expected 16 hexadecimal digits\)"),
        ("no stream", "has a run.json but no stream: no rank has checked in"),
        ("empty stream", "holds no `rank` entry, so no rank is known. The streams are empty"),
        ("another version", "was written by perfield of another version; look at it with that version"),
        ("other run", "no rank is known. .* 1 entries of another run .123456789abcdef0. were ignored"),
    ],
)
def test_wrong_path_gives_a_sentence(tmp_path, kind, sentence):
    with pytest.raises(RunError, match=sentence):
        perfield.open(not_a_run(tmp_path, kind))
