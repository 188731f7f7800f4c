# SPDX-License-Identifier: BSD-3-Clause
"""The plots of whole runs: what their lines, cells and bars say of runs whose values are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_runs import mixed_spans

import perfield
from perfield.topology import placement_of
from twins import twin

figures = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")
from perfield import plots  # noqa: E402
from perfield.plots import rank_by_step  # noqa: E402
from perfield.plots.figures import heat_map_figure  # noqa: E402
from perfield.plots.style import PlotError  # noqa: E402


@pytest.fixture
def axes():
    """Axes without a window."""
    return figures.Figure(figsize=(8, 5)).subplots()


@pytest.fixture
def run(tmp_path):
    """Four ranks, 5 steps; see twin.write_run."""
    return perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=5))


def words(axes) -> str:
    """The title and the line below it."""
    return " | ".join([*(text.get_text() for text in axes.texts), axes.get_title(loc="left")])


def computing(ranks: int = 4, steps: int = 5) -> np.ndarray:
    """(rank, step) compute seconds of write_run: all but 50 us of isend and the waitall."""
    return np.array([[twin.solve_ns(r, s) + 100_000 for s in range(steps)] for r in range(ranks)]) / 1e9


def test_imbalance_is_largest_over_mean_of_each_step(run, axes):
    plots.imbalance(run, axes=axes)
    times = computing()
    assert axes.lines[0].get_ydata() == pytest.approx(times.max(0) / times.mean(0))
    assert axes.lines[0].get_xdata().tolist() == [1, 2, 3, 4, 5]  # the program's own numbers
    assert axes.get_xlabel() == "step"
    saved = (times.max(0) - times.mean(0)).sum()
    assert f"balancing would save at most {saved * 1e3:.3g} ms" in words(axes)


def test_imbalance_shows_only_the_chosen_steps(run, axes):
    plots.imbalance(run, steps=slice(1, 2), axes=axes)
    assert axes.lines[0].get_xdata().tolist() == [2, 3]
    assert "heat: 4 ranks, 2 of 5 steps" in words(axes)


def test_long_run_keeps_the_largest_imbalance_of_joined_steps(tmp_path, axes, monkeypatch):
    monkeypatch.setattr("perfield.plots.over_steps.MOST_POINTS", 3)

    def one_bad_step(rank, step, values):
        if step == 3 and rank == 0:
            values["calls"] = [{**call, "ns": 0} for call in values["calls"]]

    run = perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=6, change_step=one_bad_step))
    whole = plots.imbalance(run, axes=figures.Figure().subplots()).lines[0].get_ydata()
    assert len(whole) == 3
    monkeypatch.undo()
    plots.imbalance(run, axes=axes)
    every = axes.lines[0].get_ydata()
    assert whole == pytest.approx([max(every[n : n + 2]) for n in (0, 2, 4)])


def test_heat_map_has_a_row_for_each_rank_and_a_column_for_each_step(run, axes):
    plots.heat_map(run, "solve_time_s", axes=axes)
    (image,) = axes.images
    expected = np.array([[twin.solve_ns(r, s) / 1e6 for s in range(5)] for r in range(4)])  # in ms
    assert image.get_array().data == pytest.approx(expected)
    assert image.get_clim() == pytest.approx((0, 5))  # from zero to a round number
    assert axes.get_ylim() == (3.5, -0.5)  # rank 0 at the top
    assert axes.get_xlim() == (0.5, 5.5)
    assert "Solve time of each rank and step" in words(axes)


def test_given_ends_of_the_colours_leave_larger_values_orange(run, axes):
    plots.heat_map(run, "solve_time_s", axes=axes, limits=(0.0, 2e-3))
    assert axes.images[0].get_clim() == pytest.approx((0, 2))
    largest = max(twin.solve_ns(r, s) / 1e6 for s in range(5) for r in range(4))
    assert f"orange: up to {largest:.3g} ms" in words(axes)


def test_computing_and_waiting_have_scales_of_their_own(run):
    figure = figures.Figure()
    heat_map_figure(run, None, figure, "compute_time_s")
    for axes, field in zip(figure.axes, ("compute_time_s", "waiting_time_s")):
        values = axes.images[0].get_array()
        assert values.max() <= axes.images[0].get_clim()[1] <= 1.4 * values.max(), field


def test_absent_values_are_grey_and_reported(tmp_path, axes):
    def not_entered(rank, step, values):
        if rank == 1:
            values["regions"] = values["regions"][1:]

    path = twin.write_run(tmp_path / "run", ranks=2, steps=3, change_step=not_entered)
    plots.heat_map(perfield.open(path), "solve_time_s", axes=axes)
    assert axes.images[0].get_array().mask.tolist() == [[False] * 3, [True] * 3]
    assert axes.images[0].cmap.get_bad()[:3] == pytest.approx((0.72, 0.72, 0.72))
    assert "grey: absent" in words(axes)


def test_one_extreme_step_does_not_flatten_the_others(tmp_path, axes):
    def slow_start(rank, step, values):
        if step == 0:
            values["regions"][0] = twin.region_row(1, 1_000_000_000)

    path = twin.write_run(tmp_path / "run", ranks=2, steps=6, change_step=slow_start)
    plots.heat_map(perfield.open(path), "solve_time_s", axes=axes)
    assert axes.images[0].get_clim() == pytest.approx((0, 2.5))
    assert "orange: up to 1e+03 ms" in words(axes)


def test_many_ranks_and_steps_are_joined_by_their_largest_value(run, axes, monkeypatch):
    monkeypatch.setattr(rank_by_step, "MOST_RANKS", 2)
    monkeypatch.setattr(rank_by_step, "MOST_STEPS", 3)
    monkeypatch.setattr("perfield.run.snapshot.ENTRIES_PER_CHUNK", 4)  # a chunk of one step
    plots.heat_map(run, "solve_time_s", axes=axes)
    expected = [[twin.solve_ns(r, s) / 1e6 for s in (1, 3, 4)] for r in (1, 3)]
    assert axes.images[0].get_array().data == pytest.approx(np.array(expected))
    assert "each cell: the largest of 2 ranks x 2 steps" in words(axes)
    assert (axes.get_ylim(), axes.get_xlim()) == ((3.5, -0.5), (0.5, 5.5))


def test_waiting_has_a_colour_map_of_its_own(run):
    left, right = figures.Figure().subplots(1, 2)
    plots.heat_map(run, "compute_time_s", axes=left)
    plots.heat_map(run, "mpi_wait_time_s", axes=right)
    assert (left.images[0].cmap.name, right.images[0].cmap.name) == ("viridis", "magma")


def test_unknown_field_names_the_nearest(run):
    with pytest.raises(PlotError, match=r"has no field 'solve_tme_s'; did you mean solve_time_s"):
        plots.heat_map(run, "solve_tme_s")


def test_message_matrix_holds_bytes_by_sender_and_receiver(run, axes):
    plots.message_matrix(run, axes=axes)
    shown = np.nan_to_num(axes.images[0].get_array().filled(0))
    expected = np.zeros((4, 4))
    for rank in range(4):
        expected[rank, (rank + 1) % 4] = 5 * 2 * (rank + 1)  # kB
    assert shown == pytest.approx(expected)
    assert "Messages: 100 kB between 4 pairs" in words(axes)


def test_message_matrix_ends_its_scale_at_a_round_number(run, axes):
    plots.message_matrix(run, slice(0, 3), axes=axes)  # at most 32 kB
    assert axes.images[0].get_clim() == (0.0, 40.0)


def test_message_matrix_of_many_ranks_joins_them(run, axes, monkeypatch):
    monkeypatch.setattr("perfield.plots.messages.MOST_RANKS", 2)
    plots.message_matrix(run, axes=axes)
    assert axes.images[0].get_array().data == pytest.approx(np.array([[10, 20], [40, 30]]))
    assert "each cell: 2 x 2 ranks" in words(axes)


def test_message_matrix_outlines_nodes_and_puts_their_ranks_side_by_side(tmp_path, axes, monkeypatch):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=2, hosts=("a", "b")))
    in_turn = replace(placement_of(run), node_id=np.array([0, 1, 0, 1], np.int32))
    monkeypatch.setattr("perfield.plots.messages.placement_of", lambda run: in_turn)
    plots.message_matrix(run, axes=axes)
    blocks = [(*block.get_xy(), block.get_width()) for block in axes.patches]
    assert blocks == [(-0.5, -0.5, 2), (1.5, 1.5, 2)]
    sent = ~np.ma.getmaskarray(axes.images[0].get_array())
    assert not sent[:2, :2].any() and not sent[2:, 2:].any(), "0 and 2 send to 1 and 3"
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b"]
    assert "between 4 pairs, 0 % inside nodes (outlined)" in words(axes)


def test_message_matrix_says_bytes_with_unknown_peers(tmp_path, axes):
    def some_unknown(rank, step, values):
        if rank == 1:
            values["messages"] = [{"peer": -3, "call": twin.ISEND, "count": 1, "bytes": 500}]

    path = twin.write_run(tmp_path / "run", ranks=2, steps=2, change_step=some_unknown)
    plots.message_matrix(perfield.open(path), axes=axes)
    assert "not shown: 1 kB with unknown peers" in words(axes)


def test_run_without_messages_has_no_message_matrix(tmp_path, axes):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=2, change_step=twin.without_calls)
    with pytest.raises(PlotError, match="sent a byte to another rank"):
        plots.message_matrix(perfield.open(path), axes=axes)


def test_region_bars_divide_time_into_computing_and_calls(run, axes):
    plots.region_bars(run, axes=axes)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["whole step", "solve", "exchange"]
    parts = {bars.get_label(): [bar.get_width() for bar in bars] for bars in axes.containers}
    solve, step = computing().mean() - 100e-6, computing().max(0).mean() + 100e-6
    assert parts["compute"] == pytest.approx([(solve + 100e-6) * 1e3, solve * 1e3, 0.11])
    assert parts["point-to-point"] == pytest.approx([0.05, 0, 0.05])
    assert parts["wait"] == pytest.approx([(step - solve - 150e-6) * 1e3, 0, 0.04])
    assert set(parts) == {"compute", "point-to-point", "wait"}
    times = computing() - 100e-6
    ratio, saved = times.max(0).sum() / times.mean(0).sum(), (times.max(0) - times.mean(0)).sum() * 1e3
    assert f"imbalance {ratio:.2f}, balancing saves {saved:.3g} ms" in words(axes)


def test_regions_whose_calls_are_not_known_are_not_divided(tmp_path, axes):
    bare = {"change_rank": twin.without_mpi, "change_step": twin.without_calls, "quantities": ()}
    path = twin.write_run(tmp_path / "run", ranks=2, steps=2, **bare)
    plots.region_bars(perfield.open(path), axes=axes)
    parts = {bars.get_label(): [bar.get_width() for bar in bars] for bars in axes.containers}
    assert parts["not divided"][1:] == pytest.approx([1.5005, 0.2])


def test_many_regions_are_left_out_with_a_note(tmp_path, axes, monkeypatch):
    monkeypatch.setattr("perfield.plots.regions.MOST_REGIONS", 1)
    plots.region_bars(perfield.open(twin.write_run(tmp_path / "run")), axes=axes)
    assert "1 more regions are not shown" in words(axes)


def test_plots_make_axes_that_notebooks_show(run):
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    axes = plots.imbalance(run)
    assert axes.figure.number in pyplot.get_fignums()
    pyplot.close("all")


def test_run_without_a_step_gives_a_sentence(tmp_path):
    path = twin.write_run(tmp_path / "run", steps=0, ended=False, change_rank=twin.live_rank)
    with pytest.raises(PlotError, match="holds no finished step to plot"):
        plots.imbalance(perfield.open(path))


def test_ended_run_without_steps_is_one_column(tmp_path, axes):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=0))
    plots.heat_map(run, "step_time_s", axes=axes)
    assert axes.images[0].get_array().shape == (2, 1)
    assert axes.get_xlabel() == "the whole run"


def test_share_that_balancing_saves_is_of_the_rank_that_measured_longest(tmp_path, axes):
    def longer_in_turn(rank, step, values):
        values["measured_ns"] = 30_000_000 if step % 4 == rank else 20_000_000

    run = perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=8, change_step=longer_in_turn))
    plots.imbalance(run, axes=axes)
    values = run.steps[["compute_time_s", "step_time_s"]].compute()
    saved = float((values.compute_time_s.max("rank") - values.compute_time_s.mean("rank")).sum())
    elapsed = float(values.step_time_s.sum("step").max())
    assert f"({100 * saved / elapsed:.0f} %)" in words(axes)
    assert f"{saved / elapsed:.0%}" != f"{saved / float(values.step_time_s.max('rank').sum()):.0%}"


def test_frames_of_several_steps_show_the_mean_of_one(tmp_path, axes):
    spans = {0: [1, 1, 2, 4], 1: [1] * 8}
    run = perfield.open(mixed_spans.write(tmp_path / "run", spans))
    rank_by_step.heat_map(run, "solve_time_s", axes=axes)
    shown = np.array(axes.images[0].get_array())[1]
    solve = [[0], [1], [2, 3], [4, 5, 6, 7]]
    means = [np.mean([twin.solve_ns(1, n) for n in steps]) / 1e6 for steps in solve]
    assert shown == pytest.approx(np.repeat(means, [1, 1, 2, 4]))  # as wide as their steps
    assert axes.get_xlim() == (0.5, 8.5)
    assert "2 ranks, 4 frames of 1 to 4 steps, by their mean" in words(axes)
