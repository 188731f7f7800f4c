# SPDX-License-Identifier: BSD-3-Clause
"""Makes a run directory of a trace, one rank after another, so that little is in memory at any time."""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePath
from typing import Any

from perfield import _bridge
from perfield.run.frame import NO_PROCESS
from perfield.run.new_run import NewRun, RankStream
from perfield.run.quantities import OF_RANK
from perfield.traces.definitions import Trace, TraceRank, read_definitions
from perfield.traces.errors import TraceError
from perfield.traces.events import events
from perfield.traces.files import FILE_CALLS, FILE_CLASS
from perfield.traces.replay import Replay
from perfield.traces.selection import RegionChoice
from perfield.traces.step import FIRST_COUNTER, Step

_MOST_CANDIDATES = 8


@dataclass(frozen=True)
class Imported:
    """A run that was made of a trace.

    path : its directory. n_steps : that some rank closed. n_events : that were read. seconds : it took.
    candidates : names of regions that could close steps, with how often rank 0 entered them, the one in
    which most time was spent first. notes : sentences on what is missing or was left out.
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
    """Makes a run directory of an OTF2 trace.

    anchor : its anchor file, traces.otf2. run_directory, step_region, regions : instead of what the
    configuration says. progress : told how many of how many events have been read.
    Raises TraceError if the trace cannot be read or has no such region, ValueError if the configuration is
    wrong, OSError if the run cannot be written.
    """
    began = time.monotonic()
    configuration = _configuration(run_directory, step_region, regions)
    trace = read_definitions(Path(anchor))
    choice = RegionChoice(
        trace, configuration["regions"], configuration["step_region"], configuration["max_regions"]
    )
    if configuration["step_region"] and not choice.step_regions:
        raise TraceError(_no_such_region(trace, configuration["step_region"]))
    with NewRun(Path(configuration["run_directory"])) as run:
        job = _Import(trace, choice, run, progress)
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
    """An import under way."""

    def __init__(self, trace: Trace, choice: RegionChoice, run: NewRun, progress: Callable[[int, int], None]):
        self.trace, self.choice, self.run, self.progress = trace, choice, run, progress
        self.n_events = self.n_steps = 0
        self.command: list[str] = []
        self.candidates: list[tuple[str, int]] = []
        self.notes: list[str] = []
        self._without_steps: list[int] = []
        self._without_events: list[int] = []

    def add(self, rank: TraceRank) -> None:
        """Replays a rank and writes its stream; what is damaged is told in `notes`."""
        replay = Replay(self.trace, rank.rank, self.choice)
        stream, damage = None, ""
        try:
            for step in replay.steps(self._events(rank)):
                stream = stream or self._begin(rank, replay)
                self._write(stream, replay, step)
        except TraceError as error:
            damage = str(error)
        if damage:
            self.notes.append(_damage(rank.rank, replay, damage))
        if not replay.n_events:
            self._without_events += [] if damage else [rank.rank]
            return
        stream = stream or self._begin(rank, replay)
        self._write(stream, replay, replay.end())
        stream.add("end", self._end(replay, "abort" if damage else "finalize"))
        stream.close()
        self.n_steps = max(self.n_steps, replay.n_steps)
        if not replay.n_steps:
            self._without_steps.append(rank.rank)
        if rank.rank == 0:
            self.command = [replay.program, *replay.arguments] if replay.program else []
            self.candidates = candidates(replay)

    def info(self, configuration: dict[str, Any]) -> dict[str, Any]:
        """What run.json says of the run, once all ranks are read."""
        ranks = self.trace.ranks
        if self.n_steps and self._without_steps:
            what = f"never leave '{self.choice.step_region}', so they have no steps"
            self.notes.append(_some(self._without_steps, len(ranks), what))
        if self._without_events:
            self.notes.append(
                _some(self._without_events, len(ranks), "have no events: they are missing in the run")
            )
        return {
            "host": ranks[0].host,
            "size": len(ranks),
            "command": self.command,
            "working_directory": "",
            "imported_from": str(self.trace.path.resolve()),
            "configuration": configuration,
        }

    def _events(self, rank: TraceRank) -> Iterator[list[tuple]]:
        for n_read, batch in events(self.trace.path, rank.locations):
            self.n_events += n_read
            yield batch
            self.progress(self.n_events, self.trace.n_events)

    def _begin(self, rank: TraceRank, replay: Replay) -> RankStream:
        boot_id = f"trace-{rank.node}"
        stream = self.run.stream(rank.host, boot_id, rank.rank)
        body = {"rank": rank.rank, "size": len(self.trace.ranks), "pid": 0, "pid_namespace": ""}
        body |= {"program": replay.program, "arguments": replay.arguments}
        body |= {"group": PurePath(replay.program).name, "host": rank.host, "host_long": rank.host}
        body |= {"boot_id": boot_id, "cpuset": "", "clock": "otf2", "realtime_ns": self.trace.clock.start_ns}
        body |= {"sources": self.trace.sources, "mpi": "", "perfield": _bridge.version, "sum_every": 1}
        stream.add("rank", body)
        for number, name in enumerate(self.trace.metrics.names, FIRST_COUNTER):
            self._define(stream, number, name, "region", "1", "sum")
        self._defined = set()
        return stream

    def _end(self, replay: Replay, reason: str) -> dict[str, Any]:
        end_ns = self.trace.clock.start_ns + self.trace.clock.ns(self.trace.clock.length)
        body = {"reason": reason, "steps": replay.n_steps, "sources": self.trace.sources, "hooks": {}}
        body |= {"faults": {}, "dropped_messages": 0, "dropped_regions": 0, "bytes_written": 0}
        return body | {"perfield_ns": 0, "perfield_bytes": 0, "realtime_ns": end_ns}

    def _write(self, stream: RankStream, replay: Replay, step: Step) -> None:
        for definition in replay.names.take_new():
            stream.add("region", definition, definition["id"])
        fixed = {"label": step.index, "time": float("nan"), "span": 1, "kind": step.kind}
        fixed |= {"flags": step.flags | NO_PROCESS, "begin_ns": step.begin_ns, "end_ns": step.end_ns}
        fixed |= {"realtime_ns": self.trace.clock.start_ns + step.end_ns, "measured_ns": step.measured_ns}
        fixed |= {"faults": step.faults, "overflowed": step.overflowed, "pu": -1}
        rows = [(region, what, 0, value) for region, what, _, value in step.inside] + _of_files(step)
        for number in sorted({row[1] for row in rows if row[1] < FIRST_COUNTER} - self._defined):
            self._defined.add(number)
            name, scope, unit, threads = _QUANTITIES[number]
            self._define(stream, number, name, scope, unit, threads)
        calls = [row for row in step.calls if row[1] != FILE_CLASS]
        stream.add_step(step.index, fixed, {**vars(step), "calls": calls, "quantities": rows})

    @staticmethod
    def _define(stream: RankStream, number: int, name: str, scope: str, unit: str, threads: str) -> None:
        body = {"id": number, "name": name, "unit": unit, "scope": scope}
        stream.add("quantity", body | {"over_steps": "sum", "over_threads": threads, "help": ""}, number)


_QUANTITIES = [(name, "region", "ns", "longest") for name in (*_bridge.mpi_time_names, _bridge.file_names[0])]
_QUANTITIES += [
    (name, "rank", unit, "sum") for name, unit in zip(_bridge.file_names, ("ns", "1", "1", "B", "B"))
]


def _of_files(step: Step) -> list[tuple]:
    """What a step read and wrote without MPI, as rows of the rank's quantities."""
    sums = dict.fromkeys(_bridge.file_names, 0)
    for call, kind, _, count, ns, n_out, n_in in step.calls:
        if kind != FILE_CLASS:
            continue
        reads = call in (FILE_CALLS["posix_read"], FILE_CALLS["stdio_read"])
        sums["file_time"] += ns
        sums["file_read_count" if reads else "file_write_count"] += count
        sums["file_read"] += n_in
        sums["file_write"] += n_out
    return [(OF_RANK, FILE_CLASS + 1 + n, 0, value) for n, value in enumerate(sums.values()) if value]


