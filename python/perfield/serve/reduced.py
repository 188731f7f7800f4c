# SPDX-License-Identifier: BSD-3-Clause
"""The values of a run for a page of limited size: of all frames and ranks, or of several of them together.

Frames are joined first, as pictures of a whole run need few; ranks that follow one another share a value
once fewer than LEAST_FRAMES frames would be left.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from perfield.run.snapshot import Snapshot
from perfield.serve.compact import compact, rounded
from perfield.serve.followed import View
from perfield.serve.look import at_once, spread
from perfield.text import counted

MOST_FRAMES, MOST_RANKS = 2048, 1024  # values of each field: more are not seen in a heat map
LEAST_FRAMES = 50
SAMPLED = 32  # frames by which the size of all is estimated


@dataclass(frozen=True)
class Values:
    """frames_each, ranks_each : how many frames and ranks share a value. tables : float32 (frames, ranks) by
    field, NaN where absent. zipped : each table for the page."""

    frames_each: int
    ranks_each: int
    tables: dict[str, np.ndarray]
    zipped: dict[str, bytes] = field(repr=False)

    def sentences(self, view: View) -> list[str]:
        """What the page shows less of than the run has."""
        words = []
        if self.frames_each > 1:
            words.append(
                f"{counted(len(view.run), 'frame')} are joined, {self.frames_each} each: times and amounts "
                "are the mean of a step, other fields the largest value, messages are added up."
            )
        if self.ranks_each > 1:
            words.append(f"{self.ranks_each} ranks that follow one another show the largest of their values.")
        return words


def reduced(view: View, names: list[str], most_bytes: float) -> Values:
    """The values of fields in at most so many bytes of a page, joined as little as that takes."""
    n_frames, n_ranks = len(view.run), view.run.n_ranks
    frames, ranks = max(1, -(-n_frames // MOST_FRAMES)), max(1, -(-n_ranks // MOST_RANKS))
    if n_frames > 2 * SAMPLED:
        some = spread(np.arange(n_frames), SAMPLED)
        sample = _zipped(_tables(view, names, some, 1, ranks))
        size = _size(sample) * n_frames / SAMPLED / frames
        frames, ranks = _coarser(frames, ranks, size / most_bytes, n_frames)
    while True:
        tables = _tables(view, names, np.arange(n_frames), frames, ranks)
        zipped = _zipped(tables)
        if _size(zipped) <= most_bytes or ranks >= n_ranks:
            return Values(frames, ranks, tables, zipped)
        frames, ranks = _coarser(frames, ranks, 1.05 * _size(zipped) / most_bytes, n_frames)


def _coarser(frames: int, ranks: int, by: float, n_frames: int) -> tuple[int, int]:
    """How many frames and ranks to join so that a size falls by a factor; unchanged up to 1."""
    if by <= 1:
        return frames, ranks
    wanted = max(frames, min(int(np.ceil(frames * by)), n_frames // LEAST_FRAMES))
    return wanted, int(np.ceil(ranks * max(1.0, by * frames / wanted) - 1e-9))


def _tables(view: View, names: list[str], positions: np.ndarray, frames: int, ranks: int) -> dict:
    """Values by field, of `frames` positions and `ranks` ranks together."""
    run, known = Snapshot(view.run).run, view.run.all_fields
    adds_up = np.array([known[name].adds_up for name in names], bool)[:, None]
    first = np.arange(0, run.n_ranks, ranks)
    found = np.full((len(names), -(-len(positions) // frames), len(first)), np.nan, np.float32)
    size = at_once(run.n_ranks, len(names))
    for begin in range(0, len(positions), size):
        here = positions[begin : begin + size]
        for n, (read, span) in enumerate(zip(run.values(names, here), run.spans[here]), begin):
            if n % frames == 0:
                most, total, weight = np.full(read.shape, np.nan), np.zeros(read.shape), np.zeros(read.shape)
            finite = np.isfinite(read)
            most = np.fmax(most, np.where(finite, read, np.nan))
            total += np.where(finite, read, 0)
            weight += finite * span
            mean = np.divide(total, weight, out=np.full(read.shape, np.nan), where=weight > 0)
            joined = np.where(adds_up, mean, most)
            found[:, n // frames] = np.fmax.reduceat(joined, first, axis=1)
    return dict(zip(names, found))


def _zipped(tables: dict[str, np.ndarray]) -> dict[str, bytes]:
    return {name: compact({"values": rounded(table)}) for name, table in tables.items()}


def _size(zipped: dict[str, bytes]) -> float:
    return sum(len(data) for data in zipped.values()) * 4 / 3  # in base64
