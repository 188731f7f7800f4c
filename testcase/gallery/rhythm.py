# SPDX-License-Identifier: BSD-3-Clause
"""The gallery's pages on rhythm: the figures of a model of coupled oscillators, and measured programs.

The numbers O.1 to O.9 are those of the figures of Afzal, Hager, Wellein, "Exploring metrics for analyzing
dynamic behavior in MPI programs via a coupled-oscillator model"; its Figure 3 is a sketch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pages import Page, Panel
from runs import RHYTHMS

SOURCE = (
    "The paper gives neither steepness nor coupling of its figures; the preset says what stands for them. "
    "Its pictures are of other numbers, so compare shapes."
)
MEASURED = (
    "18 ranks as in the paper; each step is a timed sleep, since 18 ranks share the cores of this machine. "
    "Short waits between the sleeps are those of ranks that resume late. The model starts where the phases "
    "spread most within a twentieth of the time. Its wave is slower than the measured one: its coupling is "
    "divided by P, and a steep tanh pulls no harder over ten periods than over one."
)
FILM_FRAMES = 60


def drawn(name: str, words: str, run: str = "") -> Panel:
    """An image that `DRAWN` makes; of a run, if one is named."""
    return Panel(run, "rhythm", (name,), words)


def of_preset(name: str, number: str, title: str, see: str) -> Page:
    """A page of the paper's page-sized figures: (b) to (i), and a film."""
    panels = (drawn(name, "the panels of the figure"), drawn(f"{name} film", "the phase circle as a film"))
    return Page(number, title, see, panels)


def of_program(number: str, run: str, title: str, see: str) -> Page:
    """A page of a measured program."""
    panels = (
        drawn("run", "measured", run),
        drawn("run and model", "measured, and what the model makes of the same start", run),
        drawn("run film", "the phase circle as a film", run),
    )
    return Page(number, title, see, panels)


PAGES = (
    Page(
        "O.1",
        "The Mexican hat",
        "A pair repels when it is close, and stays at the distance of the minima; along the ring it is free.",
        (drawn("mexican hat", "energy of a pair"),),
    ),
    Page(
        "O.2",
        "Potentials",
        "Left all pull towards zero; right close neighbours repel one another, and stay at the dots.",
        (drawn("potentials", "potentials of the two kinds of programs"),),
    ),
    Page(
        "O.4",
        "Communication topologies as matrices",
        "Both neighbours are two diagonals, the previous one alone is one diagonal.",
        (drawn("matrices", "the chains of the figures"),),
    ),
    of_preset(
        "figure_5",
        "O.5",
        "A delay on a one-directional chain",
        "R dips before it rises. All end where the first oscillator is: the delay is kept.",
    ),
    of_preset(
        "figure_6",
        "O.6",
        "A delay on a bidirectional chain",
        "R recovers in about half the time of O.5, with beta = 2. All meet at the mean: the delay is lost.",
    ),
    of_preset(
        "figure_7",
        "O.7",
        "A delay among noise",
        "As O.5; noise keeps the oscillators a little apart at the end, and does not hasten them.",
    ),
    Page(
        "O.8",
        "Sweeps",
        "More noise, earlier recovery: the mean of this noise is not zero. Then sigma, then topology.",
        (
            drawn("noise", "over the size of the noise (Figure 8)"),
            drawn("sigma", "over the width of the repulsion"),
            drawn("topology", "over the communication topology"),
        ),
    ),
    of_preset(
        "figure_9",
        "O.9",
        "A program with a bottleneck",
        "Neighbours end 2 sigma / 3 apart, to one side and the other: a locked zigzag, without drift.",
    ),
    of_preset(
        "wavefront",
        "O.9w",
        "Not in the paper: a computational wavefront",
        "From a linear start each oscillator ends 2 sigma / 3 ahead of the one before: a spiral of phases.",
    ),
    of_program(
        "O.pisolver",
        "rhythm-pisolver",
        "PISOLVER: computes only, sends to the next rank",
        "The delay of rank 5 runs through the higher ranks, one rank per step; lower ranks do not notice.",
    ),
    of_program(
        "O.stream-triad",
        "rhythm-stream-triad",
        "STREAM Triad: sends to both neighbours",
        "The delay of rank 5 runs both ways and leaves at both ends.",
    ),
    of_program(
        "O.schoenauer-triad",
        "rhythm-schoenauer-triad",
        "Slow Schoenauer Triad: both neighbours, among noise",
        "The wave of waiting gets shorter as it runs: noise absorbs a part of it.",
    ),
    of_program(
        "O.jacobi",
        "rhythm-jacobi",
        "Jacobi, five points: a ring",
        "The two halves of the wave meet on the other side of the ring, and end there.",
    ),
    of_program(
        "O.gauss-seidel",
        "rhythm-gauss-seidel",
        "Gauss-Seidel: each rank needs the one before",
        "Ranks form a pipeline; the delay runs down the chain only.",
    ),
)


