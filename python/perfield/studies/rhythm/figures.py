# SPDX-License-Identifier: BSD-3-Clause
"""What `perfield plot` and the report draw of rhythm."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perfield.derived.run import Run
    from perfield.plots.style import Steps
    from perfield.report.charts import Image
    from perfield.report.contents import Report


def rhythm(run: Run, steps: Steps, figure: Figure, *, order: str | None = None) -> None:
    """Whether ranks march in step: phases over time, and their metrics. order : as for `plots.page`."""
    from perfield.studies.rhythm.plots import of_run

    of_run(run, steps, figure, order=order)


def circle(run: Run, steps: Steps, kind: str = "circle") -> Callable[..., Path]:
    """What makes a film of phases on a circle, of a path and of frame, order and frames as `plots.film`."""
    from perfield.studies.rhythm.plots import film, measured

    return partial(film, measured(run, steps)[0], kind=kind)


def matrix(run: Run, steps: Steps) -> Callable[..., Path]:
    """A film of the differences of all pairs of ranks; as `circle`."""
    return circle(run, steps, "matrix")


def lag_image(report: Report) -> Image:
    """How far ranks are behind the foremost one, for the report."""
    from perfield.report.charts import image, page_figure
    from perfield.studies.rhythm.plots.phase_lag import phase_lag

    figure = page_figure(4.6)
    phase_lag(report.run, report.observed.index, figure.subplots())
    return image(
        figure,
        "phase_lag",
        (("phase_lag", ""),),
        "Heat map of phases: a row for each rank, over time, coloured by how many steps it is behind the "
        "foremost one.",
        "In a wavefront the colour changes evenly from rank to rank, and stays so.",
    )
