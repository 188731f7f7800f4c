# SPDX-License-Identifier: BSD-3-Clause
"""Every field of a run, whoever computes it, can be shown by each output that takes names of fields."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from known_runs.simulated_waits import compute, irecv, isend, simulate, step, wait
from known_runs.waiting_runs import MONOTONIC_NS, write_waiting_run

import perfield
from perfield import commands
from perfield.derived.comparing import mean_by_rank
from perfield.derived.providers import provider_classes
from perfield.follow.frames import NewFrames
from perfield.serve.about import about
from perfield.serve.followed import Followed
from perfield.serve.packed import unpacked
from perfield.serve.values import heat, values
from twins import twin
from twins.samples_twin import module, pack_samples

MS, RANKS, STEPS = 1_000_000, 4, 132
NAMES = [
    *("step_time_s", "solve_compute_time_s", "relative_compute_time"),
    *("wait_late_sender_time_s", "wait_late_receiver_time_s", "wait_collective_time_s"),
    *("wait_one_sided_time_s", "caused_wait_time_s", "solve_caused_wait_time_s", "transfer_time_s"),
    *("slow_transfer_time_s", "critical_path_time_s", "sampled_relax_time_s"),
    *("regime_shade", "slow_share", "regime", "regime_probability"),
    *("phase_steps", "phase_gradient_steps", "order_parameter"),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A ring whose rank 2 is slow in half of the steps, sampled in each of them."""
    programs = [[] for _ in range(RANKS)]
    for number in range(STEPS):
        for rank, program in enumerate(programs):
            is_slow = rank == 2 and number // 33 % 2
            program += [compute((30 if is_slow else 3) * MS + 10_000 * ((7 * number + rank) % 13), "solve")]
            program += [
                isend((rank + 1) % RANKS, "s"),
                irecv((rank - 1) % RANKS, "r"),
                wait("s", "r"),
                step(),
            ]
    path = write_waiting_run(tmp_path_factory.mktemp("outputs") / "run", simulate(programs))
    begin_ns = (perfield.open(path).steps["begin_s"].values * 1e9).astype(int) + MONOTONIC_NS
    for rank in range(RANKS):
        writer = twin.Writer(next((path / "stream").glob("*.pf")), rank)
        writer.sequence = 100_000
        writer.add("modules", twin.json_body(module("/bin/solver", 0x1000)))
        samples = [(at + MS, 0, [0x1010]) for at in begin_ns[:, rank].tolist()]
        writer.add("samples", pack_samples(samples))
    return path


@pytest.fixture(autouse=True)
def functions_have_names(monkeypatch):
    def named(path, build_id, addresses):
        return [["relax"] for _ in addresses]

    monkeypatch.setattr("perfield.derived.samples.functions_at", named)
    monkeypatch.setattr("perfield.derived.samples.is_changed", lambda *_: False)


@pytest.fixture
def run(path):
    return perfield.open(path)


@pytest.fixture
def expected(run):
    """By name, (n_frames, n_ranks)."""
    return dict(zip(NAMES, run.values(NAMES).swapaxes(0, 1)))


def test_all_fields_of_all_providers_are_tried(run):
    assert set(NAMES) <= set(run.all_fields.all_names)
    tried = {type(run.all_fields.provider_of(name)) for name in NAMES}
    assert tried == {kind for kind in provider_classes() if kind.__module__.startswith("perfield.")}
    own = {name for name in run.all_fields.all_names if name not in run.columns and "other" not in name}
    assert own == {name for name in NAMES if name not in run.columns}


def test_fields_have_values(expected):
    for name, found in expected.items():
        assert np.isfinite(found).any(), name
    assert expected["regime"].max() >= 1 and expected["sampled_relax_time_s"].max() > 0


