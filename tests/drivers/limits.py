# SPDX-License-Identifier: BSD-3-Clause
"""Calls a function in a child process that may take little more memory than this process has."""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

MEMORY = 1 << 30
"""Bytes of address space that the child may add, unless given."""


def in_little_memory(function: Callable[..., Any], *arguments: Any, memory: int = MEMORY) -> Any:
    """The function's result, or the exception that it raised, from a child that is limited to `memory`."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_call, args=(theirs, memory, function, arguments))
    child.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        return RuntimeError(f"the child ended without a result, code {child.exitcode}")
    finally:
        child.join()


def _call(to, memory: int, function, arguments) -> None:
    most = memory + int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        result = function(*arguments)
    except Exception as error:
        result = error
    to.send(result)
