# SPDX-License-Identifier: BSD-3-Clause
"""Finds the few ranks, or nodes, whose values stand out. Labels name these and no others.

It needs no ParaView.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from palette import is_waiting
from ticks import amount, unit_of

LEAST = 0.1  # of the median: smaller differences do not stand out
SPREADS = 5.0  # of the median absolute deviation: nor do those that chance gives
MOST = 3  # that are named


def outliers(values: Mapping[int, float], field: str = "") -> list[int]:
    """The keys of the few values that are far from most, the farthest first; empty if there are none.

    These lie beyond the middle between the median and the largest value, which differs from the median by
    more than LEAST of it and SPREADS times the median absolute deviation. At most a quarter of all are few.
    field : of waiting time, the smallest values in place of the largest: the others wait for these ranks.
    """
    keys, numbers = list(values), np.array(list(values.values()), float)
    if len(numbers) < 2:
        return []
    numbers = -numbers if is_waiting(field) else numbers
    median, largest = float(np.median(numbers)), float(numbers.max())
    usual = max(LEAST * abs(median), SPREADS * float(np.median(np.abs(numbers - median))))
    above = np.flatnonzero(numbers >= (largest + median) / 2)
    if largest - median <= usual or len(above) > max(1, len(numbers) // 4):
        return []
    return [keys[n] for n in above[np.argsort(-numbers[above], kind="stable")]]


def named(values: Mapping[int, float], of: Mapping[int, Any], field: str = "") -> list[list[int]]:
    """The outliers that carry names: at most MOST groups of keys, the farthest first.

    of : key -> what it is part of, such as its node; there are several. A part is one group where more than
    half of it stands out; other outliers are groups of one. Where MOST groups or more share the farthest
    value, chance would choose, so there are none. values, field : as for `outliers`.
    """
    found, sizes = outliers(values, field), Counter(of.values())
    inside = Counter(of[key] for key in found if key in of)
    groups: dict[Any, list[int]] = {}
    for key in found:
        part = of.get(key)
        is_whole = inside[part] > 1 and sizes[part] < 2 * inside[part] and len(sizes) > 1
        groups.setdefault(("part", part) if is_whole else ("key", key), []).append(key)
    farthest = [values[group[0]] for group in groups.values()]
    return [] if farthest.count(farthest[0] if farthest else 0.0) >= MOST else [*groups.values()][:MOST]


def in_words(
    values: Mapping[int, float], group: list[int], about: Mapping[str, Any], field: str, kind: str = "ranks"
) -> str:
    """The value of a group behind its name, in the unit of the legend: ": 12 ms", ", 8 ranks: mean 12 ms".

    about : the array's description in pictures.json. kind : of the group's members.
    """
    factor, unit = unit_of(about)
    value = amount(factor * sum(values[key] for key in group) / len(group))
    of_several = f", {len(group)} {kind}: mean " if len(group) > 1 else ": "
    return f"{of_several}{'only ' if is_waiting(field) else ''}{value} {unit}".rstrip()
