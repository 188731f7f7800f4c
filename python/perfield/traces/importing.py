# SPDX-License-Identifier: BSD-3-Clause
"""Makes a run directory from a trace, one rank after another, to need little memory."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from perfield import _bridge
from perfield.text import did_you_mean, first_of, start
from perfield.traces.definitions import Trace, TraceRank, read_definitions
from perfield.traces.errors import TraceError
from perfield.traces.events import read_events
from perfield.traces.new_run import NewRun
from perfield.traces.selection import RegionChoice

_MOST_CANDIDATES = 8


@dataclass(frozen=True)
class Imported:
    """A run made from a trace.

    path : its directory. n_steps : the most that one rank closed. n_events : events read. seconds : duration
    of the import. candidates : regions that could close steps, as (name, times that rank 0 entered it), the
    longest first. notes : sentences on what is missing or left out.
    """

    path: Path
    n_ranks: int
    n_steps: int
    n_events: int
    seconds: float
    candidates: list[tuple[str, int]]
    notes: list[str]


def import_trace(
    anchor: str | PathLike[str],
    run_directory: str | PathLike[str] | None = None,
    *,
    step_region: str | None = None,
    regions: Iterable[str] | None = None,
    progress: Callable[[int, int], None] = lambda read, all_events: None,
) -> Imported:
    """Makes a run directory from an OTF2 trace.

    anchor : its anchor file, traces.otf2. run_directory, step_region, regions : override the configuration.
    progress : called with (events read, all events).
    Raises TraceError if the trace cannot be read or has no region step_region, ValueError if the
    configuration is wrong, OSError if the run cannot be written.
    """
    began = time.monotonic()
    configuration = _configuration(run_directory, step_region, regions)
    trace = read_definitions(Path(anchor))
    choice = RegionChoice(trace, configuration["regions"], configuration["step_region"])
    if configuration["step_region"] and not choice.step_regions:
        raise TraceError(_no_such_region(trace, configuration["step_region"]))
    with NewRun(Path(configuration["run_directory"])) as run:
        limits = {key: configuration[key] for key in ("max_regions", "max_peers", "messages")}
        job = _Import(trace, choice.tables(**limits), configuration["step_region"], run, progress)
        for rank in trace.ranks:
            job.add(rank)
        if not job.n_events:
            raise TraceError(f"no event of {trace.path} can be read. {' '.join(job.notes)}".rstrip())
        path = run.finish(job.info(configuration), trace.clock.start_ns)
    seconds = time.monotonic() - began
    return Imported(
        path, len(trace.ranks), job.n_steps, job.n_events, seconds, job.candidates, trace.notes + job.notes
    )


class _Import:
    """One import in progress."""

    def __init__(
        self, trace: Trace, tables: Any, step_region: str, run: NewRun, progress: Callable[[int, int], None]
    ):
        self.trace, self.tables, self.step_region = trace, tables, step_region
        self.run, self.progress = run, progress
        self.n_events = self.n_steps = 0
        self.command: list[str] = []
        self.candidates: list[tuple[str, int]] = []
        self.notes: list[str] = []
        self._without_steps: list[int] = []
        self._without_events: list[int] = []

    def add(self, rank: TraceRank) -> None:
        """Replays a rank and writes its stream; `notes` gets a sentence if its events are damaged."""
        follower = self._follower(rank)
        damage = ""
        try:
            for n_read in read_events(self.trace.path, rank.locations, follower):
                self.n_events += n_read
                follower.check_writing()
                self.progress(self.n_events, self.trace.n_events)
        except TraceError as error:
            damage = str(error)
            self.notes.append(_damage(rank.rank, follower, damage))
        if not follower.n_events:
            self._without_events += [] if damage else [rank.rank]
            return
        follower.end("abort" if damage else "finalize")
        self.n_steps = max(self.n_steps, follower.n_steps)
        if not follower.n_steps:
            self._without_steps.append(rank.rank)
        if rank.rank == 0:
            self.command = [follower.program, *follower.arguments] if follower.program else []
            self.candidates = follower.candidates(_MOST_CANDIDATES)

    def info(self, configuration: dict[str, Any]) -> dict[str, Any]:
        """The contents of run.json, once all ranks are read."""
        ranks = self.trace.ranks
        if self.n_steps and self._without_steps:
            what = f"never leave '{self.step_region}', so they have no steps"
            self.notes.append(_some(self._without_steps, len(ranks), what))
        if self._without_events:
            self.notes.append(
                _some(self._without_events, len(ranks), "have no events and are missing in the run")
            )
        return {
            "host": ranks[0].host,
            "size": len(ranks),
            "command": self.command,
            "working_directory": "",
            "imported_from": str(self.trace.path.resolve()),
            "configuration": configuration,
        }

    def _follower(self, rank: TraceRank) -> Any:
        boot_id = f"trace-{rank.node}"
        return _bridge.Follower(
            self.tables,
            path=str(self.run.stream(rank.host, boot_id)),
            run_id=self.run.run_id,
            rank=rank.rank,
            size=len(self.trace.ranks),
            host=rank.host,
            boot_id=boot_id,
            first_location=rank.locations[0] if rank.locations else 0,
        )


def _configuration(run_directory, step_region, regions) -> dict[str, Any]:
    """The configuration in force here, overridden by the arguments; raises ValueError if it is wrong."""
    keys, errors, _ = _bridge.load_config()
    if errors:
        raise ValueError(" ".join(errors))
    values = {key["key"]: json.loads(key["value"]) for key in keys}
    given: dict[str, Any] = {
        "run_directory": run_directory and str(run_directory),
        "step_region": step_region,
    }
    given["regions"] = None if regions is None else list(regions)
    return values | {key: value for key, value in given.items() if value is not None}


def _no_such_region(trace: Trace, step_region: str) -> str:
    """An error text with similar names, and with regions of the first rank that could close steps."""
    names = sorted({region.name for region in trace.regions.values() if region.is_code})
    meant = start(did_you_mean(step_region, names))
    text = f"{trace.path} has no region '{step_region}', which should close the steps. {meant}".rstrip()
    follower = _bridge.Follower(RegionChoice(trace, ["*"], "").tables())
    try:
        for _ in read_events(trace.path, trace.ranks[0].locations, follower):
            pass
        follower.end("finalize")
    except TraceError:
        return text
    likely = ", ".join(f"{name} ({count} times)" for name, count in follower.candidates(_MOST_CANDIDATES))
    return f"{text} Rank 0 enters more than once, longest first: {likely or 'no region'}."


def _some(ranks: list[int], n_ranks: int, what: str) -> str:
    shown = first_of(ranks)
    return f"{len(ranks)} of {n_ranks} ranks {what} (rank {shown})"


def _damage(rank: int, follower: Any, reason: str) -> str:
    if not follower.n_events:
        return f"the events of rank {rank} cannot be read ({reason}): it is missing in the run."
    return (
        f"the events of rank {rank} break off after {follower.n_events} ({reason}): it has "
        f"{follower.n_steps} steps, and what follows is missing."
    )
