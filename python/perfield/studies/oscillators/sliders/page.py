# SPDX-License-Identifier: BSD-3-Clause
"""The page: sliders, and what their model does: phase circle, R(t), spread and phases over time."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.layouts import column, row
from bokeh.models import (
    Arrow,
    Button,
    Checkbox,
    ColorBar,
    ColumnDataSource,
    Div,
    LinearColorMapper,
    NormalHead,
    Range1d,
    Select,
    Slider,
    Span,
    Spinner,
)
from bokeh.palettes import Viridis256
from bokeh.plotting import figure

from perfield.catalyst_scripts.palette import BEYOND, PALETTE
from perfield.studies.oscillators.model import ModelError
from perfield.studies.oscillators.model.model import NORMALISATIONS
from perfield.studies.oscillators.model.potentials import POTENTIALS, potential
from perfield.studies.oscillators.sliders.experiment import (
    GIVEN,
    NOISES,
    STARTS,
    TOPOLOGIES,
    TURN,
    Base,
    Settings,
    phases_of,
    settings_of,
)
from perfield.studies.rhythm import model as rhythm
from perfield.text import in_periods

if TYPE_CHECKING:
    import xarray as xr
    from bokeh.document import Document

SLIDERS = {  # parameter of a potential -> (words, lowest, highest, step)
    "steepness": ("steepness s (1/rad)", 0.2, 50.0, 0.2),
    "sigma": ("width sigma of the repulsion (rad)", 0.2, 6.4, 0.1),
    "a": ("a", 0.0, 2.0, 0.05),
    "b": ("b", 0.0, 1.0, 0.05),
    "harmonic": ("harmonic N", 1, 40, 1),
    "radius": ("radius of the minima (rad)", 0.2, 6.4, 0.1),
    "depth": ("depth of the minima", 0.05, 2.0, 0.05),
}
# Settings of the same name that a widget holds as they are; those of SLID may need a longer slider.
CHOSEN = ("topology", "potential", "normalisation", "noise", "start", "seed")
SLID = ("n", "distance", "coupling", "size", "delay", "which", "late", "periods")
MOST_ROWS = 256  # of the map of phases; more oscillators are thinned
FRAME_MS = 60  # of the animation
WIDTH = 330
HELP = (
    ("order_parameter", "R"),
    ("spread", "Spread"),
    ("phase_circle", "Phase circle"),
)


def rgb(colour: tuple[float, float, float]) -> str:
    """A colour as CSS writes it."""
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


class Page:
    """The page of one browser. A change of any slider computes the model anew; `bases` are its presets."""

    def __init__(self, bases: Mapping[str, Base]):
        self.bases = bases
        self._waits = self._moves = False
        self._document: Document | None = None
        self._timer: Any = None
        self._make_widgets()
        self._make_figures()
        self._choose(next(iter(bases)))

    def show(self, document: Document) -> None:
        """Adds the page to a Document of bokeh."""
        self._document = document
        document.title = "perfield: coupled oscillators"
        left = column(
            self.preset,
            self.about,
            *self.of_model,
            *self.of_potential.values(),
            *self.of_run,
            width=WIDTH + 20,
        )
        above = row(
            self.circle,
            column(self.order, self.spread, sizing_mode="stretch_width"),
            sizing_mode="stretch_width",
        )
        right = column(
            self.state,
            above,
            row(self.play, self.moment, sizing_mode="stretch_width"),
            self.phases,
            self.help,
            sizing_mode="stretch_width",
        )
        document.add_root(row(left, right, sizing_mode="stretch_width"))

    # --- what is on the page ----------------------------------------------------------------------

    def _make_widgets(self) -> None:
        slider = self._slider
        self.preset = Select(title="begin with", options=list(self.bases), width=WIDTH, name="preset")
        self.about = Div(width=WIDTH, styles={"color": "#555", "max-height": "16em", "overflow-y": "auto"})
        self.topology = self._select("communication topology", TOPOLOGIES, "topology")
        self.n = slider("oscillators", 2, 128, 1, "n")
        self.distance = slider("distance of partners", 1, 8, 1, "distance")
        self.both = Checkbox(label="messages in both directions")
        self.potential = self._select("potential", (GIVEN, *POTENTIALS), "potential")
        self.coupling = slider("coupling, times that of the preset", 0.0, 5.0, 0.05, "coupling")
        self.normalisation = self._select("sum over partners divided by", NORMALISATIONS, "normalisation")
        self.detuning = slider("further spread of frequencies (%)", 0.0, 20.0, 0.1, "detuning")
        self.noise = self._select("noise", NOISES, "noise")
        self.size = slider("size of the noise", 0.0, 2.0, 0.01, "size")
        self.delay = slider("delay of messages (periods)", 0.0, 0.5, 0.01, "delay")
        self.compensate = Checkbox(label="compensate the delay")
        self.start = self._select("start", STARTS, "start")
        self.which = slider("which oscillator starts late", 0, 127, 1, "which")
        self.late = slider("by how many periods", 0.0, 10.0, 0.25, "late")
        self.periods = slider("periods to compute", 5, 1000, 5, "periods")
        self.seed = Spinner(title="seed of all chance", low=0, high=999_999, step=1, value=0, width=WIDTH)
        self.of_potential = {name: slider(*about, name) for name, about in SLIDERS.items()}
        self.of_model = [
            *(self.topology, self.n, self.distance, self.both, self.coupling, self.normalisation),
            *(self.detuning, self.noise, self.size, self.delay, self.compensate, self.potential),
        ]
        self.of_run = [self.start, self.which, self.late, self.periods, self.seed]
        self.preset.on_change("value", lambda attr, old, new: self._choose(new))
        for widget in (*self.of_model, *self.of_potential.values(), *self.of_run):
            of = "active" if isinstance(widget, Checkbox) else "value"
            widget.on_change(of, lambda attr, old, new: self._soon())
        self.play = Button(label="play", width=80, name="play")
        self.play.on_click(self._play)
        self.moment = Slider(
            title="moment (period)",
            start=0,
            end=1,
            step=1,
            value=0,
            sizing_mode="stretch_width",
            name="moment",
        )
        self.moment.on_change("value", lambda attr, old, new: self._show_moment())
        words = (f"<b>{title}</b>: {html.escape(str(rhythm.HELP[name]))}" for name, title in HELP)
        self.help = Div(
            text="<br>".join(words),
            sizing_mode="stretch_width",
            styles={"color": "#555", "line-height": "1.5"},
        )
        self.state = Div(
            sizing_mode="stretch_width", styles={"font-size": "17px", "min-height": "1.6em"}, name="state"
        )

    @staticmethod
    def _slider(title: str, low: float, high: float, step: float, name: str) -> Slider:
        return Slider(title=title, start=low, end=high, step=step, value=low, width=WIDTH, name=name)

    @staticmethod
    def _select(title: str, options: tuple[str, ...], name: str) -> Select:
        return Select(title=title, options=list(options), value=options[0], width=WIDTH, name=name)

    def _make_figures(self) -> None:
        self.points = ColumnDataSource({"x": [], "y": [], "rank": []})
        self.lines = ColumnDataSource({"time": [], "order": [], "spread": []})
        self.cells = ColumnDataSource({"image": [], "x": [], "dw": [], "dh": []})
        self.of_rank = LinearColorMapper(palette=Viridis256, low=0, high=1)
        self.of_lag = LinearColorMapper(palette=Viridis256, low=0, high=1, nan_color="#b8b8b8")
        plain = {"toolbar_location": None}
        self.circle = figure(
            title="Phase circle, in the frame of the mean", width=400, height=400, **plain, match_aspect=True
        )
        for span in (self.circle.x_range, self.circle.y_range):
            span.start, span.end = -1.25, 1.25
        self.circle.axis.visible = self.circle.grid.visible = False
        self.circle.ellipse(x=[0], y=[0], width=2, height=2, fill_color=None, line_color="#ccc")
        fill = {"field": "rank", "transform": self.of_rank}
        self.drawn = self.circle.scatter(
            "x", "y", source=self.points, size=13, color=fill, line_color="white"
        )
        self.arrow = Arrow(
            end=NormalHead(size=10, fill_color=rgb(BEYOND), line_color=rgb(BEYOND)),
            line_color=rgb(BEYOND),
            line_width=3,
            x_start=0,
            y_start=0,
            x_end=1,
            y_end=0,
        )
        self.circle.add_layout(self.arrow)
        wide = {"sizing_mode": "stretch_width", "min_border_right": 30, **plain}
        ranges = {"x_range": Range1d(0, 1), "y_range": Range1d(0, 1.05)}  # others fit themselves
        self.order = figure(title="Order parameter R", height=190, name="order", **ranges, **wide)
        self.order.line("time", "order", source=self.lines, color=rgb(PALETTE[1]), line_width=2.5)
        self.spread = figure(
            title="Spread of the phases: what R does not see (periods)",
            height=210,
            x_range=self.order.x_range,
            y_range=Range1d(0, 1),
            x_axis_label="time (periods)",
            **wide,
        )
        self.spread.line("time", "spread", source=self.lines, color=rgb(PALETTE[0]), line_width=2.5)
        self.phases = figure(
            title="How many periods each oscillator is behind the foremost",
            height=300,
            x_range=Range1d(0, 1),
            y_range=Range1d(1, 0),
            x_axis_label="time (periods)",
            y_axis_label="oscillator",
            **wide,
        )
        self.phases.image(
            "image", x="x", y=-0.5, dw="dw", dh="dh", source=self.cells, color_mapper=self.of_lag
        )
        self.phases.add_layout(ColorBar(color_mapper=self.of_lag, width=12), "right")
        self.now = [Span(location=0, dimension="height", line_dash="dotted", line_width=2) for _ in range(3)]
        for drawn, line in zip((self.order, self.spread, self.phases), self.now):
            drawn.add_layout(line)
        self.now[2].line_color = "white"

    # --- what happens -----------------------------------------------------------------------------

    def _choose(self, title: str) -> None:
        """Begins with another model: sets all sliders as it says, then computes it."""
        self.base = self.bases[title]
        self.preset.value = title
        lines = (html.escape(line) for line in self.base.about.split("\n"))
        self.about.text = "".join(f"<div style='margin-bottom: 0.4em'>{line}</div>" for line in lines)
        said = settings_of(self.base)
        self._waits = True  # sliders that are set here need no computation of their own
        for name in CHOSEN:
            getattr(self, name).value = getattr(said, name)
        for name in SLID:
            _set(getattr(self, name), getattr(said, name))
        _set(self.detuning, 100 * said.detuning)
        self.both.active, self.compensate.active = said.both, said.compensate
        for name, value in said.parameters.items():
            _set(self.of_potential[name], value)
        self._waits = False
        self._compute()

    def settings(self) -> Settings:
        """What the sliders say now."""
        name = self.potential.value
        takes = vars(potential(name)) if name != GIVEN else {}
        values = {word: getattr(self, word).value for word in (*CHOSEN, *SLID)}
        parameters = {word: slider.value for word, slider in self.of_potential.items() if word in takes}
        said = Settings(**values, parameters=parameters, detuning=self.detuning.value / 100)
        return replace(said, both=self.both.active, compensate=self.compensate.active)

    def _soon(self) -> None:
        """Computes after the changes that are under way: a slider that is dragged sends many."""
        if self._waits:
            return
        if self._document is None:
            self._compute()
            return
        self._waits = True
        self.state.text = f"<i>computing ...</i> {self.state.text.removeprefix('<i>computing ...</i> ')}"
        self._document.add_timeout_callback(self._compute_now, 30)

    def _compute_now(self) -> None:
        self._waits = False
        self._compute()

    def _compute(self) -> None:
        said = self.settings()
        self._show_what_counts(said)
        try:
            found = phases_of(self.base, said)
        except ModelError as error:
            self.state.text = f'<span style="color:{rgb(BEYOND)}">{html.escape(str(error))}</span>'
            return
        self._show(found, said)

    def _show_what_counts(self, said: Settings) -> None:
        """Leaves only sliders that change something."""
        ours = said.topology != GIVEN
        self.n.visible = ours
        self.distance.visible = said.topology in ("chain", "ring", "compact chain")
        self.both.visible = ours and said.topology != "all to all"
        self.size.visible = said.noise != "none"
        self.compensate.visible = said.delay > 0
        self.which.visible = self.late.visible = said.start == "delayed"
        for name, slider in self.of_potential.items():
            slider.visible = name in said.parameters

    def _show(self, found: xr.Dataset, said: Settings) -> None:
        phase = found["phase"]
        n, moments = phase.shape
        time = np.linspace(0.0, said.periods, moments)
        order, apart = rhythm.order_parameter(phase).values, rhythm.spread(phase)
        spread = apart.values
        self.turned = rhythm.phase_circle(phase, "mean").values
        self.series = order, spread, time
        self.lines.data = {"time": time, "order": order, "spread": spread}
        self.order.x_range.start, self.order.x_range.end = 0.0, said.periods
        self.phases.x_range.end, self.phases.y_range.start = said.periods, n - 0.5
        self.phases.y_range.end = -0.5
        self.spread.y_range.end = 1.1 * max(float(np.nanmax(spread)), 0.05)
        rows = phase.values[np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).round().astype(int))]
        behind = (np.fmax.reduce(rows, axis=0) - rows) / TURN
        self.of_lag.high = max(float(np.nanmax(behind)), 1e-3)
        self.cells.data = {"image": [behind.astype(np.float32)], "x": [0.0], "dw": [said.periods], "dh": [n]}
        self.of_rank.high = max(n - 1, 1)
        self.drawn.glyph.size = float(np.clip(1500 / n, 4, 13))
        self.drawn.glyph.line_alpha = 1.0 if n <= 128 else 0.0
        named = rhythm.state(phase.isel(time=-1), found)
        settled = rhythm.crossing_time(apart, 0.05, rising=False) / self.base.period
        end = (
            "the spread stays above 0.05 periods"
            if np.isnan(settled)
            else f"settled after {settled:.1f} periods"
        )
        self.state.text = (
            f"<b>{n:,} oscillators, {html.escape(named['state'].item())} at the end</b>: "
            f"R = {order[-1]:.3f}, spread {in_periods(spread[-1])}; {end}."
        )
        self.moment.end = moments - 1
        self._show_moment()

    def _show_moment(self) -> None:
        at = int(min(self.moment.value, self.turned.shape[2] - 1))
        x, y = self.turned[:, :, at]
        order, spread, time = self.series
        self.points.data = {"x": x, "y": y, "rank": np.arange(len(x))}
        self.arrow.x_end, self.arrow.y_end = float(np.nanmean(x)), float(np.nanmean(y))
        self.moment.title = (
            f"moment {time[at]:.1f} periods, R = {order[at]:.3f}, spread {spread[at]:.3g}; point"
        )
        for line in self.now:
            line.location = float(time[at])

    def _play(self) -> None:
        if self._document is None:
            return
        if self._timer is None:
            self._timer = self._document.add_periodic_callback(self._next, FRAME_MS)
            self.play.label = "stop"
        else:
            self._document.remove_periodic_callback(self._timer)
            self._timer, self.play.label = None, "play"

    def _next(self) -> None:
        self.moment.value = (self.moment.value + 1) % (self.moment.end + 1)


def _set(slider: Slider, value: float) -> None:
    """Sets a slider, which reaches as far as this needs."""
    slider.end = max(slider.end, value)
    slider.start = min(slider.start, value)
    slider.value = value
