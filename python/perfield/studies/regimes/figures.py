# SPDX-License-Identifier: BSD-3-Clause
"""What `perfield plot` draws of regimes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perfield.derived.run import Run
    from perfield.plots.style import Steps


def regimes(run: Run, steps: Steps, figure: Figure, field: str = "") -> None:
    """When and where the machine was slow: times of ranks and steps, their regimes, and what slow steps
    cost."""
    from perfield.studies.regimes.plots import of_run

    of_run(run, steps, figure, field or None)


def regimes_spread(run: Run, steps: Steps, figure: Figure, field: str = "") -> None:
    """How times spread in each regime: medians, boxes, distributions of ranks."""
    from perfield.studies.regimes.plots import spread_of_run

    spread_of_run(run, steps, figure, field or None)
