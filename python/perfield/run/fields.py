# SPDX-License-Identifier: BSD-3-Clause
"""The fields of a frame: one table of names, units and meanings. How a region gets its names is C++'s.

All fields are one number per rank of the measured world, NaN where absent; the unit stands in the name.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from functools import cache

from perfield import _bridge

CALL_NAMES = {number: name for number, name, _, _ in _bridge.calls()}
CALL_NUMBERS = {name: number for number, name in CALL_NAMES.items()}
CALL_CLASSES = {number: time_class for number, _, time_class, _ in _bridge.calls()}
SENDING_CALLS = {number: name for number, name, _, message in _bridge.calls() if message != "none"}
FETCHING_CALLS = {number for number, _, _, message in _bridge.calls() if message == "fetches"}
TIME_CLASSES = (
    "p2p",
    "wait",
    "collective",
    "onesided",
    "io",
    "other",
)  # those of MPI, by number as in calls.h
OTHER_REGIONS = "other regions"


@dataclass(frozen=True)
class Field:
    """What one field means.

    name : as in Frame.values; `<region>` and `<call>` stand for each region and call of the run.
    unit : "s", "B", "1". direction : "lower" or "higher" is better, "" if neither.
    source : "measured", "computed" or "placement" (known from where ranks ran, not from the step).
    """

    name: str
    unit: str
    meaning: str
    direction: str = ""
    source: str = "measured"


_CLASS_MEANINGS = {
    "p2p": "blocking point-to-point calls and the starting of non-blocking ones",
    "wait": "wait, test and probe calls",
    "collective": "collective calls; completing a non-blocking one counts as wait",
    "onesided": "one-sided transfers and their synchronisation",
    "io": "MPI-IO",
    "other": "other MPI calls",
}
_PER_STEP = "added up where a frame spans several steps"

FIELDS: tuple[Field, ...] = (
    Field("<region>_time_s", "s", "time inside the region, of the thread that spent longest in it", "lower"),
    Field("<region>_count", "1", "times that the region was entered, over all threads"),
    Field("<region>_self_time_s", "s", "the region's time without the regions inside it", "lower"),
    Field(
        "<region>_mpi_time_s",
        "s",
        "time in MPI calls inside the region, of the thread that spent most in calls there",
        "lower",
        "computed",
    ),
    *(
        Field(
            f"<region>_mpi_{name}_time_s", "s", f"time inside the region in {_CLASS_MEANINGS[name]}", "lower"
        )
        for name in TIME_CLASSES
    ),
    Field("<region>_file_time_s", "s", "time inside the region of reading and writing files", "lower"),
    Field(
        "<region>_compute_time_s",
        "s",
        "the region's time without that in MPI and in files, at least 0",
        "lower",
        "computed",
    ),
    *(
        Field(f"<region>{suffix}", unit, f"{meaning}, inside the region, in all threads")
        for _, suffix, unit, meaning in _bridge.known_counters()
    ),
    Field(
        f"<region>{_bridge.per_cycle_suffix}",
        "1",
        "instructions inside the region for each cycle of its threads",
        "higher",
        "computed",
    ),
    Field("<call>_count", "1", "messages that the rank sent, put or fetched by this MPI call"),
    Field("<call>_bytes", "B", "their bytes"),
    Field("sent_count", "1", "messages that the rank sent, put or fetched, by any call"),
    Field("sent_bytes", "B", "their bytes"),
    Field("received_count", "1", "messages that arrived by receive calls"),
    Field("received_bytes", "B", "their bytes"),
    Field("peer_count", "1", "different ranks that it exchanged messages with", "", "computed"),
    Field("mpi_time_s", "s", "time in MPI calls of any class", "lower", "computed"),
    *(Field(f"mpi_{name}_time_s", "s", f"time in {_CLASS_MEANINGS[name]}", "lower") for name in TIME_CLASSES),
    Field(
        "waited_for_time_s",
        "s",
        "time that all other ranks together waited for this one, where a wait tells for whom it was",
        "lower",
        "computed",
    ),
    Field("step_time_s", "s", f"measured time between the step's begin and end; {_PER_STEP}", "lower"),
    Field(
        "compute_time_s",
        "s",
        "step_time_s without mpi_time_s and files; absent where MPI was not seen, but for a rank alone",
        "lower",
        "computed",
    ),
    Field("perfield_time_s", "s", "perfield's own time; lies in no step", "lower"),
    Field("resident_bytes", "B", "resident memory of the process (sampled at most every 10 ms)", "lower"),
    Field("cpu_user_time_s", "s", "CPU time of the process in user mode"),
    Field("cpu_system_time_s", "s", "CPU time of the process in system mode", "lower"),
    Field("voluntary_switches", "1", "times that the process gave its PU away", "lower"),
    Field("involuntary_switches", "1", "times that its PU was taken from the process", "lower"),
    Field("minor_faults", "1", "page faults without I/O", "lower"),
    Field("major_faults", "1", "page faults with I/O", "lower"),
    Field("io_read_bytes", "B", "bytes that the program read from files, through MPI-IO or by itself"),
    Field("io_write_bytes", "B", "bytes that it wrote to files"),
    Field("io_read_count", "1", "calls by which it read"),
    Field("io_write_count", "1", "calls by which it wrote, or waited until it was written"),
    Field("io_time_s", "s", "time in MPI-IO, and in other calls for files that reached the system", "lower"),
    Field("device_kernel_count", "1", "kernels that the rank's devices finished"),
    Field("device_kernel_time_s", "s", "time that these took, added up where they ran at once", "lower"),
    Field("device_copy_count", "1", "copies to, from and within the rank's devices"),
    Field("device_copy_time_s", "s", "time that these took, added up where they went on at once", "lower"),
    Field("device_copy_to_bytes", "B", "bytes copied from the host to a device"),
    Field("device_copy_from_bytes", "B", "bytes copied from a device to the host"),
    Field("device_copy_within_bytes", "B", "bytes copied or set within devices, or within the host"),
    Field("rank", "1", "rank in MPI_COMM_WORLD"),
    Field("pu_id", "1", "PU (Linux number) on which the thread ran that closed the step"),
    Field("node_id", "1", "node on which the rank ran", source="placement"),
    Field("package_id", "1", "package (socket) on which the rank ran", source="placement"),
    Field("core_id", "1", "core on which the rank ran", source="placement"),
)

_DECLARED: dict[str, Field] = {}  # by sources


def declare(field: Field) -> None:
    """Has `description` know a field that a source of some run has declared."""
    _DECLARED.setdefault(field.name, field)


RESERVED = frozenset(_bridge.reserved_field_names())


@cache
def region_fields(stem: str) -> tuple[str, ...]:
    """Names of the fields of a region, from its own: `<stem>_time_s`, `<stem>_count`,
    `<stem>_self_time_s`."""
    return tuple(_bridge.region_fields(stem))


@cache
def inside_fields(stem: str) -> tuple[str, ...]:
    """Names of the fields of what passed inside a region: time in MPI (`<stem>_mpi_time_s`), in each class of
    MPI (`<stem>_mpi_<class>_time_s`, in the order of TIME_CLASSES), in files (`<stem>_file_time_s`), and
    without them (`<stem>_compute_time_s`). A run has those only that occurred in some region.
    """
    return tuple(_bridge.inside_fields(stem))


def identifier(name: str) -> str:
    """A name that any expression takes: what is no ASCII letter, digit or underscore becomes `_`; a leading
    digit gets `_` before it.
    """
    return _bridge.identifier(_utf8(name))


def sanitised(name: str) -> str:
    """A region's name as an identifier; one that clashes with a field of perfield's own gets `region_` before
    it.
    """
    return _bridge.region_stem(_utf8(name))


def unique_stem(name: str, taken: Container[str]) -> str:
    """The region's sanitised name, with `_2`, `_3`, ... if one of its fields has a name that is taken.

    taken : names of fields, as region_fields gives them.
    """
    return _bridge.unique_stem(_utf8(name), taken.__contains__)


def _utf8(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")  # a damaged name, too, is one


def description(name: str, region: str | None = None) -> Field:
    """What a field of a frame means; `region`: the original name of the region it belongs to, if any.

    Raises KeyError if there is no such field.
    """
    for field in FIELDS:
        if field.name == name:
            return field
    for field in FIELDS:
        kind, _, suffix = field.name.partition(">")
        if kind == "<region" and region is not None and _is_of(region, name, suffix):
            return Field(
                name, field.unit, f"region '{region}': {field.meaning}", field.direction, field.source
            )
        if kind == "<call" and name.removesuffix(suffix) in SENDING_CALLS.values():
            return Field(name, field.unit, field.meaning, field.direction, field.source)
    if name in _DECLARED:
        return _DECLARED[name]
    if region is not None and name.startswith(sanitised(region) + "_"):
        return Field(name, "1", f"region '{region}': what another counter counted inside, in all threads")
    raise KeyError(f"'{name}' is no field; perfield.run.fields.FIELDS lists them")


def _is_of(region: str, name: str, suffix: str) -> bool:
    """Whether a field's name is that of the region, numbered or not, and the suffix."""
    return name.endswith(suffix) and bool(
        re.fullmatch(re.escape(sanitised(region)) + r"(_\d+)?", name.removesuffix(suffix))
    )
