# SPDX-License-Identifier: BSD-3-Clause
"""Calls a function of perfield in another process, whose memory and time are bounded by what it reads.

For libraries that end the process on damaged files, or take memory for as many numbers as a file claims,
however short it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from perfield.child_python import run_code
from perfield.text import in_bytes

MOST_UNPACKED = 1 << 30  # bytes of memory that reading any file may take,
LARGEST_RATIO = 50  # and more only at this rate to its size on the disk
SMALL = 10_000_000  # bytes of input, and the
SMALL_S, LARGE_S = 10, 300  # seconds of processor time to read such an input, or a larger one,
SLOWEST = 1_000_000  # and more only at these bytes per second
_MOST_SAID = 10_000  # bytes at the end of what the child prints
is_child = False  # this process is one
_NO_MEMORY = re.compile(
    r"bad_alloc|MemoryError|Unable to allocate|[Cc]annot allocate|virtual memory exhausted"
)
_CODE = """
import json, os, sys
given = json.load(sys.stdin)
sys.path[:] = [folder for folder in given["path"] if folder]
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
from perfield.bounded_child import answer
answer(answers, given)
"""


class ChildRaisedError(ValueError):
    """The function raised a ValueError, whose text this is."""


class ChildEndedError(ValueError):
    """The process did not return from the function; the text says why."""


def can_start() -> bool:
    """Whether a child can be started; not from within one."""
    return _python() is not None and not is_child


def in_child(
    function: str, arguments: list[Any], files: Iterable[int], wall_s: float | None = None
) -> Iterator[Any]:
    """Yields what a function yields in a child of this process. All these values are JSON's.

    function : "module:name". files : bytes on the disk of each file that the function reads, one after
    another. wall_s : the child is ended after so many seconds.
    Raises ChildRaisedError, ChildEndedError, OSError if the function did, and ImportError if the other Python
    lacks the function's module or what that needs.
    """
    sizes = list(files)
    memory, seconds = _bounds(sizes)
    given = {"path": sys.path, "function": function, "arguments": arguments, "bounds": [memory, seconds]}
    late = threading.Event()
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(
            run_code(_python() or "", _CODE),
            **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": said, "text": True},
        ) as child:
            timer = threading.Timer(wall_s or 0, lambda: (late.set(), child.kill()))
            if wall_s is not None:
                timer.start()
            try:
                with contextlib.suppress(BrokenPipeError), child.stdin:
                    json.dump(given, child.stdin)
                yield from _answers(child.stdout)
            except BaseException as error:
                child.kill()
                if isinstance(error, ChildRaisedError) and _NO_MEMORY.search(str(error)):
                    raise ChildEndedError(_too_much(memory, sum(sizes))) from None
                raise
            finally:
                timer.cancel()
        if late.is_set():
            raise ChildEndedError(f"reading it takes more than {wall_s:.0f} s")
        if child.returncode:
            raise ChildEndedError(_why(child.returncode, said, memory, seconds, sum(sizes)))


def answer(answers: IO[str], given: dict[str, Any]) -> None:
    """Calls the function in the child. answers : where its parent reads. given : what `in_child` wrote."""
    global is_child

    def say(*words: Any) -> None:
        print(json.dumps(words), file=answers, flush=True)

    module, _, name = given["function"].partition(":")
    try:
        function = getattr(import_module(module), name)
    except ImportError as error:
        say("missing", str(error))
        return
    is_child = True
    memory, seconds = given["bounds"]
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _bound(resource.RLIMIT_AS, used + memory)
    _bound(resource.RLIMIT_CPU, int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2])) + 1 + seconds, later=5)
    _bound(resource.RLIMIT_CORE, 0)
    try:
        for value in function(*given["arguments"]):
            say("value", value)
    except (OSError, ValueError) as error:
        say("failed" if isinstance(error, OSError) else "raised", str(error) or type(error).__name__)


def _bound(kind: int, most: int, later: int = 0) -> None:
    """Lowers a limit to `most`, and what it may be raised to again to `later` above that."""
    hard = resource.getrlimit(kind)[1]
    most, last = (
        wanted if hard == resource.RLIM_INFINITY else min(wanted, hard) for wanted in (most, most + later)
    )
    resource.setrlimit(kind, (most, last))


def _bounds(sizes: list[int]) -> tuple[int, int]:
    """Bytes of memory, by the largest of the files, and seconds of processor time for all of them."""
    stored = sum(sizes)
    seconds = SMALL_S if stored < SMALL else max(LARGE_S, stored // SLOWEST)
    return max(MOST_UNPACKED, LARGEST_RATIO * max(sizes, default=0)), seconds


def _answers(lines: IO[str]) -> Iterator[Any]:
    for line in lines:
        if not line.endswith("\n"):  # the child ended within it
            return
        kind, value = json.loads(line)
        if kind == "value":
            yield value
        else:
            raise {"missing": ImportError, "failed": OSError, "raised": ChildRaisedError}[kind](value)


def _why(code: int, said: IO[bytes], memory: int, seconds: int, stored: int) -> str:
    """Why the child ended with this code."""
    if code == -signal.SIGXCPU:
        return f"reading it takes more than {seconds} s of processor time {_for(stored)}"
    if code == -signal.SIGKILL:
        return "the process that read it was killed; perhaps this machine had no memory left"
    said.seek(max(said.seek(0, os.SEEK_END) - _MOST_SAID, 0))
    text = said.read().decode(errors="replace")
    if _NO_MEMORY.search(text):
        return _too_much(memory, stored)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "its library ended the process that read it"


def _too_much(memory: int, stored: int) -> str:
    return f"reading it takes more than {in_bytes(memory)} of memory {_for(stored)}"


def _for(stored: int) -> str:
    return f"for the {in_bytes(stored)} that its files take on the disk"


def _python() -> str | None:
    """A Python to start; ParaView's own program names one that does not exist."""
    if Path(sys.executable or "").name.startswith("python") and Path(sys.executable).is_file():
        return sys.executable
    return shutil.which("python3")
