# SPDX-License-Identifier: BSD-3-Clause
"""Replays a trace into the streams of a run, one rank after another, to need little memory."""

from __future__ import annotations

from collections.abc import Iterator
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
_MOST_REASONS = 3


def replayed(anchor: str, wanted: str, run_id: int, configuration: dict[str, Any]) -> Iterator[Any]:
    """Replays a trace into the run of this id. All values are JSON's, as the caller may be another process.

    Yields (events read, all events) after each part, and at last a dict of what `Imported` and run.json need.
    Raises as `import_trace`.
    """
    trace = read_definitions(Path(anchor))
    choice = RegionChoice(trace, configuration["regions"], configuration["step_region"])
    if configuration["step_region"] and not choice.step_regions:
        raise TraceError(_no_such_region(trace, configuration["step_region"]))
    run = NewRun(Path(wanted), run_id)
    run.make()
    limits = {key: configuration[key] for key in ("max_regions", "max_peers", "messages")}
    replay = _Replay(trace, choice.tables(**limits), configuration["step_region"], run)
    for rank in trace.ranks:
        for n_read in replay.add(rank):
            yield n_read, trace.n_events
    if not replay.n_events:
        reasons = " ".join(replay.notes[:_MOST_REASONS])
        raise TraceError(f"no event of {trace.path} can be read. {reasons}".rstrip())
    yield {
        "info": replay.info(configuration),
        "start_ns": trace.clock.start_ns,
        "n_ranks": len(trace.ranks),
        "n_steps": replay.n_steps,
        "n_events": replay.n_events,
        "candidates": replay.candidates,
        "notes": trace.notes + replay.notes,
    }


class _Replay:
    """A replay in progress."""

    def __init__(self, trace: Trace, tables: Any, step_region: str, run: NewRun):
        self.trace, self.tables, self.step_region, self.run = trace, tables, step_region, run
        self.n_events = self.n_steps = 0
        self.command: list[str] = []
        self.candidates: list[tuple[str, int]] = []
        self.notes: list[str] = []
        self._without_steps: list[int] = []
        self._without_events: list[int] = []

    def add(self, rank: TraceRank) -> Iterator[int]:
        """Replays a rank and writes its stream; `notes` gets a sentence if its events are damaged.

        Yields the events of all ranks that are read so far.
        """
        follower = self._follower(rank)
        damage = ""
        try:
            for n_read in read_events(self.trace.path, rank.locations, follower):
                self.n_events += n_read
                follower.check_writing()
                yield self.n_events
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
