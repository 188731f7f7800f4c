# SPDX-License-Identifier: BSD-3-Clause
"""Makes a run directory from a trace. A process of its own reads the trace, within bounds of memory and time:
the library otf2 can be ended by a damaged trace, or made to take gigabytes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from perfield import _bridge
from perfield.bounded_child import ChildEndedError, ChildRaisedError, can_start, in_child
from perfield.catalyst_scripts.safe_open import why_unsafe
from perfield.traces.definitions import EXPECTED, check_anchor
from perfield.traces.errors import TraceError
from perfield.traces.new_run import NewRun
from perfield.traces.replaying import replayed


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
    path, wanted = Path(anchor), configuration["run_directory"]
    stored = _stored(path)
    found: dict[str, Any] = {}
    with NewRun(Path(wanted)) as run:
        for value in _replayed(stored, path, [str(path), wanted, run.run_id, configuration]):
            if isinstance(value, dict):
                found = value
            else:
                progress(*value)
        made = run.finish(found.pop("info"), found.pop("start_ns"))
    candidates = [(name, count) for name, count in found.pop("candidates")]
    return Imported(made, seconds=time.monotonic() - began, candidates=candidates, **found)


def _replayed(stored: int, path: Path, arguments: list[Any]) -> Iterator[Any]:
    """What `replayed` yields; in this process where none can be started that finds perfield."""
    if can_start():
        try:
            yield from in_child("perfield.traces.replaying:replayed", arguments, [stored])
            return
        except ChildRaisedError as error:
            raise TraceError(str(error)) from None
        except ChildEndedError as error:
            raise TraceError(f"{path} cannot be imported: {error}. {EXPECTED}") from None
        except ImportError:
            pass
    yield from replayed(*arguments)


def _stored(anchor: Path) -> int:
    """Bytes on the disk of a trace. Raises TraceError if the anchor file is none, or if the trace holds a
    pipe or a device, which the library would wait for."""
    check_anchor(anchor)
    paths, folder = [anchor, anchor.with_suffix(".def")], anchor.with_suffix("")
    if folder.is_dir():
        with os.scandir(folder) as entries:
            paths += [folder / entry.name for entry in entries]
    if words := next(filter(None, (why_unsafe(path, None) for path in paths)), ""):
        raise TraceError(f"{anchor} cannot be imported: {words}")
    return sum(512 * path.stat().st_blocks for path in paths if path.exists())


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
