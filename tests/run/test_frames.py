# SPDX-License-Identifier: BSD-3-Clause
"""Ranks whose entries add up different numbers of steps meet in frames of the coarsest."""

from __future__ import annotations

import json
import pickle

import dask
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_runs import mixed_spans

import perfield
from perfield import _bridge
from perfield.derived.observe import observe
from perfield.derived.scaling import measured
from perfield.derived.view import per_step
from perfield.output.description import step_title
from perfield.run import RunError
from perfield.run.reading import choose_span
from perfield.run.snapshot import Snapshot
from perfield.studies.regimes.of_run import timings_of_run
from twins import twin

MIXED = {0: [1] * 8, 1: [2] * 4, 2: [4, 4], 3: [1, 1, 2, 4]}
FINE = {rank: [1] * 8 for rank in range(4)}


def opened(path, spans=MIXED, **options):
    return perfield.open(mixed_spans.write(path, spans, **options))


def same_frames(some, others):
    assert some.step_indexes.tolist() == others.step_indexes.tolist()
    for one, other in zip(some.frames(), others.frames()):
        for name in ("index", "label", "time", "span", "partial", "uneven"):
            assert getattr(one, name) == getattr(other, name), name
        for name in ("present", "begin_s", "end_s", "mesh_version"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
        for name, column in one.values.items():
            # sums of whole numbers, but means of times are added up in another order
            np.testing.assert_allclose(column, other.values[name], rtol=1e-12, err_msg=name)
        for name in ("messages", "received", "waits"):
            rows, expected = (getattr(frame, name).tolist() for frame in (one, other))
            assert [row[:-1] for row in rows] == [row[:-1] for row in expected], name
            assert [row[-1] for row in rows] == pytest.approx([row[-1] for row in expected]), name


def test_ranks_of_different_spans_meet_at_the_coarsest(tmp_path):
    run = opened(tmp_path / "mixed")
    assert run.step_indexes.tolist() == [3, 7] and run.spans.tolist() == [4, 4]
    assert run.presence.all() and run.n_present.tolist() == [4, 4]
    assert not run.partial.any() and not run.frame(0).uneven
    all_alike = opened(tmp_path / "coarse", {rank: [4, 4] for rank in range(4)})
    same_frames(run, all_alike)
    assert run.steps["step_time_s"].equals(all_alike.steps["step_time_s"])
    calls, expected = run.calls([3, 7]), all_alike.calls([3, 7])
    assert calls.round(12).equals(expected.round(12)) and len(calls) == 16


def test_any_run_is_shown_at_a_longer_span(tmp_path):
    fine, mixed = opened(tmp_path / "fine", FINE), opened(tmp_path / "mixed")
    same_frames(fine.at_span(4), mixed)
    assert fine.at_span(3).step_indexes.tolist() == [2, 5, 7] and len(fine) == 8
    assert fine.at_span(3).at_span(1).step_indexes.tolist() == list(range(8))
    assert mixed.at_span(2).step_indexes.tolist() == [3, 7]  # no entry is divided
    late = opened(tmp_path / "late", {0: [1, 1, 1, 1, 4], 1: [1, 1, 2, 4]})
    assert late.step_indexes.tolist() == [0, 1, 3, 7] and late.spans.tolist() == [1, 1, 2, 4]
    assert late.at_span(None).spans.tolist() == [4, 4]
    with pytest.raises(RunError, match="frames of 0 steps were asked for"):
        fine.at_span(0)


def test_copies_share_what_was_computed_of_their_frames(tmp_path):
    run = opened(tmp_path / "run")
    copy = run.snapshot()
    assert run.spans is copy.spans and copy.frame_states is run.frame_states
    with pytest.raises(ValueError, match="read-only"):
        run.spans[0] = 1
    assert run.at_span(8).spans.tolist() == [8]


def test_lost_entry_makes_a_frame_uneven_or_its_rank_absent(tmp_path):
    run = opened(tmp_path / "lost", lost=[(0, 1), (2, 7)])
    assert [frame.uneven for frame in run.frames()] == [True, False]
    assert run.presence.tolist() == [[True] * 4, [True, True, False, True]]
    assert run.frame(0).values["solve_count"].tolist() == [3, 4, 4, 4]


def test_rank_that_ended_early_is_uneven_in_its_last_frame(tmp_path):
    spans = {0: [1] * 6, 1: [2, 2], 2: [4, 2]}
    steps = {rank: sum(of_rank) for rank, of_rank in spans.items()}
    run = opened(tmp_path / "run", spans, change_end=lambda rank, end: end.update(steps=steps[rank]))
    assert run.step_indexes.tolist() == [3, 5] and run.spans.tolist() == [4, 2]
    assert [frame.present.tolist() for frame in run.frames()] == [[True] * 3, [True, False, True]]
    cut = opened(tmp_path / "cut", {0: [2, 2], 1: [2, 1], 2: [4]})
    assert cut.step_indexes.tolist() == [3] and cut.frame(0).uneven


def test_partial_frame_grows_when_a_longer_entry_comes(tmp_path):
    path = mixed_spans.write(
        tmp_path / "run", {0: [1] * 6, 1: [4]}, ended=False, mesh=False, change_rank=twin.live_rank
    )
    data = (stream := next((path / "stream").iterdir())).read_bytes()
    entries, _ = twin.decode(data)
    late = next(e for e in entries if (e["type"], e["rank"], e["index"]) == ("step", 1, 3))
    stream.write_bytes(data[: late["offset"]])
    run = perfield.open(path)
    assert run.step_indexes.tolist() == [0, 1, 2, 3] and run.partial.all()
    before = run.frame_states
    stream.write_bytes(data)
    run.refresh()
    assert run.step_indexes.tolist() == [3, 4, 5] and run.partial.tolist() == [False, True, True]
    assert (run.frame_states >> 32).tolist() != (before >> 32)[:3].tolist()


def test_several_entries_keep_states_and_largest_values(tmp_path):
    quantities = [("a", "1", "rank", "sum", "max"), ("b", "1", "rank", "sum", "last")]

    def gauges(rank, step, values):
        values["resident_bytes"] = 100 - step
        values["quantities"] = [{"region": twin.OF_RANK, "quantity": n, "value": 10 - step} for n in (0, 1)]

    run = opened(tmp_path / "run", {0: [1, 1], 1: [2]}, quantities=quantities, change=gauges)
    values = run.frame(0).values
    assert values["resident_bytes"].tolist() == [99, 99]
    assert (values["a"][0], values["b"][0]) == (10, 9)


def test_whole_run_questions_agree_with_one_span(tmp_path):
    noisy = {rank: spans * 6 for rank, spans in MIXED.items()}
    alike = {rank: [4, 4] * 6 for rank in MIXED}
    mixed, coarse = opened(tmp_path / "mixed", noisy), opened(tmp_path / "coarse", alike)
    np.testing.assert_allclose(
        timings_of_run(mixed).to_array(), timings_of_run(coarse).to_array(), rtol=1e-12
    )
    np.testing.assert_allclose(measured(mixed).step_s, measured(coarse).step_s, rtol=1e-12)
    fields = ["compute_time_s", "<region>_time_s", "begin_s", "end_s"]
    some, others = observe(mixed, fields), observe(coarse, fields)
    assert some.tables.keys() == others.tables.keys() and some.span.tolist() == [4] * 12
    for name, table in some.tables.items():
        np.testing.assert_allclose(table, others.tables[name], rtol=1e-6, err_msg=name)  # float32
    np.testing.assert_array_equal(some.begin_s, others.begin_s)


def test_other_processes_read_frames_without_opening_the_run(tmp_path):
    run = opened(tmp_path / "run", hosts=("a", "b"))
    names, positions = run.columns.names, np.arange(2)
    expected = Snapshot(run).run.read(positions, names, with_tables=True)
    sent = pickle.dumps(Snapshot(run))
    (tmp_path / "run" / "run.json").unlink()  # so the run cannot be opened
    received = pickle.loads(sent)
    for name, values in received.run.read(positions, names, with_tables=True).items():
        np.testing.assert_array_equal(values, expected[name], err_msg=name)
    assert received.frame_headers(positions, "span").tolist() == [4, 4]
    assert (received.stamps(positions, "end_s") == Snapshot(run).stamps(positions, "end_s")).all()
    assert pickle.loads(sent) is received  # once for all variables


ENTRIES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=25)


