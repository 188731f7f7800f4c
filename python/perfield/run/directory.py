# SPDX-License-Identifier: BSD-3-Clause
"""Reads the run.json of a run directory, and explains why a directory is not a run."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from perfield.catalyst_scripts.safe_open import UnsafeFileError, safe_read
from perfield.run.errors import RunError
from perfield.run.json_text import parse_json
from perfield.run.schema import checked
from perfield.run.streams import Streams
from perfield.text import in_list, printable

MOST_BYTES = 1 << 24  # of run.json, which holds a command line and the settings


def read_info(path: Path) -> tuple[dict, list[str]]:
    """The run.json of a run directory, and a sentence on each field that is left out.

    Raises RunError with the reason if there is none.
    """
    advice = "give the directory that perfield made, by default perfield-run."
    if not path.exists():
        raise RunError(f"{path} does not exist; {advice}")
    if not path.is_dir():
        raise RunError(f"{path} is a file, not a run directory; {advice}")
    file = path / "run.json"
    if not os.path.lexists(file):
        found = ", ".join(sorted(entry.name for entry in path.iterdir())[:5]) or "nothing"
        raise RunError(f"{path} is not a run directory: it has no run.json (it holds {found}); {advice}")
    try:
        info = parse_json(safe_read(file, path, MOST_BYTES).decode("utf-8", "replace"))
    except UnsafeFileError as error:
        raise RunError(str(error)) from error
    except (OSError, ValueError) as error:
        raise RunError(
            f"{file} cannot be read ({error}); a run directory has a run.json of JSON text."
        ) from error
    if not isinstance(info, dict):
        raise RunError(f"{file} holds no JSON object; a run directory has one that names the run's id.")
    values, wrong = checked("run.json", info)
    return values, [f"run.json {one}; it is left out." for one in wrong]


def run_id_of(info: dict, path: Path) -> int:
    """Run id of a run.json."""
    try:
        number = int(info["run_id"], 16)
        if not 0 <= number < 1 << 64:
            raise ValueError("it has more than 64 bits")
        return number
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(
            f"{path / 'run.json'} names no run id (found {info.get('run_id')!r}, expected 16 hexadecimal "
            "digits); it was not written by this version of perfield."
        ) from error


def folder_of_indexes(path: Path, run_id: int) -> Path:
    """Where the indexes of a run's streams are kept: in the run, if it is this user's, else in a cache.

    Nothing is written into the run of somebody else, nor behind a link in a run. A cache that cannot be made
    is missing, and then nothing is kept.
    """
    own = path / "analysis"
    with contextlib.suppress(OSError):
        if path.stat().st_uid == os.geteuid() and not own.is_symlink():
            return own
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    place = hashlib.blake2b(os.fsencode(path.resolve()), digest_size=8).hexdigest()
    cache = Path(home, "perfield", f"{run_id:016x}-{place}")
    with contextlib.suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    return cache


def staged(path: Path) -> str:
    """A sentence on the streams of a run that still lie on its nodes; "" if there are none."""
    places: dict[str, list[str]] = {}
    for note in sorted((path / "stream").glob(".staged-*")):
        try:
            place = parse_json(safe_read(note, path, MOST_BYTES).decode("utf-8", "replace"))
            places.setdefault(printable(str(place["host"])), []).append(printable(str(place["directory"])))
        except (OSError, ValueError, KeyError, TypeError):
            continue  # collected just now, or being written
    if not places:
        return ""
    hosts = list(places)
    shown = in_list(hosts, 5)
    n_streams = sum(map(len, places.values()))
    streams = "1 stream is" if n_streams == 1 else f"{n_streams} streams are"
    return (
        f"{streams} still staged on host{'s' if len(hosts) > 1 else ''} {shown} (in "
        f"{places[hosts[0]][0]}); the last rank there collects them. If ranks were killed, call on each of "
        f"these hosts: perfield setup collect {path}"
    )


def why_empty(path: Path, info: dict, streams: Streams) -> str:
    """A sentence on why no rank of a run is known."""
    if streams.refused:
        return " ".join(streams.refused)
    damage = streams.damage(running=False)
    if any("another version" in sentence for sentence in damage):
        version = info.get("perfield", "of another version")
        return f"{path} was written by perfield {version}; look at it with that version."
    if waiting := staged(path):
        return f"{path} holds no `rank` entry yet: {waiting}"
    if not streams.paths:
        return (
            f"{path} has a run.json but no stream: no rank has checked in. Either the run has just started, "
            "or the program called neither MPI_Init nor perfield_initialize, or its ranks could not measure; "
            "its standard error then says why."
        )
    return (
        f"{path} holds no `rank` entry, so no rank is known. {' '.join(damage) or 'The streams are empty.'}"
    )


def expect(file: Path) -> None:
    """Raises RunError if a file of a run is gone."""
    if not file.exists():
        raise RunError(
            f"{file} is no longer there, but was when the run was opened; bring it back, or open the run "
            "again to see what is left of it."
        )
