# SPDX-License-Identifier: BSD-3-Clause
"""The images that `perfield render --images` draws first: the costliest finding, and where the time goes."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfield.text import printable

if TYPE_CHECKING:
    from perfield.analysis.steps import StepKinds
    from perfield.derived.run import Run

COMPUTING, SCHEDULER = "compute_time_s", "run_delay_time_s"
MOVES = "imbalance that moves"
SLOWER = "steps get slower"


@dataclass(frozen=True)
class Shown:
    """What the first images show.

    field : on mesh and machine. step : index of the step that a finding names; None: none does. moves :
    whether the slowest rank changes, so that a mean would hide it. words : the finding; "": there is none.
    alike : whether it is the same on all ranks, so that the heat map answers, and mesh and machine do not.
    """

    field: str = COMPUTING
    step: int | None = None
    moves: bool = False
    words: str = ""
    alike: bool = False

    def frame(self, indexes: np.ndarray, kinds: StepKinds) -> int | None:
        """The position of the frame to look at, a typical one where nothing was found; None for the mean of
        all steps. indexes : of all frames."""
        at = np.flatnonzero(indexes == self.step)
        if self.step is not None and len(at):
            return int(at[0])
        if not self.words:
            return kinds.typical
        return kinds.slowest if self.moves else None


def shown_first(run: Run, known: Collection[str]) -> Shown:
    """What the costliest finding shows that names a time in `known`; else compute time.

    Time without a PU is passed over: the machine's picture reports ranks that share PUs in words.
    """
    from perfield.report.contents import costliest

    findings = costliest(run) if len(run) else ()
    for finding in findings:
        field = finding.picture.field
        if field.endswith("_time_s") and field != SCHEDULER and field in known:
            alike = finding.kind == SLOWER and not len(finding.ranks)
            return Shown(field, finding.picture.step, finding.kind == MOVES, finding.words, alike)
    return Shown()


def first_plots(
    run: Run, names: Collection[str], notes: list[str], field: str = COMPUTING
) -> dict[str, Callable[[Path], None]]:
    """What draws each plot into a file, by name; a plot that cannot be drawn adds a note, and has no file.

    field : of the heat map.
    """
    if importlib.util.find_spec("matplotlib") is None:
        notes.append("no plots: they need the package matplotlib; pip install 'perfield[report]'")
        return {}
    options = {"heat_map": {"field": field}}
    return {name: partial(_draw, run, name, notes, options.get(name, {})) for name in names}


def _draw(run: Run, name: str, notes: list[str], options: dict[str, str], place: Path) -> None:
    from perfield.plots.figures import FIGURES
    from perfield.plots.style import PlotError, new_figure

    figure = new_figure()
    try:
        FIGURES[name](run, None, figure, **options)
    except PlotError as error:
        notes.append(f"no plot {name}: {printable(str(error))}")
        return
    figure.savefig(place)
