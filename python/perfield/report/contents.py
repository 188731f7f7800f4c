# SPDX-License-Identifier: BSD-3-Clause
"""What a report says, as numbers, before it becomes a page, text or JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from typing import Any

import numpy as np

from perfield import _bridge, extras
from perfield.analysis.findings import Answer, Finding, answers, needs, ranked
from perfield.analysis.observed import Observed
from perfield.analysis.waits import PathSums
from perfield.derived import tables
from perfield.derived.critical_path import path_sums
from perfield.derived.injected import sentence
from perfield.derived.matching import program
from perfield.derived.observe import observe
from perfield.derived.region_sums import RegionSums
from perfield.derived.run import Run
from perfield.report import of_observed
from perfield.report.mesh_neighbours import mesh_neighbours, with_cells
from perfield.report.of_observed import Efficiency, FileUse, HeavyPair, SlowStep, Traffic
from perfield.studies import given, loaded
from perfield.text import in_percent, in_seconds, start
from perfield.topology import Placement, placement_of

FIELDS = ("compute_time_s", "waiting_time_s", "mpi_time_s", "io_time_s", "perfield_time_s")
MPI_FIELDS = tuple(f"mpi_{kind}_time_s" for kind in ("p2p", "wait", "collective", "onesided", "io", "other"))
MOSTLY = 0.5  # of the run must be steps; else a note says what the rest is
FILE_FIELDS = ("io_read_bytes", "io_write_bytes", "io_read_count", "io_write_count")


@dataclass(frozen=True)
class HostUse:
    """A host of the run. machine : in words, "" if unknown. switch : that it is attached to, "" if unknown.
    ranks : int64, those that ran there."""

    host: str
    machine: str
    switch: str
    ranks: np.ndarray


@dataclass(frozen=True)
class RunPart:
    """A part of the run. name : "setup", "steps" or "teardown". time_s : mean of the ranks. share : of the
    run. who_waits : ranks that wait for half of it or more, in words; "" where none does, or nobody knows."""

    name: str
    time_s: float
    share: float
    who_waits: str


@dataclass(frozen=True)
class Setting:
    """A setting in force. value, default : as text; default is "" where this perfield does not know it."""

    key: str
    value: str
    default: str


@dataclass(frozen=True)
class Report:
    """A run's report.

    run : it is about. observed : what was read of it. answers : to each question. findings : the one that
    costs most first. placement : of the ranks. region_sums : of the regions, over the newest frames.
    lines : of the summary, what each is called and its text. parts : setup, steps and teardown, with the
    numbers of the summary; empty where the run has no steps. without_neighbours : why nobody knows which
    pieces of the mesh touch; "" if they are known, or if there is no mesh. mesh : its place and its array of
    ranks, where the user named them.
    """

    run: Run
    observed: Observed
    answers: tuple[Answer, ...]
    findings: tuple[Finding, ...]
    placement: Placement
    region_sums: RegionSums
    lines: tuple[tuple[str, str], ...]
    parts: tuple[RunPart, ...] = ()
    without_neighbours: str = ""
    mesh: tuple[str | None, str | None] = (None, None)

    @property
    def program(self) -> str:
        """Name of the program or script, without its folder; "a program" if the run does not say."""
        return program(self.run.info) or "a program"

    @property
    def command(self) -> tuple[str, ...]:
        """The program and its words."""
        return tuple(self.run.info.get("command", ()))

    @property
    def state(self) -> str:
        """ "finished", "running" or another state of `Run`."""
        return self.run.state

    @property
    def start(self) -> datetime | None:
        """When the run began, UTC; None if unknown."""
        try:
            return datetime.fromtimestamp(self.run.info["start_ns"] / 1e9, timezone.utc)
        except (KeyError, ValueError, OverflowError):  # absent, or no year of the calendar
            return None

    @property
    def elapsed_s(self) -> float:
        """How long the steps took, in s."""
        return self.observed.elapsed_s

    @property
    def is_whole(self) -> bool:
        """Whether the program closed no step, so that one frame covers the whole run."""
        return self.run.is_whole

    @property
    def n_left_out(self) -> int:
        """How many frames were left out; `notes` says why."""
        return self.observed.n_left_out + self.observed.n_uneven

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that limit what the report says: injected latencies, damage, an unfinished run, ..."""
        injected = sentence(self.run.info.get("injected"))
        note = (
            f"{injected[:1].upper()}{injected[1:]}. All times contain them; they are not the machine's own."
        )
        notes = of_observed.notes(self.run, self.observed, dict(self.lines))
        return (
            *([note] if injected else []),
            *self._outside,
            *notes,
            *filter(None, [self.without_neighbours]),
        )

    @property
    def _outside(self) -> list[str]:
        """That most of the run lies outside the steps, where it does."""
        if not self.parts or self.parts[1].share >= MOSTLY:
            return []
        setup, steps, teardown = self.parts
        outside = [
            f"{part.name} takes {in_seconds(part.time_s)} ({in_percent(part.share)})"
            + (f", and {part.who_waits}" if part.who_waits else "")
            for part in (setup, teardown)
            if part.time_s > 0
        ]
        of_run = in_percent(steps.share)
        return [f"Findings are about the steps, which take {of_run} of the run. {start('; '.join(outside))}."]

    @property
    def answers_without_findings(self) -> tuple[Answer, ...]:
        """Answers to questions that were asked and have no finding: no, or not proven."""
        return tuple(a for a in self.answers if a.sight is not None)

    @property
    def questions_not_asked(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Questions that could not be asked, each with the fields that the run lacks."""
        return tuple((a.question, a.missing) for a in self.answers if a.missing)

    @property
    def packages_missing(self) -> dict[str, list[str]]:
        """Python packages that are not installed, each with the questions that could not be asked for it."""
        found: dict[str, list[str]] = {}
        for answer in self.answers:
            if answer.package:
                found.setdefault(answer.package, []).append(answer.question)
        return found

    @property
    def hosts(self) -> tuple[HostUse, ...]:
        """The hosts of the run and their ranks."""
        of_node = self.placement.node_id
        names = self.placement.switches.name
        switch = np.append(self.placement.switches.of_node, -1)
        found = []
        for number, node in enumerate(self.placement.nodes):
            attached = names[switch[number]] if switch[number] >= 0 else ""
            ranks = np.flatnonzero(of_node == number)
            found.append(HostUse(node.label, of_observed.machine_in_words(node.machine), attached, ranks))
        return tuple(found)

    @cached_property
    def efficiency(self) -> Efficiency:
        """Parallel efficiency and its factors."""
        return of_observed.efficiency(self.observed)

    @cached_property
    def path(self) -> PathSums:
        """Whose work decides how long logged steps take, what balance would gain, and why."""
        return path_sums(self.run, np.arange(len(self.run)))

    @property
    def imbalance(self) -> float:
        """Compute time of the slowest rank over the mean, the sums over steps of both; NaN if unknown."""
        return of_observed.imbalance(self.observed)

    @property
    def shares(self) -> dict[str, float]:
        """Shares of the time of all ranks in steps: "computing", "waiting for a PU", "waiting",
        "other MPI", "files", "other"."""
        return of_observed.shares(self.observed)

    @cached_property
    def regions(self) -> tuple[dict[str, Any], ...]:
        """Rows of `perfield.derived.tables.regions`, the region whose balancing would save most first."""
        return tuple(tables.regions(self.run, self.region_sums))

    @cached_property
    def studied(self) -> dict[str, Any]:
        """By place of a study's part of the report, what this reads of the run; None where it has nothing, or
        needs a package that is not installed."""
        return {place: self._studied(place) for place in given("REPORT").values()}

    def _studied(self, place: str) -> Any:
        try:
            return loaded(place).read(self.run)
        except ModuleNotFoundError as error:
            if not extras.missing(error):
                raise
            return None

    @cached_property
    def slowest_steps(self) -> tuple[SlowStep, ...]:
        """At most ten steps, the slowest first."""
        return of_observed.slowest_steps(self.observed)

    @cached_property
    def traffic(self) -> Traffic:
        """Messages and bytes, inside nodes and between them."""
        return of_observed.traffic(self.observed, self.placement)

    @cached_property
    def heaviest_pairs(self) -> tuple[HeavyPair, ...]:
        """At most ten pairs of ranks, that with most bytes first."""
        return of_observed.heaviest_pairs(self.observed, self.placement)

    @cached_property
    def files(self) -> tuple[FileUse, ...]:
        """Each rank that used files, that with most bytes first."""
        return of_observed.files(self.observed)

    @cached_property
    def places(self) -> tuple[dict[str, str], ...]:
        """Rows that say where ranks sat (`perfield.topology.places`); ranks that sit alike share one."""
        return tuple(of_observed.joined_places(self.placement))

    @property
    def settings(self) -> tuple[Setting, ...]:
        """All settings in force while the run was measured."""
        defaults = {row["key"]: row["default"] for row in _bridge.load_config()[0]}
        return tuple(
            Setting(key, of_observed.setting_text(value), defaults.get(key, ""))
            for key, value in self.run.info.get("configuration", {}).items()
        )


def costliest(run: Run) -> tuple[Finding, ...]:
    """The findings of a run, the one that costs most first, without the rest of its report."""
    observed, _ = _read(run, needs())
    return tuple(ranked(answers(observed)))


def _read(run: Run, names: Sequence[str], *mesh: str | None) -> tuple[Observed, str]:
    """Fields of the run with its mesh, and why nobody knows which pieces of that touch."""
    touching, without_neighbours = mesh_neighbours(run, *mesh)
    observed = with_cells(observe(run, names), run, *mesh)
    if touching is not None:
        observed = replace(observed, neighbours=touching.pairs, boxes=touching.boxes)
    return observed, without_neighbours


def report(
    run: Run,
    mesh: str | None = None,
    rank_array: str | None = None,
    attributes: Mapping[str, np.ndarray] | None = None,
) -> Report:
    """Reads the run and asks all questions. mesh, rank_array : as for `perfield.pictures.choose_pieces`.
    attributes : of ranks, as `read_attributes` returns them."""
    run = run.snapshot()  # the same for all sections, also while the program writes on
    fields = [*needs(), *FIELDS, *MPI_FIELDS, *FILE_FIELDS]
    observed, without_neighbours = _read(run, fields, mesh, rank_array)
    observed = replace(observed, attributes=attributes or {})
    answered = tuple(answers(observed))
    newest = np.searchsorted(run.step_indexes, observed.index)[-tables.MOST_FRAMES :]
    summary, parts = _bridge.summary(os.fsencode(run.path))
    lines = [line.partition(" ") for line in summary]
    return Report(
        run,
        observed,
        answered,
        tuple(ranked(answered)),
        placement_of(run) if observed.placement is None else observed.placement,
        RegionSums(run, newest),
        tuple((name, text.strip()) for name, _, text in lines if name != "next"),
        tuple(RunPart(*part) for part in parts),
        without_neighbours,
        (mesh, rank_array),
    )
