# SPDX-License-Identifier: BSD-3-Clause
"""The table of fields (bridge/fields/fields.def): what each means, and how regions get their names.

A field is one number per rank of the measured world, NaN where absent; the unit is in the name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache

from perfield import _bridge

CALL_NAMES = {number: name for number, name, _, _ in _bridge.calls()}
CALL_CLASSES = {name: kind for _, name, kind, _ in _bridge.calls()}  # p2p, wait, collective, ...
OTHER_REGIONS = "other regions"


@dataclass(frozen=True)
class Field:
    """What one field means.

    name : as in Frame.values; `<region>` and `<call>` stand for each region and call of the run.
    unit : "s", "B", "1". direction : "lower" or "higher" is better, "" if neither. source : "measured",
    "computed" or "placement" (where the rank ran). over_steps : how several steps add up: "sum", "max",
    "last", "again" (computed from their sums), "none". over_threads : likewise; "longest" and "shortest" are
    those of one thread, "process" of all. in_runs, absent : which runs have it, where it is NaN, in words.
    In pictures, title : of its legend, "" to make one of the name. colours : "amount", which begins at 0,
    "share" (0 to 1), "category", or "around 0", then as far as `least_end` at least. is_lasting : it is the
    same in all steps.
    """

    name: str
    unit: str
    meaning: str
    direction: str = ""
    source: str = "computed"
    over_steps: str = "sum"
    over_threads: str = "process"
    in_runs: str = ""
    absent: str = ""
    title: str = ""
    colours: str = "amount"
    least_end: float = 0.0
    is_lasting: bool = False

    @property
    def adds_up(self) -> bool:
        """Whether a value of several steps is the sum of theirs, so that its share is that of one step."""
        return self.over_steps == "sum" or (
            self.over_steps == "again" and self.name.endswith("compute_time_s")
        )


FIELDS: tuple[Field, ...] = tuple(Field(*row) for row in _bridge.fields())


@cache
def region_fields(stem: str) -> tuple[str, ...]:
    """Names of all fields that a region may have, except those of counters: `<stem>_time_s`, `<stem>_count`,
    `<stem>_self_time_s`, `<stem>_mpi_time_s`, ... A run has only those that occurred in some region."""
    return tuple(_bridge.region_fields(stem))


def identifier(name: str) -> str:
    """A name as an identifier: every character that is not an ASCII letter, digit or underscore becomes
    `_`; a leading digit gets `_` before it.
    """
    return _bridge.identifier(utf8(name))


def array_names(own: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    """Name of the array -> the simulation's name, for its own fields; names that become equal get `_2`, `_3`.

    taken : names of perfield's arrays; an own field with one of these names becomes `own_<name>`.
    """
    called: dict[str, str] = {}
    for name in sorted(own, key=lambda name: (identifier(name) != name, name)):
        first = new = f"own_{identifier(name)}" if identifier(name) in taken else identifier(name)
        number = 1
        while new in taken or new in called:
            number += 1
            new = f"{first}_{number}"
        called[new] = name
    return called


def utf8(name: str) -> bytes:
    """A name in the bytes of the stream; this also works for damaged names."""
    return name.encode("utf-8", "surrogatepass")


def as_markdown(fields: Iterable[Field] = FIELDS) -> str:
    """A table of fields, as docs/fields.md shows it."""
    rows = [
        (
            "field",
            "unit",
            "better",
            "over steps",
            "over threads",
            "runs that have it",
            "absent where",
            "meaning",
        )
    ]
    rows.append(("---",) * len(rows[0]))
    for field in fields:
        adds_up = field.over_steps, field.over_threads
        rows.append(
            (
                f"`{field.name}`",
                field.unit,
                field.direction,
                *adds_up,
                field.in_runs,
                field.absent,
                field.meaning,
            )
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
