# SPDX-License-Identifier: BSD-3-Clause
"""Films of phases: the circle, or the heat map of differences, moment by moment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.owned_folder import new_file
from perfield.plots.style import PlotError, new_figure
from perfield.studies.rhythm import model as rhythm
from perfield.studies.rhythm.model.dataset import TURN
from perfield.studies.rhythm.plots import panels
from perfield.studies.rhythm.plots.shown import Shown, largest, some

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

KINDS = ("circle", "matrix")
ENDINGS = (".gif", ".mp4")
SIZE = (6.4, 6.8)  # inches
MOST_FRAMES = 100


def film(
    phases: xr.Dataset,
    path: str | Path,
    kind: str = "circle",
    *,
    frame: str | int = "mean",
    order: np.ndarray | str | None = None,
    frames: int = MOST_FRAMES,
    per_second: int = 20,
) -> Path:
    """Makes a film of phases; returns its path.

    phases : in the form of `model/dataset.py`. path : ends in .gif (made by Pillow, always)
    or .mp4 (made by ffmpeg, where it is installed). kind : "circle" (eq. 7) or "matrix", the heat map of
    differences (eq. 13). frame : of the circle, what does not move: "mean" or a rank. order : of the ranks in
    the heat map and in the circle's colours, as for `Shown.arranged`.
    frames : of the film, evenly chosen. per_second : frames per second.
    Raises PlotError for another ending, kind or order, for no such rank, and where there is no ffmpeg.
    """
    from matplotlib.animation import FFMpegWriter, PillowWriter

    path = Path(path)
    if path.suffix not in ENDINGS:
        raise PlotError(f"{path} ends in '{path.suffix}'; a film ends in {' or '.join(ENDINGS)}.")
    if kind not in KINDS:
        raise PlotError(f"{kind!r} is not a film; expected one of {', '.join(KINDS)}.")
    if path.suffix == ".mp4" and not FFMpegWriter.isAvailable():
        raise PlotError(
            f"{path} needs ffmpeg, which is not installed; install the Debian package ffmpeg, or make a .gif."
        )
    if per_second < 1 or frames < 2:
        raise PlotError(
            f"a film of {frames} frames, {per_second} per second, shows nothing; take 2 and 1 or more."
        )
    shown = Shown(phases).arranged(order)
    figure = new_figure(SIZE)
    figure.set_layout_engine("none")
    draw = _Circle(figure, shown, frame) if kind == "circle" else _Matrix(figure, shown)
    writer = (PillowWriter if path.suffix == ".gif" else FFMpegWriter)(fps=per_second)
    path.parent.mkdir(parents=True, exist_ok=True)
    note = figure.text(0.5, 0.02, "", ha="center", color="0.35", fontsize=10)
    with new_file(path) as place, writer.saving(figure, str(place), dpi=100):
        for moment in some(len(shown.time), frames):
            draw.at(moment)
            unknown = np.isnan(shown.phase.values[:, moment]).sum()
            note.set_text(shown.order_words + (f"; {unknown} have no phase now" if unknown else ""))
            writer.grab_frame()
    return path


class _Circle:
    """The phase circle of one moment after another."""

    def __init__(self, figure: Figure, shown: Shown, frame: str | int):
        self.axes, self.shown, self.frame = figure.add_axes((0.02, 0.06, 0.96, 0.84)), shown, frame
        known = [*map(int, shown.phase["oscillator"].values)]
        if frame != "mean" and frame not in known:
            raise PlotError(
                f"frame = {frame!r} is not a rank; expected 'mean' or one of {min(known)} to {max(known)}."
            )
        self.points = rhythm.phase_circle(shown.phase, frame).values
        self.title = figure.text(0.5, 0.93, "", ha="center", fontsize=13)

    def at(self, moment: int) -> None:
        self.axes.clear()
        panels.draw_circle(self.axes, self.points[:, :, moment], self.shown.phase["oscillator"].values)
        r, apart = self.shown.order_parameter[moment], self.shown.spread[moment]
        self.title.set_text(f"{self.shown.clock(moment)}: R = {r:.2f}, spread {apart:.2f} periods")


class _Matrix:
    """The heat map of one moment after another, with the colours of all moments."""

    def __init__(self, figure: Figure, shown: Shown):
        self.shown, axes = shown, figure.add_axes((0.12, 0.12, 0.72, 0.78))
        self.image = panels.matrix(axes, shown)
        most = largest(shown.spread, 1e-3)
        self.image.set_clim(-most, most)
        self.title = figure.text(0.5, 0.93, "", ha="center", fontsize=13)

    def at(self, moment: int) -> None:
        chosen = self.shown.phase.isel(oscillator=self.shown.paired, time=moment)
        self.image.set_data(rhythm.difference_matrix(chosen).values / TURN)
        self.title.set_text(f"{self.shown.clock(moment)}: spread {self.shown.spread[moment]:.2f} periods")
