# SPDX-License-Identifier: BSD-3-Clause
"""An open run in one line, and as a small table for notebooks. Reads at most a few dozen frames."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from perfield.derived.injected import is_injected, sentence
from perfield.text import counted

if TYPE_CHECKING:
    from perfield.run.run_directory import RunDirectory

MOST_READ = 48  # frames, evenly spaced
WIDTH, HEIGHT = 240, 48  # of the line in the table, in pixels


def in_words(run: RunDirectory) -> str:
    """`<perfield run 'perfield-run': finished, 8 ranks on 1 host, 40 steps, imbalance 7.96>`"""
    facts = [run.state, _ranks_and_hosts(run), _steps(run)]
    facts += ["latencies injected"] * is_injected(run)
    ratio = _imbalance(run)[1]
    if np.isfinite(ratio).any():
        facts.append(f"imbalance {'about ' * (len(ratio) < len(run))}{np.nanmedian(ratio):.2f}")
    return f"<perfield run '{run.path}': {', '.join(facts)}>"


def as_html(run: RunDirectory) -> str:
    """The run as an HTML table, with a line that shows the imbalance of compute time over steps."""
    positions, ratio = _imbalance(run)
    command = " ".join(run.info.get("command", []))
    fields = ", ".join(region.name for region in run.known_regions[:6])
    more = len(run.known_regions) - 6
    rows = {
        "run": f"<b>{escape(str(run.path))}</b> ({escape(run.state)})",
        "command": escape(command),
        "ranks": escape(_ranks_and_hosts(run)),
        "steps": escape(_steps(run)),
        "injected": escape(sentence(run.info.get("injected"))),
        "regions": escape(fields) + (f" and {more} more" if more > 0 else ""),
    }
    if np.isfinite(ratio).any():
        some = f" ({len(ratio)} of {len(run)} frames)" if len(ratio) < len(run) else ""
        words = f"median {np.nanmedian(ratio):.2f}, largest {np.nanmax(ratio):.2f}{some}"
        rows["imbalance"] = f"{words}<br>{_line(positions, ratio)}"
    rows["damage"] = escape("; ".join(run.damage[:3]))
    cell = 'style="text-align: left; vertical-align: top"'
    lines = [f"<tr><th {cell}>{name}</th><td {cell}>{text}</td></tr>" for name, text in rows.items() if text]
    return f"<table>{''.join(lines)}</table>"


def _ranks_and_hosts(run: RunDirectory) -> str:
    hosts = {entry.get("host", "") for entry in run.rank_entries if entry is not None}
    absent = sum(entry is None for entry in run.rank_entries)
    missing = f" ({absent} never checked in)" if absent else ""
    return f"{counted(run.n_ranks, 'rank')} on {counted(len(hosts), 'host')}{missing}"


def _steps(run: RunDirectory) -> str:
    closed = int(run.steps_closed.max(initial=0))
    if not closed:
        return "no step closed"
    measured = f" ({len(run)} frames)" if len(run) != closed else ""
    return counted(closed, "step") + measured


def _imbalance(run: RunDirectory) -> tuple[np.ndarray, np.ndarray]:
    """Positions of at most MOST_READ frames, and their largest over mean compute time of a rank; NaN where
    ranks may have done different steps."""
    positions = np.unique(np.linspace(0, len(run) - 1, MOST_READ).round().astype(int)) if len(run) else []
    ratio = np.full(len(positions), np.nan)
    try:
        read = run.read(list(positions), ["compute_time_s"])
    except (OSError, ValueError, KeyError, IndexError):  # a damaged run still has a name
        return np.asarray(positions), ratio
    for frame, of_ranks in enumerate(read["values"][:, 0]):
        seen = of_ranks[np.isfinite(of_ranks)]
        enough = len(seen) > (run.n_ranks > 1)  # a rank alone in its frame is even with nobody
        if enough and seen.mean() > 0 and not read["uneven"][frame]:
            ratio[frame] = seen.max() / seen.mean()
    return np.asarray(positions), ratio


def _line(positions: np.ndarray, ratio: np.ndarray) -> str:
    """The ratio over frames as an SVG line from 1, balanced, at the bottom."""
    seen = np.isfinite(ratio)
    x = (positions - positions[0]) / max(int(positions[-1] - positions[0]), 1) * (WIDTH - 4) + 2
    y = HEIGHT - 3 - (ratio - 1.0) / max(float(np.nanmax(ratio)) - 1.0, 0.1) * (HEIGHT - 6)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[seen], y[seen]))
    title = f"<title>imbalance by step, from 1 to {np.nanmax(ratio):.2f}</title>"
    drawn = f'<polyline points="{points}" fill="none" stroke="#0072b2" stroke-width="1.5"/>'
    ground = f'<line x1="0" x2="{WIDTH}" y1="{HEIGHT - 3}" y2="{HEIGHT - 3}" stroke="#999"/>'
    return f'<svg width="{WIDTH}" height="{HEIGHT}" role="img">{title}{ground}{drawn}</svg>'
