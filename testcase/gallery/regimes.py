# SPDX-License-Identifier: BSD-3-Clause
"""The gallery's pages on regimes: timings of a shared machine, and methods that hide communication.

The numbers R.1 to R.13 are those of the figures of Heldman, Rudi, Bessac, "Statistical Treatment of Variable
MPI Latencies and MPI-Communication Hiding for Matrix-Free Finite Element Operators", ICS '25. Each image says
whether a model made it, or whether it was measured.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pages import Page, Panel
from runs import METHODS, STUDIES

if TYPE_CHECKING:
    import xarray as xr

    from perfield.studies.regimes.model import Model

PRESET, N_MATVECS, N_REPEATS, COMBINED = "often-congested", 4096, 5, 3
MOST_IN_MAP = 600  # MatVecs, so that a cell is one
REGIMES = 3  # as in the paper; the longest times have two there, here made of three
WORDS = {"fixed": "fixed alpha", "dynamic": "dynamic alpha", "test": "MPI test"}
SOURCE = (
    "*Model* is the discrete-event model of `perfield.studies.hiding.model`: 64 ranks, with latencies and a "
    "congestion that are drawn, preset `often-congested`. *Measured* is testcase/poisson, two ranks on "
    "this machine, whose messages pass through shared memory; nothing is injected. The paper used "
    "thousands of cores, so compare shapes, not numbers. A MatVec is a product of the matrix with a "
    "vector; alpha is the share of a rank's inner elements that it computes before it waits for input. "
    "One fit to all methods together gives the regimes, so that their shares compare: three as in the "
    "paper, or fewer where the times carry no more. Of the longest times, the two regimes that are most "
    "alike count as one. Other programs may have used the machine, too."
)
CG, GMG = "poisson-cg", "poisson-gmg"


def model(name: str, words: str) -> Panel:
    """An image of the model."""
    return Panel("", "regimes", (name,), f"Model: {words}")


def measured(name: str, words: str, run: str = CG) -> Panel:
    """An image of the solver's record."""
    return Panel(run, "regimes", (name,), f"Measured: {words}")


PAGES = (
    Page(
        "R.1",
        "Times of ranks and steps, and their regimes",
        "A column is a slow phase that all ranks met; a spot is one of a single rank. Below, their regimes.",
        (model("heat maps", "fixed alpha"), measured("heat maps", "fixed alpha, CG")),
    ),
    Page(
        "R.2",
        "Median times of ranks",
        "Dynamic alpha and MPI test lie left of fixed alpha: most of their ranks are faster.",
        (model("densities", "three methods"),),
    ),
    Page(
        "R.3",
        "What a rank does in a MatVec",
        "Fixed alpha waits for the output; the others give the second half more elements, and wait less.",
        (model("timelines", "the same MatVec of each method"), measured("timelines", "CG")),
    ),
    Page(
        "R.4",
        "The splitting parameter",
        "Output takes longer than input, so that alpha moves below 1/2.",
        (
            model("splitting", "CG"),
            measured("splitting", "CG"),
            measured("splitting", "CG with multigrid, finest level", GMG),
        ),
    ),
    Page(
        "R.5",
        "Waits, and how alpha follows them",
        "Waits above eps are blue. Alpha moves until those for input and for output are rare.",
        (model("waits", "dynamic alpha"), measured("waits", "dynamic alpha, CG")),
    ),
    Page(
        "R.6",
        "Times of a rank in their regimes",
        "Colours are levels of time. In the model fixed alpha waits in most MatVecs, in the middle "
        "regime. Congestion makes all methods slow.",
        (
            model("series", "the rank in the middle"),
            measured("series", "CG"),
            measured("series", "CG with multigrid, finest level", GMG),
        ),
    ),
    Page(
        "R.7",
        "Both halves of a MatVec",
        "On the dashed curve T_in + T_out is computing alone: all waits are hidden. Above it, some are not.",
        (
            model("in and out", "three methods"),
            measured("in and out", "CG"),
            measured("in and out", "CG with multigrid, finest level", GMG),
        ),
    ),
    Page(
        "R.8",
        "Both halves of a MatVec in each regime",
        "Fast: waits are hidden. Middle: some are not, mostly those of fixed alpha. Slow: congestion.",
        (model("by regime", "three methods"), measured("by regime", "CG")),
    ),
    Page(
        "R.9",
        "Distributions of the ranks",
        "A curve nearer to the upper left corner belongs to a faster method.",
        (model("distributions", "three methods"),),
    ),
    Page(
        "R.10",
        "Distributions of the ranks in each regime",
        "In each regime ranks differ little, as the paper shows for multigrid. Fixed alpha is never fast.",
        (model("distributions by regime", "three methods"),),
    ),
    Page(
        "R.11",
        "Sums of the fastest steps, three runs combined",
        "Time saved is largest while the steps are fast. Long steps at the end cover it.",
        (
            model("sums of repeats", f"the {COMBINED} fastest of {N_REPEATS} runs of each method"),
            model("boxes", "their longest times in two regimes"),
        ),
    ),
    Page(
        "R.12",
        "The longest time of all ranks, step by step",
        "Blue is the fast regime of two. Triangles are steps beyond the axis.",
        (model("longest", "three methods"), measured("longest", "CG")),
    ),
    Page(
        "R.13",
        "Sums of the fastest steps, raw and in the fast regime",
        "The right end of all steps is the luck of a run; steps of the fast regime compare the methods.",
        (model("sums", "one run of each method"), measured("sums", "CG, one run of each method")),
    ),
)


def draw(panel: Panel, run_path: Path | None, target: Path) -> None:
    """Draws an image into its file."""
    DRAWN[panel.fields[0]](run_path).savefig(target)


