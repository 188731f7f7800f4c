# SPDX-License-Identifier: BSD-3-Clause
"""Counters of a trace: metrics that only grow, recorded at each enter and leave (PAPI, rusage, perf)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MOST = 16  # counters that a stream has room for
# A metric's mode has its properties in the lowest four bits.
_ACCUMULATED = 0
_PROPERTIES = 15


@dataclass(frozen=True)
class Metrics:
    """names : of the counters, by number. places : metric of the trace -> (place of a value, counter)."""

    names: list[str] = field(default_factory=list)
    places: dict[int, list[tuple[int, int]]] = field(default_factory=dict)


def read_metrics(otf2: Any, definitions: Any) -> tuple[Metrics, int]:
    """The counters of a trace, and the number of others for which a stream has no room."""
    metrics, n_left_out = Metrics(), 0
    strictly = (otf2.MetricOccurrence.SYNCHRONOUS_STRICT, otf2.MetricOccurrence.SYNCHRONOUS)
    for metric in definitions.metrics:
        if not isinstance(metric, otf2.definitions.MetricClass) or metric.occurrence not in strictly:
            continue
        for place, member in enumerate(metric.members):
            is_whole = member.value_type in (otf2.Type.UINT64, otf2.Type.INT64)
            if not is_whole or member.metric_mode.value & _PROPERTIES != _ACCUMULATED:
                continue
            if member.name not in metrics.names:
                if len(metrics.names) == MOST:
                    n_left_out += 1
                    continue
                metrics.names.append(member.name)
            metrics.places.setdefault(metric._ref, []).append((place, metrics.names.index(member.name)))
    return metrics, n_left_out
