# SPDX-License-Identifier: BSD-3-Clause
"""An open run in one line, and as a small table for notebooks: facts, what each rank computes, findings.

Reads a few dozen frames; for findings all of them, of runs that are small enough.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.findings import answers, needs, ranked
from perfield.derived.injected import is_injected, sentence
from perfield.derived.observe import observe
from perfield.text import counted, in_seconds, printable, shortened

if TYPE_CHECKING:
    from perfield.run.run_directory import RunDirectory

MOST_READ = 48  # frames, evenly spaced
MOST_VALUES = 200_000  # ranks times frames of a run whose findings are looked for
MOST_ROWS = 48  # of the heat map; more ranks share rows, which show the longest
MOST_FINDINGS = 3
MOST_CHARACTERS, MOST_OF_FINDING = 300, 2000  # of a name or the command; of a finding with its remedy
WIDTH, HEIGHT = 240, 48  # of the line in the table, in pixels
CELL = 8  # of the heat map, in pixels
COLOURS = ("#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725")  # viridis


def in_words(run: RunDirectory) -> str:
    """`<perfield run 'perfield-run': finished, 8 ranks on 1 host, 40 steps, imbalance 7.96>`"""
    facts = [run.state, _ranks_and_hosts(run), _steps(run)]
    facts += ["latencies injected"] * is_injected(run)
    ratio = _imbalance(run, *_computing(run)[1:])
    if np.isfinite(ratio).any():
        facts.append(f"imbalance {'about ' * (len(ratio) < len(run))}{np.nanmedian(ratio):.2f}")
    return f"<perfield run '{printable(str(run.path))}': {', '.join(facts)}>"


def as_html(run: RunDirectory) -> str:
    """The run as an HTML table, with a line that shows the imbalance of compute time over steps, a heat map
    of compute time, and the costliest findings."""
    positions, compute_s, uneven = _computing(run)
    ratio = _imbalance(run, compute_s, uneven)
    command = " ".join(run.info.get("command", []))
    fields = ", ".join(shortened(region.name, MOST_CHARACTERS) for region in run.known_regions[:6])
    more = len(run.known_regions) - 6
    rows = {
        "run": f"<b>{escape(printable(str(run.path)))}</b> ({escape(run.state)})",
        "command": escape(shortened(command, MOST_CHARACTERS)),
        "ranks": escape(_ranks_and_hosts(run)),
        "steps": escape(_steps(run)),
        "injected": escape(sentence(run.info.get("injected"))),
        "regions": escape(fields) + (f" and {more} more" if more > 0 else ""),
    }
    if np.isfinite(ratio).any():
        some = f" ({len(ratio)} of {len(run)} frames)" if len(ratio) < len(run) else ""
        words = f"median {np.nanmedian(ratio):.2f}, largest {np.nanmax(ratio):.2f}{some}"
        rows["imbalance"] = f"{words}<br>{_line(positions, ratio)}"
        rows["computing"] = _heat_map(compute_s)
        rows["findings"] = "<br>".join(map(escape, _findings(run)))
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


def _computing(run: RunDirectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions of at most MOST_READ frames, compute time there by frame and rank, and whether ranks may have
    done different steps."""
    positions = np.unique(np.linspace(0, len(run) - 1, MOST_READ).round().astype(int)) if len(run) else []
    try:
        read = run.read(list(positions), ["compute_time_s"])
    except (OSError, ValueError, KeyError, IndexError):  # a damaged run still has a name
        nothing = np.full((len(positions), run.n_ranks), np.nan)
        return np.asarray(positions), nothing, np.ones(len(positions), bool)
    return np.asarray(positions), read["values"][:, 0], np.asarray(read["uneven"], bool)


def _imbalance(run: RunDirectory, compute_s: np.ndarray, uneven: np.ndarray) -> np.ndarray:
    """Largest over mean compute time in each frame; NaN where ranks may have done different steps."""
    ratio = np.full(len(compute_s), np.nan)
    for frame, of_ranks in enumerate(compute_s):
        seen = of_ranks[np.isfinite(of_ranks)]
        enough = len(seen) > (run.n_ranks > 1)  # a rank alone in its frame is even with nobody
        if enough and seen.mean() > 0 and not uneven[frame]:
            ratio[frame] = seen.max() / seen.mean()
    return ratio


def _findings(run: RunDirectory) -> list[str]:
    """The costliest findings in words, each with its remedy."""
    if len(run) * run.n_ranks > MOST_VALUES:
        return [f"`perfield report {run.path}` looks for them; here the run is too large."]
    found = ranked(answers(observe(run, needs())))
    words = [
        (f"Up to {in_seconds(finding.saved_s)}: " if finding.saved_s is not None else "")
        + shortened(f"{finding.words} {finding.remedy}", MOST_OF_FINDING)
        for finding in found[:MOST_FINDINGS]
    ]
    more = len(found) - MOST_FINDINGS
    return [*words, *[f"and {more} more"] * (more > 0)] or ["none"]


def _heat_map(compute_s: np.ndarray) -> str:
    """Compute time as an SVG: a row for each rank, a column for each frame, from 0 to the largest."""
    n_frames, n_ranks = compute_s.shape
    begins = np.unique(np.linspace(0, n_ranks, min(n_ranks, MOST_ROWS) + 1).astype(int))[:-1]
    rows = np.fmax.reduceat(compute_s, begins, axis=1).T
    largest = float(np.nanmax(rows))
    cells = "".join(
        f'<rect x="{column * CELL}" y="{row * CELL}" width="{CELL}" height="{CELL}" '
        f'fill="{COLOURS[int(rows[row, column] / largest * (len(COLOURS) - 1))]}"/>'
        for row, column in np.argwhere(np.isfinite(rows)).tolist()
    )
    title = f"<title>compute time of each rank in each step, up to {in_seconds(largest)}</title>"
    size = f'width="{n_frames * CELL}" height="{len(rows) * CELL}"'
    caption = f"a row for each rank, a column for each step; yellow: {in_seconds(largest)}"
    return f'<svg {size} role="img">{title}{cells}</svg><br>{caption}'


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