def draw(panel: Panel, run_path: Path | None, target: Path) -> None:
    """Draws an image into its file."""
    DRAWN[panel.fields[0]](target, run_path)


def ending(panel: Panel) -> str:
    """Of the image's file."""
    return "gif" if panel.layer == "rhythm" and panel.fields[0].endswith("film") else "png"


def note(page: Page) -> str:
    """A sentence on where the numbers of a page come from."""
    return MEASURED if page.panels[0].run else SOURCE


def _preset(name: str) -> Callable[[Path, Any], None]:
    def saved(target: Path, _: Path | None) -> None:
        from perfield.studies.oscillators.model.presets import preset
        from perfield.studies.rhythm import plots as rhythm

        of = preset(name)
        at = {"figure_5": 50.0, "figure_6": 20.0, "figure_7": 50.0}.get(name)
        rhythm.page(of.run(), potential=of.model.potential, at=at, words=of.title).savefig(target)

    return saved


def _preset_film(name: str) -> Callable[[Path, Any], None]:
    def saved(target: Path, _: Path | None) -> None:
        from perfield.studies.oscillators.model.presets import preset
        from perfield.studies.rhythm import plots as rhythm

        rhythm.film(preset(name).run(), target, frames=FILM_FRAMES)

    return saved


def _theory(name: str) -> Callable[[Path, Any], None]:
    def saved(target: Path, _: Path | None) -> None:
        from perfield.studies.oscillators import plots

        getattr(plots, name)().savefig(target)

    return saved


def _noise(target: Path, _: Path | None) -> None:
    from perfield.studies.oscillators.model.presets import FIGURE_8_SIZES, figure_8
    from perfield.studies.rhythm import plots as rhythm

    results = {f"noise of {100 * size:g} %": figure_8(size).run() for size in FIGURE_8_SIZES}
    rhythm.sweep(results, "Order parameter over noise", figure_8().about).savefig(target)


def _sigma(target: Path, _: Path | None) -> None:
    from perfield.studies.oscillators.model.potentials import PiecewiseSine
    from perfield.studies.oscillators.model.presets import preset
    from perfield.studies.rhythm import plots as rhythm

    of = preset("figure_9")
    results = {}
    for sigma in (0.5, 1.0, 1.5, 2.0, 3.0):
        changed = replace(of, model=replace(of.model, potential=PiecewiseSine(sigma)))
        results[rf"$\sigma$ = {sigma:g}"] = changed.run()
    more = "piecewise sine, one-directional chain of 18: neighbours end 2 sigma / 3 apart"
    rhythm.sweep(results, "Order parameter over sigma", more).savefig(target)


def _topology(target: Path, _: Path | None) -> None:
    from perfield.studies.oscillators.model.presets import preset
    from perfield.studies.oscillators.model.topologies import all_to_all, chain, compact, ring
    from perfield.studies.rhythm import plots as rhythm

    of = preset("figure_5")
    topologies = {
        "chain, one-directional": chain(18),
        "chain, both directions": chain(18, bidirectional=True),
        "ring, one-directional": ring(18),
        "ring, both directions": ring(18, bidirectional=True),
        "two neighbours on each side": compact(18, 2, bidirectional=True),
        "all to all": all_to_all(18),
    }
    results = {
        words: replace(of, model=replace(of.model, topology=edges)).run()
        for words, edges in topologies.items()
    }
    more = "tanh(18 x), equal coupling of each edge"
    rhythm.sweep(results, "Order parameter over the communication topology", more).savefig(target)


def _run(target: Path, run_path: Path | None) -> None:
    import perfield
    from perfield.studies.rhythm import plots as rhythm

    words = run_path.parent.name.removeprefix("rhythm-")
    rhythm.of_run(perfield.open(run_path), words=words).savefig(target)


def _run_and_model(target: Path, run_path: Path | None) -> None:
    import perfield
    from perfield.studies.oscillators import plots

    plots.run_and_model(perfield.open(run_path)).savefig(target)


def _run_film(target: Path, run_path: Path | None) -> None:
    import perfield
    from perfield.studies.rhythm import plots as rhythm

    phases, _ = rhythm.measured(perfield.open(run_path))
    rhythm.film(phases, target, frames=FILM_FRAMES)


PRESETS = ("figure_5", "figure_6", "figure_7", "figure_9", "wavefront")
DRAWN: dict[str, Callable[[Path, Any], None]] = {
    **{name: _preset(name) for name in PRESETS},
    **{f"{name} film": _preset_film(name) for name in PRESETS},
    **{name: _theory(name.replace(" ", "_")) for name in ("mexican hat", "potentials", "matrices")},
    "noise": _noise,
    "sigma": _sigma,
    "topology": _topology,
    "run": _run,
    "run and model": _run_and_model,
    "run film": _run_film,
}
assert all(panel.run in ("", *RHYTHMS) for page in PAGES for panel in page.panels)
