# SPDX-License-Identifier: BSD-3-Clause
"""The page about rhythm: what its panels say of phases that are known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

figures = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")
from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402
from matplotlib.text import Text  # noqa: E402

from perfield.plots.style import PlotError  # noqa: E402
from perfield.studies.oscillators.model.potentials import Tanh  # noqa: E402
from perfield.studies.oscillators.model.topologies import chain  # noqa: E402
from perfield.studies.rhythm import plots as rhythm  # noqa: E402
from perfield.studies.rhythm.model import phase_dataset, phases  # noqa: E402
from perfield.studies.rhythm.plots import panels  # noqa: E402

TURN = 2 * np.pi
LETTERS = "bcdefghi"


def wave(n: int = 6, moments: int = 21, step: float = 0.25) -> xr.Dataset:
    """Oscillators that are `step` periods apart, each ahead of the one before; period 1 s."""
    times = np.linspace(0.0, 2.0, moments)
    return phase_dataset(TURN * (times + step * np.arange(n)[:, None]), times, chain(n))


def late_steps(n: int = 4, count: int = 5) -> xr.Dataset:
    """Ranks that take 1 s for a step, of which rank r waits r tenths."""
    begin = np.repeat(np.arange(count, dtype=float)[:, None], n, axis=1)
    waits = np.broadcast_to(0.1 * np.arange(n), (count, n))
    names = ("step", "rank")
    values = {"begin_s": (names, begin), "end_s": (names, begin + 1), "waiting_time_s": (names, waits)}
    return xr.Dataset(values, {"step": np.arange(count), "rank": np.arange(n)})


def titles(figure) -> str:
    """All that is written above panels."""
    figure.canvas.draw()
    return " | ".join(text.get_text() for axes in figure.axes for text in axes.texts)


def axes_of(figure, letter: str):
    """The panel of a letter."""
    return next(
        axes for axes in figure.axes if any(text.get_text().startswith(f"({letter})") for text in axes.texts)
    )


@pytest.fixture
def shown():
    """Six oscillators, a quarter of a period apart."""
    return rhythm.Shown(wave(), Tanh(1.0))


@pytest.fixture
def axes():
    """Axes without a window."""
    return figures.Figure(figsize=(6, 4)).subplots()


def test_page_of_a_model_has_the_panels_b_to_i_and_names_the_state():
    figure = rhythm.page(wave(), potential=Tanh(1.0), words="planted")
    words = titles(figure)
    assert all(f"({letter})" in words for letter in LETTERS)
    assert "(a)" not in words
    title = figure.texts[0].get_text()
    assert "planted: 6 oscillators, wavefront at 2 s" in title and "1.25\u00a0periods" in title


def test_page_of_a_run_shows_its_steps_first():
    steps = late_steps()
    assert "(a) Steps" in titles(rhythm.page(phases(steps), steps))


def test_timeline_shows_waiting_at_the_end_of_each_step(axes):
    steps = late_steps()
    image = panels.timeline(axes, steps, rhythm.Shown(phases(steps)))
    cells = image.get_array().filled(np.nan)
    assert np.nanmean(cells, axis=1) == pytest.approx([0, 10, 20, 30], abs=1.0)
    begin = round(cells.shape[1] / image.get_extent()[1])  # cells in a second
    assert cells[3, : int(0.6 * begin)].max() == 0 and cells[3, int(0.75 * begin)] == 100


def test_panels_show_periods_behind_the_foremost(shown, axes):
    image = panels.lag(axes, shown)
    assert image.get_array().data[:, 0] == pytest.approx([1.25, 1.0, 0.75, 0.5, 0.25, 0.0])


def test_spread_in_periods_is_beside_an_order_parameter_that_is_blind(axes):
    blind = rhythm.Shown(wave(step=1.0))
    panels.order(axes, blind)
    assert axes.lines[0].get_ydata() == pytest.approx(1.0)
    beside = figures.Figure().subplots()
    panels.spread(beside, blind)
    assert beside.lines[0].get_ydata() == pytest.approx(5.0)


def late_rank(n: int = 8, count: int = 41) -> xr.Dataset:
    """Ranks in step; from 2 s to 3 s half of them fall behind by half a step."""
    times = np.linspace(0.0, 4.0, count)
    steps = np.tile(times, (n, 1))
    steps[-n // 2 :] -= 0.5 * np.clip(times - 2.0, 0.0, 1.0)
    return phase_dataset(TURN * steps, times)


def test_fall_of_the_order_parameter_has_its_rate_and_is_shaded_as_early_warning():
    figure = rhythm.page(late_rank())
    axes = axes_of(figure, "b")
    (rate,) = (other for other in figure.axes if other.get_ylabel() == "dR/dt (1/s)")
    times, values = rate.lines[0].get_data()
    assert values[times < 1.8] == pytest.approx(0.0, abs=1e-9)
    assert 2.0 < times[np.nanargmin(values)] < 3.0
    (shaded,) = axes.patches
    ends = shaded.get_xy()[:, 0]
    assert ends.min() == pytest.approx(2.0, abs=0.21) and ends.max() == pytest.approx(3.0, abs=0.21)
    assert "thin: dR/dt; shaded: early warning" in titles(figure)


def test_steady_order_parameter_is_not_shaded():
    figure = rhythm.page(wave(step=0.0))
    assert not axes_of(figure, "b").patches and "shaded" not in titles(figure)


def test_rate_of_the_order_parameter_does_not_see_ranks_that_end():
    ending = wave(step=0.3)
    ending["phase"][3:, 15:] = np.nan
    rate = rhythm.Shown(ending).order_rate
    assert np.isnan(rate[14:16]).all() and rate[:14] == pytest.approx(0.0, abs=1e-9)


def test_entropy_of_fixed_bins_is_zero_for_ranks_that_differ_by_rounding_errors(axes):
    equal = wave(step=1e-10)
    panels.entropy(axes, rhythm.Shown(equal))
    adapting, fixed = (line.get_ydata() for line in axes.lines[:2])
    assert adapting.max() > 0.4 and fixed == pytest.approx(0.0)


@pytest.mark.parametrize("step", [0.0, 1e-9])
def test_histogram_of_equal_phases_shows_one_bar_of_all_pairs(axes, step):
    panels.histogram(axes, rhythm.Shown(wave(step=step)))
    (bar,) = axes.patches
    assert bar.get_height() == 15  # pairs of 6
    low, high = axes.get_xlim()
    assert bar.get_width() > 0.01 * (high - low)
    assert bar.get_x() + bar.get_width() / 2 == pytest.approx(0.0, abs=1e-6)


def test_title_does_not_count_what_a_solver_leaves():
    assert "less than 0.001 periods" in rhythm.page(wave(step=1e-9)).texts[0].get_text().replace(
        "\u00a0", " "
    )


def test_gradient_names_the_rank_that_stands_out(axes):
    apart = wave(n=6, step=0.01)
    apart["phase"][3:] += 4 * TURN  # rank 3 is ahead of rank 2 that it receives from
    panels.gradient(axes, rhythm.Shown(apart))
    assert [text.get_text() for text in axes.texts] == ["oscillator 3"]
    axes.clear()
    panels.gradient(axes, rhythm.Shown(wave()))
    assert not axes.texts


def test_differences_have_a_line_for_each_pair(shown, axes):
    panels.differences(axes, shown)
    (lines,) = axes.collections
    ends = sorted(round(abs(line[-1, 1]), 6) for line in lines.get_segments())
    assert ends == sorted(0.25 * apart for i in range(6) for apart in range(1, i + 1))


def test_heat_map_and_histogram_show_the_chosen_moment(axes):
    drifting = wave()
    drifting["phase"][0] -= TURN * drifting["time"]  # does not move
    image = panels.matrix(axes, rhythm.Shown(drifting, at=1.0))
    assert image.get_array().data[0, 1] == pytest.approx(1.25)
    assert image.get_array().data[1, 0] == pytest.approx(-1.25)


def test_circle_names_groups_of_oscillators(axes):
    times = np.linspace(0, 1, 5)
    two = np.where(np.arange(8) < 3, 0.0, 0.5)[:, None] + times
    shown = rhythm.Shown(phase_dataset(TURN * two, times))
    for drawn in (shown, shown.arranged(np.arange(8)[::-1])):
        axes.clear()
        panels.circle(axes, drawn)
        assert sorted(text.get_text() for text in axes.texts if text.get_text()) == ["0-2", "3-7"]


def test_many_ranks_are_chosen_with_a_note():
    figure = rhythm.page(wave(n=1200, step=0.001), potential=Tanh(1.0))
    assert "Of 24 of 1,200 oscillators" in axes_of(figure, "e").get_title(loc="left")
    assert "Of 512 of 1,200 oscillators" in axes_of(figure, "i").get_title(loc="left")
    assert len(axes_of(figure, "e").collections[0].get_segments()) == 24 * 23 / 2
    assert axes_of(figure, "i").images[0].get_array().shape == (512, 512)


def test_ranks_are_arranged_by_node_with_their_edges_and_steps(axes):
    steps = late_steps()
    found = phases(steps)
    names = np.array(["b", "a", "b", "a"])
    edges = chain(4)
    found = found.assign(
        receiver=("edge", edges.receiver), sender=("edge", edges.sender), weight=("edge", edges.weight)
    ).assign_coords(node_name=("oscillator", names))
    by_node = rhythm.Shown(found).arranged("node_name")
    assert by_node.phases["oscillator"].values.tolist() == [1, 3, 0, 2]
    out = {
        (by_node.places[r], by_node.places[s])
        for r, s in zip(by_node.topology.receiver, by_node.topology.sender)
    }
    assert out == {(1, 0), (2, 1), (3, 2)}  # the same ranks receive from the same ones
    image = panels.timeline(axes, steps, by_node)
    waits = np.nanmean(image.get_array().filled(np.nan), axis=1)
    assert waits == pytest.approx([10, 30, 0, 20], abs=1.0)
    assert axes.get_ylabel() == "place of rank"


def test_order_by_phase_does_not_change_the_state_that_is_named():
    times = np.linspace(0.0, 2.0, 21)
    apart = 0.4 * np.random.default_rng(5).permutation(12)[:, None]
    figure = rhythm.page(phase_dataset(TURN * (times + apart), times), order="phase")
    title = figure.texts[0].get_text()
    assert "disordered" in title and title.endswith("ranks in the order of their phase")


def test_each_panel_says_its_use_and_its_limit():
    figure = rhythm.page(wave())
    for letter, name in zip("bcdeghi", ("order_parameter", "entropy", "phase_gradient", "phase_differences")):
        below = axes_of(figure, letter).get_title(loc="left").replace("\n", " ")
        assert rhythm.help_of(name) == below


def test_unknown_topology_leaves_its_panels_empty_with_a_reason():
    alone = wave()[["phase"]].assign_attrs(source="run")
    words = titles(rhythm.page(alone))
    assert "topology\nis not known" in words and "the potential of a model" in words


def test_few_ranks_at_the_end_of_a_run_do_not_look_synchronous():
    ending = wave(step=0.3)
    ending["phase"][1:, 15:] = np.nan
    shown = rhythm.Shown(ending)
    assert np.isnan(shown.order_parameter[15:]).all() and np.isfinite(shown.order_parameter[:15]).all()
    assert shown.moment == 14


def test_side_by_side_gives_both_the_same_scales():
    figure = rhythm.side_by_side(wave(step=0.5), wave(step=0.1), words=("left", "right"))
    words = titles(figure)
    assert "left: 6 oscillators" in words and "right: 6 oscillators" in words
    for letter in "bcde":
        pair = [
            axes for axes in figure.axes if any(t.get_text().startswith(f"({letter})") for t in axes.texts)
        ]
        assert pair[0].get_ylim() == pair[1].get_ylim()
    bars = [axes for axes in figure.axes if any(t.get_text().startswith("(h)") for t in axes.texts)]
    assert bars[0].get_xlim() == bars[1].get_xlim()


def test_side_by_side_keeps_scales_apart_that_would_hide_one_another():
    figure = rhythm.side_by_side(wave(step=20.0), wave(step=0.1))
    spreads = [axes for axes in figure.axes if axes.get_ylabel() == "periods" and len(axes.lines) == 2]
    assert len({axes.get_ylim() for axes in spreads}) == 2
    assert titles(figure).count("left and right have scales of their own") >= 4
    alike = rhythm.side_by_side(wave(step=0.5), wave(step=0.1))
    assert "scales of their own" not in titles(alike)


def test_one_moment_is_refused_in_a_sentence():
    with pytest.raises(
        PlotError,
        match="at least 2 ranks at 2 moments, and here are those of 6 ranks at 1 moment; take more steps",
    ):
        rhythm.page(wave(moments=1))


def test_one_rank_is_refused_in_a_sentence():
    with pytest.raises(PlotError, match="here are those of 1 rank at 20 moments; take more ranks"):
        rhythm.page(wave(moments=20).isel(oscillator=[0]))


@pytest.mark.parametrize("both", [False, True])
def test_no_words_are_cut_at_the_edge(both):
    potential = Tanh(1.0)
    if both:
        words = ("measured", "a model that starts where it was measured")
        figure = rhythm.side_by_side(wave(n=40), wave(step=0.3), potential=potential, words=words)
    else:
        figure = rhythm.page(wave(n=40), potential=potential, words="a page")
    FigureCanvasAgg(figure).draw()
    width, height = figure.canvas.get_width_height()
    for text in figure.findobj(Text):
        if text.get_text() and text.get_visible():
            box = text.get_window_extent()
            assert box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height, text.get_text()
