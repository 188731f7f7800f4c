# SPDX-License-Identifier: BSD-3-Clause
"""The film of `perfield render --film`: mesh and machine side by side, and below them ranks by steps."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.commands import words
from perfield.text import in_bytes
from perfield.text.terminal import Progress

if TYPE_CHECKING:  # these load VTK, which --help does not need
    from perfield.derived.run import Run
    from perfield.output.movie import Below, Movie
    from perfield.output.picture_series import PictureSeries


def film_of(arguments: argparse.Namespace) -> Movie | None:
    """The film to make, checked before the pictures are made; None if none is wanted."""
    if arguments.film is None:
        return None
    from perfield.output.movie import Movie

    chosen: dict[str, Any] = {"camera": arguments.camera or "", "fields": words(arguments.fields or "")}
    if arguments.size:
        chosen["size"] = tuple(map(int, arguments.size.lower().split("x")))
    if arguments.fps is not None:
        chosen["rate"] = arguments.fps
    movie = Movie(Path(arguments.film), **chosen)
    movie.check()
    return movie


def draw_film(run: Run, pictures: PictureSeries, movie: Movie) -> None:
    """Makes the film of written pictures, and prints what it has."""
    from perfield.output.image_plan import unknown_fields

    for name in unknown_fields(pictures.description, movie.fields[:1]):
        print(f"  no film of {name}: these pictures have no values of that name, so it shows others")
    n_images = movie.n_pictures(pictures.description) * len(pictures.steps)
    below = _heat_map(run, pictures.steps, *movie.field(pictures.description))
    with Progress("drawing the film", n_images) as progress:
        n_frames = movie.make(pictures.directory, pictures.description, progress.advance, below)
    length = f"{n_frames} frames, {n_frames / movie.rate:.3g} s"
    print(f"  {movie.path}  {length}, {in_bytes(movie.path.stat().st_size)}")
    if n_frames == 1:
        print("  the film has one frame, as one step was written; --steps all takes every step")


def _heat_map(run: Run, steps: Sequence[int], field: str, limits: tuple[float, float] | None) -> Below | None:
    """What draws the field by rank and step, with a line at the step of each frame; None where a run has no
    such field, or one step alone.

    steps : positions of the frames. limits : both ends of the colours; None: it names things.
    """
    if len(run) < 2 or field not in run.all_fields or limits is None:
        return None
    if importlib.util.find_spec("matplotlib") is None:
        print("  no heat map in the film: it needs the package matplotlib; pip install 'perfield[report]'")
        return None

    def draw(size: tuple[int, int], files: Sequence[Path]) -> None:
        from perfield.catalyst_scripts.palette import TEXT
        from perfield.plots import heat_map
        from perfield.plots.style import new_figure, step_numbers

        figure = new_figure((size[0] / 100, size[1] / 100))
        axes = heat_map(run, field, axes=figure.subplots(), limits=limits)
        axes.yaxis.get_major_locator().set_params(nbins=4)  # it is low
        numbers, _ = step_numbers(run, np.arange(len(run)))
        lines = [axes.axvline(0.0, color=colour, linewidth=width) for colour, width in (("w", 4), (TEXT, 2))]
        for step, file in zip(steps, files):
            for line in lines:
                line.set_xdata([numbers[step]] * 2)
            figure.savefig(file)

    return draw
