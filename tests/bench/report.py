# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the benches: figures as lines of JSON, a description of the machine, and tables.

A bench is a program `bench_*.py` in this folder. It prints figures with `figure`, and everything else to
stderr.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def figure(what: str, values: Sequence[float], unit: str, *, target: float | None, most: bool = True) -> None:
    """Prints one figure: the median of `values` with their 5th and 95th percentile.

    what : a short noun phrase. values : repetitions, all in `unit`. target : the limit for the median, in
    the same unit; None sets no limit. most : whether the target is an upper limit, else a lower one.
    """
    ordered = sorted(values)
    low, high = (ordered[round(part * (len(ordered) - 1))] for part in (0.05, 0.95))
    line = {
        "what": what,
        "unit": unit,
        "median": statistics.median(ordered),
        "low": low,
        "high": high,
        "repeats": len(ordered),
        "target": target,
        "most": most,
    }
    print(json.dumps(line), flush=True)


def holds(line: dict) -> bool | None:
    """Whether a figure meets its target; None if it has no target."""
    if line["target"] is None:
        return None
    return line["median"] <= line["target"] if line["most"] else line["median"] >= line["target"]


def _first_line(*command: str) -> str:
    result = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False)
    return result.stdout.partition("\n")[0] or "unknown"


def circumstances() -> dict[str, object]:
    """Machine, compiler, commit and date of the figures."""
    processors = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line for line in processors if line.startswith("model name")]
    changed = _first_line("git", "status", "--porcelain", "--untracked-files=no") != "unknown"
    return {
        "processor": models[0].partition(":")[2].strip() if models else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "kernel": platform.release(),
        "compiler": _first_line("g++", "--version"),
        "mpi": _first_line("mpirun", "--version"),
        "commit": _first_line("git", "rev-parse", "--short", "HEAD") + (" with changes" if changed else ""),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "load": os.getloadavg()[0],
    }


def number(value: float | None) -> str:
    """A number as text: four digits, with commas between thousands; "-" for None."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows (the first is the heading) as a Markdown table with aligned columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])
