# SPDX-License-Identifier: BSD-3-Clause
"""The events of some locations of a trace in the order of their times, a batch at a time.

An event is (kind, location, time, ...): its kind as in EVENTS, then what the library tells of it. Events
that nobody counts are passed over in the library itself.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

from perfield.traces.errors import TraceError
from perfield.traces.library import otf2_modules, quiet_callbacks, reason

EVENTS = {  # kind -> the library's name; what follows location and time
    "enter": "Enter",  # region
    "leave": "Leave",  # region
    "enter_context": "CallingContextEnter",  # context, unwind distance
    "leave_context": "CallingContextLeave",  # context
    "send": "MpiSend",  # receiver, communicator, tag, bytes
    "isend": "MpiIsend",  # receiver, communicator, tag, bytes, request
    "receive": "MpiRecv",  # sender, communicator, tag, bytes
    "ireceive": "MpiIrecv",  # sender, communicator, tag, bytes, request; when complete
    "collective": "MpiCollectiveEnd",  # operation, communicator, root, bytes sent, bytes received
    "start_collective": "NonBlockingCollectiveRequest",  # request
    "end_collective": "NonBlockingCollectiveComplete",  # as collective, request
    "put": "RmaPut",  # window, remote, bytes, matching id
    "get": "RmaGet",  # window, remote, bytes, matching id
    "change": "RmaAtomic",  # window, remote, type, bytes sent, bytes received, matching id
    "begin_file": "IoOperationBegin",  # handle, mode, flags, bytes asked for, matching id
    "issue_file": "IoOperationIssued",  # handle, matching id
    "end_file": "IoOperationComplete",  # handle, bytes done, matching id
    "cancel_file": "IoOperationCancelled",  # handle, matching id
    "switch": "MeasurementOnOff",  # mode: 1 on, 2 off
    "flush": "BufferFlush",  # until when
    "metrics": "Metric",  # metric, values
    "program": "ProgramBegin",  # name, arguments
}
BATCH = 10_000


def events(path: Path, locations: tuple[int, ...]) -> Iterator[tuple[int, list[tuple]]]:
    """Yields batches: how many events were read, and those that are counted.

    Raises TraceError behind the last good one where the trace is damaged.
    """
    _, library = otf2_modules()
    batch: list[tuple] = []
    reader = merged = None
    told = io.StringIO()
    try:
        reader = library.Reader_Open(str(path))
        merged = _open(library, reader, locations)
        callbacks = library.GlobalEvtReaderCallbacks_New()
        functions = {kind: _recorder(kind, batch) for kind in EVENTS}  # to live as long as the reading
        for kind, name in EVENTS.items():
            getattr(library, f"GlobalEvtReaderCallbacks_Set{name}Callback")(callbacks, functions[kind])
        library.GlobalEvtReader_SetCallbacks(merged, callbacks, None)
        library.GlobalEvtReaderCallbacks_Delete(callbacks)
        n_read = BATCH
        while n_read == BATCH:
            with quiet_callbacks() as told:
                n_read = library.GlobalEvtReader_ReadEvents(merged, BATCH)
            yield n_read, batch[:]
            batch.clear()
    except library.Error as error:
        if batch:
            yield len(batch), batch[:]
        raise TraceError(f"the library says: {reason(error, told)}") from error
    finally:
        if merged is not None:
            library.Reader_CloseGlobalEvtReader(reader, merged)
            library.Reader_CloseEvtFiles(reader)
        if reader is not None:
            library.Reader_Close(reader)


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


def _recorder(kind: str, batch: list[tuple]) -> Callable:
    if kind in ("switch", "begin_file"):  # these hold an enumeration

        def record(location, time, data, attributes, *arguments):
            batch.append((kind, location, time, *(getattr(word, "value", word) for word in arguments)))
    elif kind == "metrics":  # these lie in the library's memory

        def record(location, time, data, attributes, metric, types, values):
            batch.append((kind, location, time, metric, [value.unsigned_int for value in values]))
    else:

        def record(location, time, data, attributes, *arguments):
            batch.append((kind, location, time, *arguments))

    return record
