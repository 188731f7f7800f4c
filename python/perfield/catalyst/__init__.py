# SPDX-License-Identifier: BSD-3-Clause
"""Pictures inside the measured program: the Python adaptor between perfield and ParaView Catalyst.

libperfield_catalyst.so calls it on every rank: `start`, then `show` for each step, then `finish`. No
exception leaves these functions. After an error they print one sentence, all ranks end the pictures together,
and the program runs on.
"""

from __future__ import annotations

import atexit
import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

from perfield.catalyst.conditions import check_mpi, mpi_is_running

_adaptor: Any = None
_warn: Callable[[str, str], None] | None = None


def start(settings: str, warn: Callable[[str, str], None], finish: Callable[[], None] | None) -> bool:
    """Prepares the pictures. Collective.

    settings : JSON object: run, rank, size, mpi, sources, focus (the ranks in focus_ranks that the run has),
    mesh_path, and the configuration's keys that begin with `catalyst_`, without it. warn : prints a sentence
    on a topic. finish : only in a Python program; runs when Python ends. Returns whether steps can be shown;
    if not, prints why.
    """
    global _warn
    _warn = warn
    return _without_exceptions(lambda: _prepare(json.loads(settings), warn, finish))


def show(*step: Any) -> bool:
    """Shows a step; see `perfield.catalyst.adaptor.Adaptor.show` for the arguments. Collective.

    Returns False once the pictures have ended.
    """
    return _without_exceptions(lambda: _adaptor.show(*step))


def finish() -> None:
    """Ends the pictures; must run before MPI ends. Collective."""
    global _adaptor
    if _adaptor is not None:
        _without_exceptions(_adaptor.finish)
    _adaptor = None


def _prepare(
    settings: dict[str, Any], warn: Callable[[str, str], None], finish: Callable[[], None] | None
) -> None:
    global _adaptor
    check_mpi(settings["mpi"])
    settings["ends_mpi"] = finish is None and not mpi_is_running(settings["mpi"])
    from perfield.catalyst.adaptor import Adaptor  # loads mpi4py, and with it an MPI

    _adaptor = Adaptor(settings, warn)
    if finish is not None:
        atexit.register(finish)


def _without_exceptions(action: Callable[[], None]) -> bool:
    global _adaptor
    try:
        action()
        return True
    except BaseException as error:  # not even SystemExit may end the simulation
        _adaptor = None
        if not getattr(error, "is_known", False):
            traceback.print_exc()
        words = str(error).strip().rstrip(".") or type(error).__name__
        if _warn is not None:
            _warn(
                "catalyst",
                f"the pictures in the program end here: {words}. The program runs on, and "
                "`perfield render` makes pictures later",
            )
        return False
    finally:
        for stream in (sys.stdout, sys.stderr):  # an embedded Python never flushes them
            if stream is not None:
                stream.flush()