@given(entries=ENTRIES, at_least=st.integers(1, 6), is_sorted=st.booleans())
def test_frames_are_the_unions_of_overlapping_entries(entries, at_least, is_sorted):
    entries = sorted(entries) if is_sorted else entries
    steps = [set(range(max(0, last - max(span, 1) + 1), last + 1)) for last, span in entries]
    frames = [({n}, own, {at // at_least for at in own}) for n, own in enumerate(steps)]
    joined = True
    while joined:
        joined = False
        for a in range(len(frames)):
            for b in range(a + 1, len(frames)):
                if frames[a][2] & frames[b][2]:
                    frames[a] = tuple(one | other for one, other in zip(frames[a], frames.pop(b)))
                    joined = True
                    break
            if joined:
                break
    frames.sort(key=lambda frame: max(frame[1]))
    of_entry, first, last = _bridge.join_entries([e[0] for e in entries], [e[1] for e in entries], at_least)
    assert first.tolist() == [min(frame[1]) for frame in frames]
    assert last.tolist() == [max(frame[1]) for frame in frames]
    assert all(of_entry[n] == number for number, frame in enumerate(frames) for n in frame[0])


def test_pictures_show_the_mean_of_a_step(tmp_path):
    run = opened(tmp_path / "run", {0: [1, 1, 2, 4], 1: [1, 1, 1, 1, 4]})
    shown = per_step(run)
    assert [frame.span for frame in shown.frames()] == [1, 1, 2, 4]
    solve = [
        np.mean([twin.solve_ns(1, step) for step in steps]) for steps in ([0], [1], [2, 3], [4, 5, 6, 7])
    ]
    assert [frame.values["solve_time_s"][1] * 1e9 for frame in shown.frames()] == pytest.approx(solve)
    last = shown.frame(3)
    assert last.messages["count"].tolist() == [3, 3] and last.values["resident_bytes"][0] == 50_000_000
    assert step_title(last, 8, None) == "step 8, mean of 4 steps"
    assert step_title(run.frame(3), 8, None) == "step 8, 4 steps added up"
    fine = perfield.open(twin.write_run(tmp_path / "fine", ranks=2))
    assert per_step(fine) is fine


def test_commands_take_longer_frames(tmp_path, perfield_cli):
    path = mixed_spans.write(tmp_path / "run", FINE)
    printed = perfield_cli("info", path, "--span", "4", "--steps", "--json")
    assert [row["frame"] for row in json.loads(printed.stdout)["steps"]] == [0, 1], printed.stderr
    wrong = perfield_cli("info", path, "--span", "none")
    assert wrong.returncode and "--span none: expected a number of steps from 1, or longest" in wrong.stderr


def test_datasets_of_different_spans_are_computed_together(tmp_path):
    fine = opened(tmp_path / "run", FINE)
    both = [run.steps["step_time_s"].data for run in (fine, fine.at_span(4))]
    found = dask.compute(*both, scheduler="sync")
    assert [each.shape for each in found] == [(8, 4), (2, 4)]


def test_damaged_spans_hold_no_more_steps_than_there_are(tmp_path):
    def damaged(rank, step, values):
        if step in (2, 3):
            values["span"] = 4_000_000_000 if step == 2 else 0

    run = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=6, change_step=damaged))
    assert run.step_indexes.tolist() == [2, 3, 4, 5] and run.spans.tolist() == [3, 1, 1, 1]
    assert [frame.span for frame in run.frames()] == [3, 1, 1, 1]


def test_the_last_of_longer_frames_is_partial_until_it_is_as_long(tmp_path):
    options = {"steps": 6, "ended": False, "change_rank": twin.live_rank}
    run = perfield.open(twin.write_run(tmp_path / "run", **options))
    assert not run.partial.any()
    assert run.at_span(4).partial.tolist() == [False, True] and not run.at_span(3).partial.any()


def test_times_that_are_no_numbers_count_as_not_reported(tmp_path):
    given = [np.nan, np.inf, -np.inf, 1.0, 1e308, -1e308]

    def change(rank, step, values):
        values["time"] = given[step] if rank else given[-step]  # ranks differ, too

    run = perfield.open(twin.write_run(tmp_path / "apart", ranks=2, steps=6, mesh=False, change_step=change))
    assert np.isfinite([frame.time for frame in run.frames()]).tolist() == [
        False,
        True,
        True,
        True,
        True,
        True,
    ]
    path = twin.write_run(
        tmp_path / "alike", ranks=2, steps=6, mesh=False,
        change_step=lambda rank, step, values: values.update(time=given[step]),
    )  # fmt: skip
    run = perfield.open(path)
    shown = [frame.time for frame in run.frames()]
    np.testing.assert_array_equal(shown, [np.nan, np.nan, np.nan, 1.0, 1e308, -1e308])
    assert not any(frame.uneven for frame in run.frames())


def test_a_chosen_span_holds_wherever_the_run_is_opened(tmp_path):
    run = opened(tmp_path / "fine", FINE)
    choose_span(run.path, 4)
    again = perfield.open(run.path)
    assert again.spans.tolist() == [4, 4] and len(again.at_span(1)) == 8
    same_frames(again, run.at_span(4))
    assert pickle.loads(pickle.dumps(again)).spans.tolist() == [4, 4]
    choose_span(run.path, 1)
    assert len(perfield.open(run.path)) == 8


@pytest.mark.parametrize("text", ["", "[4]", '{"span": 0}', '{"span": true}', '{"span": "4"}', "{"])
def test_a_damaged_choice_is_none(tmp_path, text):
    run = opened(tmp_path / "fine", FINE)
    choose_span(run.path, 4)
    (run.path / "analysis/frames.json").write_text(text)
    assert len(perfield.open(run.path)) == 8


def test_entries_that_closed_otherwise_lie_in_windows_of_the_clock():
    """Of 250 ms; from the 256th on two share an entry, from the 512th on four."""
    begin_end = [
        (0.0, 0.1, 0, 1),  # amid the first one
        (0.2, 0.3, 0, 1),  # across its end
        (0.3, 1.1, 3, 3),  # from the second one to the end of the fourth
        (0.74, 0.76, 2, 1),
        (-1.0, 0.1, 0, 1),  # the clock was set
        (64.1, 64.2, 257, 2),
        (63.9, 128.3, 511, 257),
        (128.1, 128.2, 515, 4),
    ]
    start_ns = 7_000_000_000
    begin, end, last, n = np.array(begin_end).T
    lengths = np.round((end - begin) * 1e9).astype(np.int64)
    found = _bridge.windows_of_entries(np.round(end * 1e9).astype(np.int64) + start_ns, lengths, start_ns)
    assert [of.tolist() for of in found] == [last.tolist(), n.tolist()]
    with pytest.raises(ValueError, match="differ in length"):
        _bridge.windows_of_entries([1, 2], [1], 0)
    extremes = _bridge.windows_of_entries([-(1 << 63), (1 << 63) - 1], [(1 << 64) - 1, 0], 1 << 62)
    assert (extremes[0] >= 0).all() and (extremes[1] >= 1).all()
