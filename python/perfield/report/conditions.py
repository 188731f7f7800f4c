# SPDX-License-Identifier: BSD-3-Clause
"""Conditions on the numbers of a report, such as "imbalance > 1.3", for the CI of simulation codes."""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_UNITS = {  # what may follow a number: the kind of number, and its factor
    "%": ("share", 0.01),
    **{unit: ("s", factor) for unit, factor in (("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0))},
    **{f"{prefix}B": ("bytes", 1000.0**power) for power, prefix in enumerate(("", "k", "M", "G", "T"))},
    **{f"{prefix}iB": ("bytes", 1024.0**power) for power, prefix in enumerate("KMGT", 1)},
}
# A region's name may hold operators (templates), so the last operator counts.
_CONDITION = re.compile(
    r"\s*(?P<name>.*\S)\s*(?P<operator><=|>=|==|!=|(?<![<>=!])[<>](?!=))\s*(?P<limit>[^<>=!]*)"
)
_LIMIT = re.compile(r"(?P<number>[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)\s*(?P<unit>[^\s\d]*)\s*")
_MOST_NAMES = 3
LARGEST = ".max"  # of a field, behind its name


class ConditionError(ValueError):
    """A condition cannot be checked; the text says why."""


@dataclass(frozen=True)
class Condition:
    """A number of the report, compared with a limit.

    text : as the user wrote it. name : of the number. operator : a key of OPERATORS. limit : in s, bytes or
    as a share. unit : "s", "bytes", "share", or "" where the user wrote none.
    """

    text: str
    name: str
    operator: str
    limit: float
    unit: str


def parsed(text: str) -> Condition:
    """The condition in a text such as "waiting_share >= 20%" or "step_time_s > 15 ms".

    Raises ConditionError where it is none.
    """
    matched = _CONDITION.fullmatch(text)
    if not matched:
        raise ConditionError(
            f"'{text}' is no condition; expected a name, one of {' '.join(OPERATORS)}, and a number, "
            "such as 'imbalance > 1.3'"
        )
    limit = _LIMIT.fullmatch(matched["limit"])
    if not limit or (limit["unit"] and limit["unit"] not in _UNITS):
        raise ConditionError(
            f"'{matched['limit'].strip()}' in '{text}' is not a number; expected one such as 1.3, 10%, 15ms "
            f"or 2GB (units: {' '.join(_UNITS)})"
        )
    kind, factor = _UNITS.get(limit["unit"], ("", 1.0))
    return Condition(text, matched["name"], matched["operator"], float(limit["number"]) * factor, kind)


def failed(
    conditions: Sequence[Condition], numbers: Mapping[str, float], not_proven: Collection[str] = ()
) -> list[str]:
    """A sentence for each condition that holds: these are the reasons to fail.

    numbers : of the report, by name; NaN where the run has no value. not_proven : names of those that may be
    NaN; a condition on such a one never holds. All conditions are looked at before anything is said. Raises
    ConditionError for one whose name is unknown, whose number has no value in this run, or whose unit does
    not fit.
    """
    wrong = [reason for condition in conditions if (reason := _why_not(condition, numbers, not_proven))]
    if wrong:
        raise ConditionError("; ".join(wrong))
    return [
        f"{condition.name} is {in_unit(numbers[condition.name], condition.name)}, "
        f"so '{condition.text.strip()}' holds"
        for condition in conditions
        if condition.name not in not_proven
        and OPERATORS[condition.operator](numbers[condition.name], condition.limit)
    ]


def unit_of(name: str) -> str:
    """The unit of a number by its name: "s", "bytes", or "share" for all that has none."""
    name = name.removesuffix(LARGEST)
    return "s" if name.endswith("_s") else "bytes" if name.endswith("_bytes") else "share"


def in_unit(value: float, name: str) -> str:
    """A number with up to six digits, and its unit."""
    unit = unit_of(name)
    return f"{value:.6g}{'' if unit == 'share' else f' {unit}'}"


def _why_not(condition: Condition, numbers: Mapping[str, float], not_proven: Collection[str]) -> str:
    name = condition.name
    if name not in numbers:
        near = difflib.get_close_matches(name, list(numbers), _MOST_NAMES, cutoff=0.5)
        meant = (
            f"the nearest {'names are' if len(near) > 1 else 'name is'} {', '.join(near)}; " if near else ""
        )
        return (
            f"the report has no number '{name}' of '{condition.text.strip()}'; {meant}"
            "'numbers' in what `perfield report --json` prints lists all, and `perfield fields` the fields"
        )
    if math.isnan(numbers[name]) and name not in not_proven:
        return f"this run has no value of '{name}', so '{condition.text.strip()}' cannot be checked"
    unit = unit_of(name)
    if condition.unit and condition.unit != unit:
        expected = (
            "a plain number or %" if unit == "share" else f"a unit of {'time' if unit == 's' else 'bytes'}"
        )
        return f"the limit in '{condition.text.strip()}' has another unit than '{name}'; expected {expected}"
    return ""
