# SPDX-License-Identifier: BSD-3-Clause
"""Pictures inside the measured program: the Python adaptor between perfield and ParaView Catalyst.

Called by libperfield_catalyst.so in every rank, in turn `start`, `show` for each step, and `finish`. None of
them lets an exception out: what goes wrong is told in a sentence, and the program runs on. All ranks end the
pictures together.
"""

from __future__ import annotations

import atexit
import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

_adaptor: Any = None
_tell: Callable[[str, str], None] | None = None


def start(settings: str, tell: Callable[[str, str], None], finish: Callable[[], None] | None) -> bool:
    """Prepares the pictures. Collective.

    settings : JSON object: run, rank, size, mpi, sources, and the keys of the configuration without
    their `catalyst_`. tell : says a sentence on a topic. finish : to be called when Python ends, in a program
    that is Python's. Returns whether steps can be shown; if not, why was told.
    """
    global _tell
    _tell = tell
    return _without_exceptions(lambda: _prepare(json.loads(settings), tell, finish))


def show(*step: Any) -> bool:
    """Shows a step; see `perfield.catalyst.adaptor.Adaptor.show` for the arguments. Collective.

    Returns False when the pictures have ended.
    """
    return _without_exceptions(lambda: _adaptor.show(*step))


def finish() -> None:
    """Ends the pictures, before MPI does. Collective."""
    global _adaptor
    if _adaptor is not None:
        _without_exceptions(_adaptor.finish)
    _adaptor = None


def _prepare(
    settings: dict[str, Any], tell: Callable[[str, str], None], finish: Callable[[], None] | None
) -> None:
    global _adaptor
    from perfield.catalyst.conditions import check_mpi, mpi_is_running

    check_mpi(settings["mpi"])
    settings["ends_mpi"] = finish is None and not mpi_is_running(settings["mpi"])
    from perfield.catalyst.adaptor import Adaptor  # loads mpi4py, and with it an MPI

    _adaptor = Adaptor(settings, tell)
    if finish is not None:
        atexit.register(finish)


def _without_exceptions(action: Callable[[], None]) -> bool:
    global _adaptor
    try:
        action()
        return True
    except BaseException as error:  # SystemExit, too, is not to end the simulation
        _adaptor = None
        if not getattr(error, "is_known", False):
            traceback.print_exc()
        words = str(error).strip().rstrip(".") or type(error).__name__
        if _tell is not None:
            _tell(
                "catalyst",
                f"there are no more pictures in the program: {words}. The program runs on, and "
                "`perfield render` makes pictures later",
            )
        return False
    finally:
        for stream in (sys.stdout, sys.stderr):  # in an embedded Python, nobody else does
            if stream is not None:
                stream.flush()
