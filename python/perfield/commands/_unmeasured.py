# SPDX-License-Identifier: BSD-3-Clause
"""Finds ranks that run without perfield, by looking at the processes below the launcher (Linux)."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
FIRST_S = 3.0  # so long each look follows the one before soon, as short programs end
SOON_S, LATEST_S = 0.1, 10.0  # between two looks
AT_SECURE = 23  # of getauxval(3)


@dataclass(frozen=True)
class Unmeasured:
    """A process that has loaded MPI but no library of perfield.

    program : the path of its file. preload : perfield's libraries in its LD_PRELOAD. variables : whether its
    environment has PERFIELD_RUN. missing : the first of `preload` that its file system lacks, "" if none.
    secure : whether it has other rights than its user's.
    """

    pid: int
    program: str
    preload: tuple[str, ...] = ()
    variables: bool = False
    missing: str = ""
    secure: bool = False

    def why(self, command: str) -> str:
        """What its environment says, as a sentence with a remedy. command : what the launcher started."""
        what = f"{self.program} (process {self.pid}) has loaded MPI but not perfield"
        itself = Path(command).name == Path(self.program).name
        who = "it started itself again" if itself else f"{command} or a program that it starts"
        keep = f"keep LD_PRELOAD and the variables PERFIELD_* {'there' if itself else 'in it'}"
        if self.missing:
            return (
                f"{what}: its LD_PRELOAD names {self.missing}, which does not exist where it runs; make that "
                "folder visible in its container"
            )
        if self.secure:
            return (
                f"{what}: it has other rights than its user (set-user-id), so the loader ignores LD_PRELOAD; "
                "measure a copy without these rights"
            )
        if self.preload:
            return f"{what}, although its LD_PRELOAD names {self.preload[0]}; the loader's message says why"
        lost = "LD_PRELOAD" if self.variables else "LD_PRELOAD and the variables PERFIELD_*"
        removed = f"without {lost}" if itself else f"removes {lost} from its environment"
        if self.variables:
            return f"{what}: {who} {removed}; {keep}"
        return (
            f"{what}: {who} {removed}, as `env -i` and `sudo` do; {keep}, or put perfield-exec into it, "
            "right before the program, and start it by the launcher alone"
        )


class Watch:
    """Looks for a rank without perfield below a process, ever more rarely, until a rank has checked in.

    checked_in : whether one has. A program with perfield may still start itself again without it, until then.
    """

    def __init__(self, checked_in: Callable[[], bool]) -> None:
        self.found: Unmeasured | None = None
        self._checked_in = checked_in
        self._pause = SOON_S
        self._looked_s = 0.0

    def __call__(self, launcher: int) -> float | None:
        """Looks once. Returns the seconds until the next look, None if nothing is left to find."""
        for pid in _below(launcher):
            measured = _is_measured(pid)
            if measured is False and (found := _described(pid)):
                self.found = found
                return None
            if measured:
                if self._checked_in():
                    return None
                break
        self._looked_s += self._pause
        if self._looked_s > FIRST_S:
            self._pause = min(1.5 * self._pause, LATEST_S)
        return self._pause


def _below(pid: int) -> Iterator[int]:
    """A process and those that it has started, and so on. Empty lists where the kernel does not keep them."""
    yield pid
    try:
        lists = list((PROC / str(pid)).glob("task/*/children"))
    except OSError:  # the process ended meanwhile
        return
    for children in lists:
        for child in _read(children).split():
            yield from _below(int(child))


def _is_measured(pid: int) -> bool | None:
    """Whether a process has loaded a library of perfield; None if it has loaded no MPI."""
    names = {
        line.rpartition(b"/")[2] for line in _read(PROC / str(pid) / "maps").splitlines() if b"/" in line
    }
    if not any(name.startswith((b"libmpi.so", b"libmpich.so", b"libmpi_")) for name in names):
        return None
    return any(name.startswith(b"libperfield") for name in names)


def _described(pid: int) -> Unmeasured | None:
    """None if the process has ended, or belongs to another user."""
    variables = _read(PROC / str(pid) / "environ").split(b"\0")
    try:
        program = str((PROC / str(pid) / "exe").readlink())
    except OSError:
        return None
    lists = [os.fsdecode(word[11:]) for word in variables if word.startswith(b"LD_PRELOAD=")]
    ours = [name for words in lists for name in re.split("[ :]", words) if "libperfield" in name]
    root = PROC / str(pid) / "root"
    missing = [name for name in ours if name[:1] == "/" and not Path(f"{root}{name}").exists()]
    return Unmeasured(
        pid,
        program,
        tuple(ours),
        any(word.startswith(b"PERFIELD_RUN=") for word in variables),
        missing[0] if missing and root.is_dir() else "",
        _is_secure(_read(PROC / str(pid) / "auxv")),
    )


def _is_secure(auxiliary: bytes) -> bool:
    """Whether the kernel makes the loader trust no variable. auxiliary : pairs of native longs."""
    numbers = array("L", auxiliary[: len(auxiliary) // 16 * 16])
    return dict(zip(numbers[::2], numbers[1::2])).get(AT_SECURE, 0) != 0


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended
        return b""