def test_frames_and_the_dataset_hold_each(run, expected):
    view = run.with_fields(NAMES)
    frame, steps = view.frame(40), view.steps
    for name in NAMES:
        np.testing.assert_array_equal(frame.values[name], expected[name][40])
        stem = run.all_fields.region_of.get(name)
        held = steps[name] if stem is None else steps[name.replace("solve", "region")].sel(region=stem)
        np.testing.assert_array_equal(held[40], expected[name][40], err_msg=name)


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")
def test_export_writes_each(run, tmp_path, expected):
    import pandas as pd

    words = ["export", str(run.path), "--to", "parquet", "-o", str(tmp_path / "run.pq")]
    assert commands.main([*words, "--fields", ",".join(NAMES)]) == 0
    fields, regions = (pd.read_parquet(tmp_path / f"run.pq/{name}.parquet") for name in ("fields", "regions"))
    for name in NAMES:
        table, column = (regions, name.replace("solve", "region")) if "solve" in name else (fields, name)
        np.testing.assert_array_equal(table[column], expected[name].ravel(), err_msg=name)


def test_render_draws_each(run, tmp_path):
    words = ["render", str(run.path), "-o", str(tmp_path), "--topology", "--steps", "41"]
    assert commands.main([*words, "--fields", ",".join(NAMES)]) == 0
    layer = json.loads((tmp_path / "pictures.json").read_text())["layers"]["topology/measurements"]
    assert set(NAMES) <= set(layer["arrays"])


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed")
@pytest.mark.parametrize("name", NAMES)
def test_plots_draw_each(run, name, expected):
    from matplotlib.figure import Figure

    from perfield.plots.rank_by_step import heat_map

    axes = heat_map(run, name, axes=Figure().subplots())
    np.testing.assert_array_equal(axes.images[0].get_array().filled(np.nan).shape, expected[name].T.shape)


def test_page_lists_and_gets_each(path, expected):
    view = Followed(path).view()
    listed = {row["name"]: row for row in about(view)["fields"]}
    for name in NAMES:
        found = np.frombuffer(values(view, name, 0, STEPS), "<f4").reshape(STEPS, RANKS)
        np.testing.assert_array_equal(found, expected[name].astype(np.float32), err_msg=name)
        row, answer = listed[name], unpacked(heat(view, name))[1]
        assert answer["complete"] and answer["range"][1] == pytest.approx(np.nanmax(expected[name]))
        assert row["computed"] == (row["range"] is None) and answer["unit"] == row["unit"]


def test_comparisons_take_each(run, expected):
    for name in NAMES:
        mean = mean_by_rank(run, name, np.arange(STEPS))
        np.testing.assert_allclose(mean, np.nanmean(expected[name], axis=0), rtol=1e-12, err_msg=name)


def test_followed_frames_have_those_that_need_no_later_step(run, expected):
    of_frames = [name for name in NAMES if name in run.all_fields.names]
    frame = NewFrames(run, fields=NAMES).take()
    for name in NAMES:
        assert (name in frame.values) == (name in of_frames), name
    np.testing.assert_array_equal(frame.values["caused_wait_time_s"], expected["caused_wait_time_s"][0])


@pytest.mark.skipif(find_spec("perfetto") is None, reason="perfetto is not installed")
def test_timeline_has_a_counter_for_each(run, tmp_path):
    words = ["export", str(run.path), "--to", "perfetto", "-o", str(tmp_path / "t"), "--steps", "41"]
    assert commands.main([*words, "--fields", ",".join(NAMES)]) == 0
    trace = (tmp_path / "t").read_bytes()
    assert all(name.encode() in trace for name in NAMES)


@pytest.mark.skipif(find_spec("vtkmodules") is None, reason="VTK is not installed")
def test_reader_of_paraview_has_each(run):
    from perfield.paraview.reader import MACHINE, make
    from perfield.paraview.runs import blocks_of

    made = make(str(Path(run.path) / "run.json"), 40.0, picture=MACHINE, fields=",".join(NAMES))
    data = blocks_of(made)["measurements"].GetCellData()
    assert set(NAMES) <= {data.GetArrayName(number) for number in range(data.GetNumberOfArrays())}
