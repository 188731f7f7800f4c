# SPDX-License-Identifier: BSD-3-Clause
"""Creates the run directory of an import; docs/stream.md describes the layout. The directory grows under
a temporary name beside the wanted one and is renamed when it is complete. So nobody ever sees half a run,
and an import that fails leaves nothing behind.
"""

from __future__ import annotations

import errno
import json
import re
import secrets
import shutil
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any

from perfield import _bridge

_MOST_NAMES = 10_000


class NewRun:
    """A run directory in the making, as a context manager. If an exception leaves it, the directory is
    removed. Raises OSError if it cannot be written.
    """

    def __init__(self, wanted: Path, run_id: int = 0):
        """wanted : the directory's name; if that is taken, it becomes NAME-2, NAME-3, ... run_id : of a run
        that another process began; 0: a new one."""
        self.run_id = run_id or secrets.randbits(63) + 1
        self._wanted = wanted
        self._path = wanted.parent / f".perfield-{self.run_id:016x}"

    def make(self) -> None:
        """Makes the directory."""
        self._wanted.parent.mkdir(parents=True, exist_ok=True)
        self._path.mkdir()
        for room in ("stream", "mesh", "machine"):
            (self._path / room).mkdir()

    def __enter__(self) -> NewRun:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        shutil.rmtree(self._path, ignore_errors=True)

    def stream(self, host: str, boot_id: str) -> Path:
        """The stream file of a host. Its ranks append their entries one rank after another."""
        stem = re.sub(r"[^\w.-]", "_", f"{host or 'host'}-{boot_id}")
        return self._path / "stream" / f"{stem}.pf"

    def finish(self, info: Mapping[str, Any], start_ns: int) -> Path:
        """Writes run.json and renames the directory to its final name; returns that.

        info : further keys of run.json, beside the run's id, start (CLOCK_REALTIME) and perfield's
        version.
        """
        seconds, rest = divmod(start_ns, 1_000_000_000)
        start = f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
        own = {"run_id": f"{self.run_id:016x}", "token": "", "perfield": _bridge.version}
        own |= {"start": start, "start_ns": start_ns}
        text = json.dumps({**own, **info}, indent=2)
        with (self._path / "run.json").open("x", encoding="utf-8") as file:  # follows no link
            file.write(text + "\n")
        for number in range(1, _MOST_NAMES + 1):
            path = self._wanted if number == 1 else self._wanted.with_name(f"{self._wanted.name}-{number}")
            if path.exists() or path.is_symlink():
                continue
            try:
                return self._path.rename(path)
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                    raise  # otherwise another run has just taken that name
        raise OSError(
            f"{self._wanted} and {_MOST_NAMES} names behind it are taken; remove old runs, or give another "
            "name."
        )