def ending(panel: Panel) -> str:
    """Of the image's file."""
    return "png"


def note(page: Page) -> str:
    """A sentence on where the numbers of a page come from."""
    return SOURCE


@functools.cache
def studies(run_path: Path | None, seed: int = 0) -> dict[str, xr.Dataset]:
    """Classified MatVecs by method: of the model, or as the solver recorded them, on the finest level."""
    from perfield.studies.hiding.matvecs import finest, read_study
    from perfield.studies.hiding.model.presets import preset

    if run_path is not None:
        return _classified({WORDS[name]: finest(read_study(run_path / name)) for name in METHODS}, REGIMES)
    found = preset(PRESET).run(N_MATVECS, seed=seed)
    return _classified({WORDS[name]: found.sel(splitting=name, drop=True) for name in METHODS}, REGIMES)


@functools.cache
def longest(run_path: Path | None) -> dict[str, xr.Dataset]:
    """The longest time of all ranks in each step by method, in two regimes."""
    from perfield.studies.regimes.model import largest

    found = studies(run_path)
    series = _in_two({name: largest(study) for name, study in found.items()})
    return {name: times.assign_attrs(source=found[name].attrs["source"]) for name, times in series.items()}


@functools.cache
def repeated() -> dict[str, xr.Dataset]:
    """The fastest runs of the model by method, one after the other, in two regimes."""
    from perfield.studies.hiding.model.presets import preset
    from perfield.studies.regimes.model import largest
    from perfield.studies.regimes.model.cumulative import combined, fastest

    runs = [preset(PRESET).run(N_MATVECS, seed=seed) for seed in range(N_REPEATS)]
    found = {}
    for name in METHODS:
        series = [largest(run.sel(splitting=name, drop=True)) for run in runs]
        joined = combined([series[one] for one in fastest(series, COMBINED)])
        found[WORDS[name]] = joined.assign_attrs({"source": "model"})
    return _in_two(found)


def _classified(named: dict[str, xr.Dataset], n_regimes: int) -> dict[str, xr.Dataset]:
    """The same with `regime` and `probability` of one fit to all, so that a time has one name in all."""
    from perfield.studies.regimes.model import fit_pooled

    return _by(fit_pooled(list(named.values()), n_regimes).model, named)


def _in_two(named: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """The same in two regimes: of three that are fitted to all, the two whose times are alike are one.

    With two alone, the fit divides the fast times of the methods and leaves congestion in either.
    """
    from dataclasses import replace

    import numpy as np

    from perfield.studies.regimes.model import fit_pooled

    model = fit_pooled(list(named.values()), REGIMES).model
    if model.n_regimes == REGIMES:
        level = [model.location[model.regime == number].mean() for number in range(REGIMES)]
        nearest = int(np.argmin(np.diff(level)))
        model = replace(model, regime=model.regime - (model.regime > nearest))
    return _by(model, named)


def _by(model: Model, named: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """The same with `regime` and `probability` by a model."""
    from perfield.studies.regimes.model import PROBABILITY, REGIME, classify

    done = {}
    for name, study in named.items():
        found = classify(study, model)
        attributes = {**study.attrs, "model": found.attrs["model"]}
        regimes = {each: found[each] for each in (REGIME, PROBABILITY)}
        done[name] = study.assign(regimes).assign_attrs(attributes)
    return done


def _of(name: str, first_of: str = "") -> Callable[[Path | None], Any]:
    """Draws all methods by a function of `perfield.studies.regimes.plots`, or one of them."""

    def drawn(run_path: Path | None) -> Any:
        from perfield.studies.regimes import plots as regimes

        found = studies(run_path)
        return getattr(regimes, name)(found[first_of] if first_of else found)

    return drawn


def _of_longest(name: str) -> Callable[[Path | None], Any]:
    def drawn(run_path: Path | None) -> Any:
        from perfield.studies.regimes import plots as regimes

        return getattr(regimes, name)(longest(run_path))

    return drawn


def _on_axes(
    name: str, found: Callable[[Path | None], dict[str, xr.Dataset]]
) -> Callable[[Path | None], Any]:
    def drawn(run_path: Path | None) -> Any:
        from perfield.plots.style import new_figure
        from perfield.studies.regimes import plots as regimes

        figure = new_figure((11.0, 6.0))
        getattr(regimes, name)(found(run_path), figure.subplots())
        return figure

    return drawn


def _heat_maps(run_path: Path | None) -> Any:
    from perfield.studies.regimes import plots as regimes

    return regimes.heat_maps(studies(run_path)[WORDS["fixed"]].isel(step=slice(None, MOST_IN_MAP)))


def _sums_of_repeats(run_path: Path | None) -> Any:
    from perfield.studies.regimes import plots as regimes

    return regimes.cumulative(repeated())


def _by_regime(run_path: Path | None) -> Any:
    from perfield.studies.regimes import plots as regimes

    return regimes.cdfs(studies(run_path), by_regime=True)


DRAWN: dict[str, Callable[[Path | None], Any]] = {
    "heat maps": _heat_maps,
    "densities": _on_axes("densities", studies),
    "timelines": _of("timelines"),
    "splitting": _on_axes("splitting", studies),
    "waits": _of("waits_and_splitting", WORDS["dynamic"]),
    "series": _of("series"),
    "in and out": _of("in_and_out"),
    "by regime": _of("in_and_out_by_regime"),
    "distributions": _of("cdfs"),
    "distributions by regime": _by_regime,
    "sums of repeats": _sums_of_repeats,
    "boxes": _on_axes("boxes", lambda _: repeated()),
    "longest": _of_longest("series"),
    "sums": _of_longest("cumulative"),
}
assert all(panel.run in ("", *STUDIES) for page in PAGES for panel in page.panels)
