# SPDX-License-Identifier: BSD-3-Clause
"""Reads events: the otf2 library calls the C functions of `_bridge.Follower` directly, without Python."""

from __future__ import annotations

import ctypes
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perfield import _bridge
from perfield.traces.errors import TraceError
from perfield.traces.library import otf2_modules, reason

BATCH = 100_000  # events between two checks for Ctrl-C


def read_events(path: Path, locations: tuple[int, ...], follower: Any) -> Iterator[int]:
    """Passes the events of some locations to a `_bridge.Follower`, in the order of their times.

    Yields the number of events read since the previous yield. If the trace is damaged, raises TraceError
    after the last good event.
    """
    _, library = otf2_modules()
    reader = merged = None
    followed = follower.n_events
    try:
        reader = library.Reader_Open(str(path))
        merged = _open(library, reader, locations)
        _connect(library, merged, follower)
        n_read = BATCH
        while n_read == BATCH:
            followed = follower.n_events
            n_read = library.GlobalEvtReader_ReadEvents(merged, BATCH)
            yield n_read
    except library.Error as error:
        if follower.n_events > followed:
            yield follower.n_events - followed
        raise TraceError(f"the library says: {reason(error, io.StringIO())}") from error
    finally:
        if merged is not None:
            library.Reader_CloseGlobalEvtReader(reader, merged)
            library.Reader_CloseEvtFiles(reader)
        if reader is not None:
            library.Reader_Close(reader)


def _connect(library: Any, merged: Any, follower: Any) -> None:
    """Registers the follower's functions with the reader, which skips all other events."""
    callbacks = library.GlobalEvtReaderCallbacks_New()
    try:
        for event, address in _bridge.otf2_events():
            function = _function(library, f"OTF2_GlobalEvtReaderCallbacks_Set{event}Callback")
            function(callbacks, ctypes.c_void_p(address))
        connect = _function(library, "OTF2_GlobalEvtReader_SetCallbacks")
        connect(merged, callbacks, ctypes.c_void_p(follower.address))
    finally:
        library.GlobalEvtReaderCallbacks_Delete(callbacks)


def _function(library: Any, name: str) -> Any:
    """The C function of the library, as the wrapper in its Python module takes no addresses."""
    function = library.Config.conf.lib[name]
    function.restype = library.ErrorCodes.ErrorCode
    function.errcheck = library.ErrorCodes.HandleErrorCode
    return function


def _open(library, reader, locations: tuple[int, ...]):
    """The library's reader of these locations, merged by time."""
    library.Reader_SetSerialCollectiveCallbacks(reader)
    for location in locations:
        library.Reader_SelectLocation(reader, location)
    try:
        library.Reader_OpenDefFiles(reader)
    except library.Error:  # a trace need not have local definitions
        has_definitions = False
    else:
        has_definitions = True
    library.Reader_OpenEvtFiles(reader)
    for location in locations:
        if has_definitions:
            definitions = library.Reader_GetDefReader(reader, location)
            if definitions:
                library.Reader_ReadAllLocalDefinitions(reader, definitions)
                library.Reader_CloseDefReader(reader, definitions)
        library.Reader_GetEvtReader(reader, location)
    if has_definitions:
        library.Reader_CloseDefFiles(reader)
    return library.Reader_GetGlobalEvtReader(reader)
