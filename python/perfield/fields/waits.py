# SPDX-License-Identifier: BSD-3-Clause
"""The fields of wait states: they need all ranks of a step, so they are computed when a run is read.

The terms are those of Scalasca's pattern documentation; docs/waiting.md explains each.
"""

from __future__ import annotations

from perfield.fields.table import Field

LATE_SENDER, LATE_RECEIVER = "wait_late_sender_time_s", "wait_late_receiver_time_s"
COLLECTIVE, ONE_SIDED = "wait_collective_time_s", "wait_one_sided_time_s"
CAUSED, ON_PATH = "caused_wait_time_s", "critical_path_time_s"
CAUSED_IN = "<region>_caused_wait_time_s"
TRANSFER, SLOW_TRANSFER = "transfer_time_s", "slow_transfer_time_s"

_IN_RUNS = "ranks keep stamps of messages"
_ABSENT = "the rank keeps no stamps, or nothing of its time in MPI is explained"
_INEXACT = "the rank keeps no stamps, or nothing of its time in MPI is explained exactly"
_NO_BASELINE = "none of the rank's calls in the step has a baseline"
_UNLOGGED = "the step is not logged, or joined with others; ranks have no stamps, or are of several programs"
_MEANINGS = {
    LATE_SENDER: "time that the rank waited for messages that were not sent yet; at least so much",
    LATE_RECEIVER: "time that the rank waited in sends for receives that were not posted yet; likewise",
    COLLECTIVE: "time that the rank waited in collective operations for ranks that were not there; likewise",
    ONE_SIDED: "time that the rank waited in one-sided synchronisation for ranks that were late; likewise",
    CAUSED: "time that other ranks waited because this rank was late; it counts in the step in which that "
    "began, up to 64 steps before the waiting",
    CAUSED_IN: "the part of `caused_wait_time_s` that began in the region, as an estimate by the sums of the "
    "step; of the regions in which ranks differ most, and of those that are asked for",
    TRANSFER: "time in MPI calls that may wait, without the waiting: transfer, copies and progress; of the "
    "calls that are explained exactly",
    SLOW_TRANSFER: "time that calls took beyond the baseline of like messages or operations, once nobody was "
    "late; at least so much",
    ON_PATH: "time that the rank was on the critical path: its work decided how long the step took; the "
    "ranks' times add up to the step",
}

WAIT_FIELDS: tuple[Field, ...] = tuple(
    Field(
        name=name,
        unit="s",
        meaning=meaning,
        direction="lower",
        source="computed",
        over_steps="sum",
        over_threads="process",
        in_runs=_IN_RUNS,
        absent={ON_PATH: _UNLOGGED, TRANSFER: _INEXACT, SLOW_TRANSFER: _NO_BASELINE}.get(name, _ABSENT),
    )
    for name, meaning in _MEANINGS.items()
)
WAIT_NAMES = frozenset(_MEANINGS) - {CAUSED_IN}
# The field that holds the waiting of each kind, in the order of `perfield.analysis.waits.KINDS`.
OF_KIND = (LATE_SENDER, LATE_RECEIVER, *[COLLECTIVE] * 4, ONE_SIDED)
_SUFFIX = CAUSED_IN.removeprefix("<region>")


def is_of_waits(name: str) -> bool:
    """Whether a field is one of these, of the rank or of a region."""
    return name in WAIT_NAMES or region_of(name) is not None


def region_of(name: str) -> str | None:
    """The prefix of the region whose part of `caused_wait_time_s` a field is; None if it is another field."""
    return name.removesuffix(_SUFFIX) if name.endswith(_SUFFIX) and name != _SUFFIX else None