def candidates(replay: Replay) -> list[tuple[str, int]]:
    """Regions that a rank entered more than once, the one in which it spent most time first."""
    name_of = {number: name for name, number in replay.names.numbers.items()}
    found = [number for number, count in replay.entered.items() if count > 1 and number in name_of]
    found.sort(key=lambda number: -replay.spent[number])
    return [(name_of[number], replay.entered[number]) for number in found[:_MOST_CANDIDATES]]


def _configuration(run_directory, step_region, regions) -> dict[str, Any]:
    """The configuration in force here, with what was given instead; raises ValueError if it is wrong."""
    keys, errors = _bridge.load_config()
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
    """A sentence that names near names, and regions of the first rank that could close steps."""
    names = sorted({region.name for region in trace.regions.values() if region.is_code})
    near = difflib.get_close_matches(step_region, names, 3, 0.5)
    text = f"{trace.path} has no region '{step_region}', which is to close the steps."
    if near:
        text += f" Did you mean {' or '.join(near)}?"
    replay = Replay(trace, 0, RegionChoice(trace, ["*"], ""))
    try:
        batches = (batch for _, batch in events(trace.path, trace.ranks[0].locations))
        for _ in replay.steps(batches):
            pass
        replay.end()
    except TraceError:
        return text
    likely = ", ".join(f"{name} ({count} times)" for name, count in candidates(replay))
    return f"{text} Rank 0 enters more than once, longest first: {likely or 'no region'}."


def _some(ranks: list[int], n_ranks: int, what: str) -> str:
    shown = ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
    return f"{len(ranks)} of {n_ranks} ranks {what} (rank {shown})"


def _damage(rank: int, replay: Replay, reason: str) -> str:
    if not replay.n_events:
        return f"the events of rank {rank} cannot be read ({reason}): it is missing in the run."
    return (
        f"the events of rank {rank} break off after {replay.n_events} ({reason}): it has "
        f"{replay.n_steps} steps, and what follows is missing."
    )
