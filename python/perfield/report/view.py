# SPDX-License-Identifier: BSD-3-Clause
"""Where the browser view of `perfield serve` shows a finding: its step, its field and its rank."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from urllib.parse import urlencode

import numpy as np

from perfield.analysis.findings import Finding
from perfield.analysis.observed import Observed
from perfield.report.contents import Report
from perfield.serve import PORT

ADDRESS = f"http://localhost:{PORT}/"  # where `perfield serve` shows a run unless another port is given


@dataclass(frozen=True)
class View:
    """What the browser view shows first. frame : position of a frame in the run, from 0. field : its name.
    rank : of the world. None where the finding names none; the view then chooses."""

    frame: int | None = None
    field: str | None = None
    rank: int | None = None

    @property
    def address(self) -> str:
        """The address of the view: "http://localhost:8017/#frame=12&field=compute_time_s&rank=5"."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return f"{ADDRESS}#{urlencode(known)}"


def view_of(finding: Finding, report: Report) -> View | None:
    """Where to look at a finding; None if it names neither ranks nor a step nor a field.

    The frame is the step that the finding names; else, of its steps or of all, one in which the field is
    neither unusually high nor 0. The rank is the first of its ranks, or the sender of its first pair.
    """
    field = finding.picture.field if finding.picture.field in report.run.all_fields else None
    ranks = finding.ranks if len(finding.ranks) else finding.pairs[:1, 0]
    rank = int(ranks[0]) if len(ranks) else None
    if field is None and rank is None and finding.picture.step is None and not len(finding.steps):
        return None
    return View(_frame(finding, report, field), field, rank)


def command(report: Report) -> str:
    """The words that start the browser view of a run: "perfield serve perfield-run"."""
    return f"perfield serve {shlex.quote(str(report.run.path))}"


def _frame(finding: Finding, report: Report, field: str | None) -> int | None:
    """The position of the frame to look at; None if the run has none that was compared."""
    index = finding.picture.step
    if index is None:
        index = _typical(report.observed, field or "step_time_s", finding.steps)
    found = np.flatnonzero(report.run.step_indexes == index)
    return int(found[0]) if len(found) else None


def _typical(observed: Observed, field: str, steps: np.ndarray) -> int | None:
    """The step of middling height of a field among some steps (none: all), of those in which it is not 0."""
    among = np.isin(observed.index, steps) if len(steps) else np.ones(observed.n_steps, bool)
    values = observed.largest.get(field, observed.largest["step_time_s"])
    some = np.flatnonzero(among & (values > 0))
    some = some if len(some) else np.flatnonzero(among)
    order = some[np.argsort(values[some], kind="stable")]
    return int(observed.index[order[len(order) // 2]]) if len(order) else None
