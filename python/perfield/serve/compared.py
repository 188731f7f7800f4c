# SPDX-License-Identifier: BSD-3-Clause
"""What `perfield compare` says of two parts that the page shows side by side: of one run, or of two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from perfield.analysis.comparing import Measured, compare
from perfield.derived.comparing import measured
from perfield.derived.matching import differences
from perfield.run.errors import RunError
from perfield.serve.followed import View

Span = tuple[int, int]
MOST_NOTES = 4
WHOLE = "One of the runs closed no steps and the other did, so no step can be compared."
UNEVEN = "Ranks may have done different things in these steps, so whether the change is chance is not tested."


def compared(view: View, before: Span, after: Span) -> dict[str, Any]:
    """{"words": what changed, and whether by chance, "notes": [sentences], "field", "ranks"}; ranks : those
    whose values of this field changed by more than chance.

    before : frames of the run beside this one, or of this one where there is none. after : frames of this
    run. Each is the first frame, and the one behind the last.
    """
    other = view if view.other is None else view.other.view()
    said: dict[str, Any] = {"field": "compute_time_s", "ranks": [], "notes": []}
    if other.run.is_whole != view.run.is_whole:
        return {**said, "words": WHOLE}
    names = _names(other, view)
    try:
        sides = [
            _side(one, span, name, view.other is None)
            for one, span, name in zip((other, view), (before, after), names)
        ]
    except RunError as error:
        return {**said, "words": f"{error}."}
    if not all(side.chosen.any() for side in sides):
        return {**said, "words": UNEVEN}
    if view.other is None and np.array_equal(sides[0].chosen, sides[1].chosen):
        return {**said, "words": "These are the same steps."}
    found = compare(*sides)
    notes = list(differences(other.run, view.run, names)) if view.other is not None else []
    return {
        **said,
        "words": found.verdict,
        "notes": notes[:MOST_NOTES],
        "ranks": sorted(one.rank for one in found.ranks),
    }


def _names(other: View, view: View) -> list[str]:
    """The names of both runs in sentences."""
    paths = [Path(one.run.path).resolve() for one in (other, view)]
    names = [path.name for path in paths]
    return names if names[0] != names[1] else [f"{path.parent.name}/{path.name}" for path in paths]


def _side(view: View, span: Span, name: str, is_one_run: bool) -> Measured:
    whole: Measured = view.answers.get(("measured", view.version), lambda: measured(view.run, name))
    begin, end = span
    labels = view.frames["step"]
    one = f"step {labels[begin]}" if end - begin == 1 else f"steps {labels[begin]} to {labels[end - 1]}"
    return whole.of(one if is_one_run else name, np.arange(begin, end))
