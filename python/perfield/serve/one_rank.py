# SPDX-License-Identifier: BSD-3-Clause
"""What a pick of a rank shows: where it sits, its partners, and the time of its regions step by step."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np

from perfield.output.survey import COMPUTING, cost_field, waiting_of
from perfield.output.titles import region_titles, title
from perfield.run.streams import Places
from perfield.serve.followed import View
from perfield.serve.look import NUMBERS
from perfield.topology import Placement, places

MOST_PARTNERS = 50
MOST_REGIONS = 12  # with the most time; the others are left out
MOST_FRAMES = 2048  # of a time series; of longer runs, frames that are spread evenly


def one_rank(view: View, rank: int) -> dict[str, Any]:
    """All that the page shows of a rank.

        {"rank", "host", "place": sentence, "parts": {"node", "package", "core", "pu", ...},
         "partners": [{"rank", "sent", "received", "sent_count", "received_count"}],   bytes and messages
         "more_partners": n, "unknown": {"sent", "received"},                           not among the ranks
         "frames": [positions],                                                         of all series
         "fields": {name: [seconds]}, "titles": {name: title},
         "regions": {"fields": [..], "names": [..], "series": {field: [seconds]}, "left_out": n}}

    Regions are ordered by their time in these frames. Each shows its compute time, or all of its time where
    no calls were seen inside regions.
    """
    return view.answers.get(("rank", rank), lambda: _OneRank(rank)).answer(view)


class _OneRank:
    def __init__(self, rank: int):
        self._rank, self._lock = rank, Lock()
        self._version, self._answer = -1, {}

    def answer(self, view: View) -> dict[str, Any]:
        with self._lock:
            if self._version != view.version:
                self._answer, self._version = _made(view, self._rank), view.version
            return self._answer


def _made(view: View, rank: int) -> dict[str, Any]:
    run = view.run
    stride = max(1, -(-len(run) // MOST_FRAMES))
    positions = np.arange(0, len(run), stride)
    of_rank = run.places(positions, rank)
    known = set(view.names)
    stems = [region.field for region in run.known_regions]
    cost = {stem: cost_field(known, stem) for stem in stems}
    whole = [name for name in (COMPUTING, waiting_of(known), "step_time_s") if name in known]
    names = list(dict.fromkeys([*whole, *(name for name in cost.values() if name in known)]))
    series = dict(zip(names, _series(view, of_rank, names, rank)))
    titles = region_titles(run.known_regions)
    regions = [stem for stem in stems if cost[stem] in series and np.isfinite(series[cost[stem]]).any()]
    regions.sort(key=lambda stem: -float(np.nansum(series[cost[stem]])))
    shown = regions[:MOST_REGIONS]
    return {
        "rank": rank,
        **place_of(view, rank),
        **_partners(view, of_rank, rank),
        "frames": positions.tolist(),
        "fields": {name: series[name] for name in whole},
        "titles": {name: title(name, titles, {})[0] for name in whole},
        "regions": {
            "fields": [cost[stem] for stem in shown],
            "names": [titles[stem] for stem in shown],
            "series": {cost[stem]: series[cost[stem]] for stem in shown},
            "left_out": len(regions) - len(shown),
        },
    }


def _series(view: View, of_rank: Places, names: list[str], rank: int) -> np.ndarray:
    """Values of fields of one rank, (len(names), n_frames); NaN where absent."""
    found = np.full((len(names), of_rank.n_steps), np.nan)
    # The reader makes room for all ranks, so a few frames at a time.
    size = max(1, NUMBERS // max(1, view.run.n_ranks * len(names)))
    for begin in range(0, of_rank.n_steps, size):
        here = np.flatnonzero((of_rank.step >= begin) & (of_rank.step < begin + size))
        n_steps = min(size, of_rank.n_steps - begin)
        columns = {name: getattr(of_rank, name)[here] for name in ("file", "offset", "reference", "rank")}
        some = replace(of_rank, **columns, step=of_rank.step[here] - begin, n_steps=n_steps)
        found[:, begin : begin + n_steps] = view.run.columns.read(some, names)[:, :, rank].T
    return found


def place_of(view: View, rank: int) -> dict[str, Any]:
    """{"host", "place": sentence, "parts"} of a rank, as in `one_rank`."""
    placed, entry = view.placement, view.run.rank_entries[rank]
    if entry is None:
        return {"host": "", "place": f"Rank {rank} never checked in.", "parts": {}}
    row = next((row for row in places(_only(placed, rank))), {}) if placed.nodes else {}
    parts = {name: words for name, words in row.items() if name != "ranks" and words}
    words = [parts.get("host") or str(entry.get("host") or "an unknown host")]
    words += [f"switch {parts['switch']}"] if "switch" in parts else []
    words += [
        f"{called} {parts[part]}" if parts[part] != "-" else f"several {called}s"
        for part, called in (("package", "package"), ("core", "core"), ("pu", "PU"))
        if part in parts
    ]
    return {"host": parts.get("host", ""), "place": f"Rank {rank} on {', '.join(words)}.", "parts": parts}


def _partners(view: View, of_rank: Places, rank: int) -> dict[str, Any]:
    """With whom the rank exchanged messages in some frames, by its own count."""
    read = view.run.columns.read_tables(of_rank, [])
    found: dict[int, dict[str, float]] = {}
    unknown = {"sent": 0.0, "received": 0.0}
    sends = read["messages"]
    fetched = sends["source"] != rank  # by get
    for rows, other, way in (
        (sends[~fetched], "target", "sent"),
        (sends[fetched], "source", "received"),
        (read["received"], "source", "received"),
    ):
        peers, number = np.unique(rows[other], return_inverse=True)
        sums = (np.bincount(number, rows[name].astype(float), len(peers)) for name in ("bytes", "count"))
        for peer, size, count in zip(peers.tolist(), *(of.tolist() for of in sums)):
            if not 0 <= peer < view.run.n_ranks:
                unknown[way] += size
                continue
            row = found.setdefault(peer, dict.fromkeys(_AMOUNTS, 0.0))
            row[way] += size
            row[f"{way}_count"] += count
    order = sorted(found, key=lambda peer: (-found[peer]["sent"] - found[peer]["received"], peer))
    return {
        "partners": [{"rank": peer, **found[peer]} for peer in order[:MOST_PARTNERS]],
        "more_partners": max(0, len(order) - MOST_PARTNERS),
        "unknown": unknown,
    }


_AMOUNTS = ("sent", "received", "sent_count", "received_count")


def _only(placed: Placement, rank: int) -> Placement:
    """The placement of one rank, with all nodes."""
    names = ("node_id", "first", "last", "binding", "package_id", "numa_id", "core_id", "pu_id")
    names += ("n_pus", "movable")
    return replace(placed, **{name: getattr(placed, name)[rank : rank + 1] for name in names})
