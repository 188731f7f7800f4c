# SPDX-License-Identifier: BSD-3-Clause
"""Runs whose ranks add up different numbers of steps in their entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from twins import twin

_COUNTS = ("span", "measured_ns", "perfield_ns", "cpu_user_ns", "cpu_system_ns", "voluntary_switches")
_KEYS = {
    "regions": ("id",), "messages": ("peer", "call"), "waits": ("peer",),
    "calls": ("call", "time_class"), "quantities": ("region", "quantity"),
}  # fmt: skip


def write(path: Path, spans: Mapping[int, Sequence[int]], lost: Sequence[tuple[int, int]] = (), **options):
    """twin.write_run of ranks whose entries add up so many steps, one after the other.

    spans : by rank. lost : (rank, last step) of entries that are not there.
    """
    steps = max(map(sum, spans.values()))
    covered = {
        (rank, sum(of_rank[: n + 1]) - 1): span
        for rank, of_rank in spans.items()
        for n, span in enumerate(of_rank)
    }
    change = options.pop("change", None)

    def change_step(rank, step, values):
        span = covered.get((rank, step))
        if span is None or (rank, step) in lost:
            return False
        each = [twin.step_values(rank, len(spans), n) for n in range(step - span + 1, step + 1)]
        if change:
            for n, of_step in enumerate(each):
                change(rank, step - span + 1 + n, of_step)
        values.update(added(each))
        return None

    return twin.write_run(path, ranks=len(spans), steps=steps, change_step=change_step, **options)


def added(steps: list[dict]) -> dict:
    """The values of one entry that adds up these steps."""
    values = steps[-1] | {name: sum(step.get(name, 0) for step in steps) for name in _COUNTS}
    values |= {"begin_ns": steps[0]["begin_ns"], "minor_faults": sum(step["minor_faults"] for step in steps)}
    for table, keys in _KEYS.items():
        rows: dict[tuple, dict] = {}
        for row in (row for step in steps for row in step[table]):
            known = rows.setdefault(tuple(row[key] for key in keys), {})
            for name, value in row.items():
                largest = name in ("largest", "threads")
                before = known.get(name, 0)
                known[name] = value if name in keys else max(before, value) if largest else before + value
        values[table] = list(rows.values())
    return values
