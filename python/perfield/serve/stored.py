# SPDX-License-Identifier: BSD-3-Clause
"""What a page holds that shows a run without a server: parts of limited size, which `stored.js` answers from.

The index, part 0, names all others:

    {"run": as `about`, "values": {field: part}, "ranks_each": n, "mesh": {version: part},
     "own": {array: [part of each frame, null for none]}, "machine": [[wide, high, part]], "pairs": part,
     "timelines": {frame: part}, "ranks": part, "findings": part, "report": part or a sentence}
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np

from perfield.analysis.observed import PAIRS
from perfield.analysis.pair_keys import pair_keys
from perfield.derived.pairs import added_up
from perfield.output.survey import COMPUTING, cost_field, waiting_of
from perfield.output.titles import region_titles
from perfield.pictures.lines import DRAWN
from perfield.serve import timeline
from perfield.serve.about import about, scale
from perfield.serve.compact import compact, rounded, zipped, zipped_json
from perfield.serve.followed import View, is_stored
from perfield.serve.messages import by_weight, chosen, known_pairs
from perfield.serve.one_rank import MOST_PARTNERS, MOST_REGIONS, place_of
from perfield.serve.packed import unpacked
from perfield.serve.ranges import range_of
from perfield.serve.reduced import Values, reduced
from perfield.text import counted, in_bytes

SHARES = {"mesh": 0.3, "own": 0.15, "timelines": 0.1}  # of the bytes
MOST_PAIRS = 500_000  # rows of messages, of all frames
MOST_STATES = 24  # of the simulation's own fields
SIZES = ((360, 280), (520, 320), (760, 360), (1040, 520), (1600, 560))  # of the machine, in pixels


class Parts:
    """Parts of the page; equal ones are one."""

    def __init__(self) -> None:
        self.data: list[bytes] = [b""]
        self._known: dict[bytes, int] = {}

    def add(self, data: bytes) -> int:
        """The number of a part."""
        key = sha256(data).digest()
        if key not in self._known:
            self._known[key] = len(self.data)
            self.data.append(data)
        return self._known[key]

    @property
    def size(self) -> float:
        """Of all parts, in base64."""
        return sum(len(data) for data in self.data) * 4 / 3


def stored(view: View, most_bytes: float) -> tuple[list[bytes], list[str]]:
    """The parts of the page, each by gzip, in about so many bytes; sentences on what they hold less of.

    Raises RunError if the run cannot be read.
    """
    parts, words = Parts(), about(view)
    notes: list[str] = []
    index: dict[str, Any] = {"values": {}, "mesh": {}, "own": {}, "machine": [], "timelines": {}}
    cards = _add_findings(view, parts, index)
    if not words["mesh"].get("reason"):
        _add_mesh(view, parts, index, words, notes, most_bytes)
    if not words["machine"].get("reason"):
        _add_machine(view, parts, index)
    wanted = {card["field"] for card in cards} - {None}
    names = [name for name in view.names if name in view.run.all_fields.names or name in wanted]
    values = reduced(view, names, max(0.8 * (most_bytes - parts.size), most_bytes / 10))
    rows = _fields(view, values)
    index["ranks_each"] = values.ranks_each
    index["values"] = {row["name"]: parts.add(values.zipped[row["name"]]) for row in rows}
    notes += values.sentences(view)
    if len(view.run):
        _add_pairs(view, parts, index, values, notes)
    kept = _add_timelines(view, parts, index, values.frames_each, cards, notes, most_bytes)
    for card in cards:
        if card["frame"] is not None:
            card["frame"] //= values.frames_each
    index["findings"] = parts.add(zipped_json({"findings": cards}))
    if view.run.state == "running":
        notes.append("The program was still running when this page was written.")
    shown = {**words, "live": False, "logged": kept, "fields": rows, "notes": [*notes, *words["notes"]]}
    shown = {**shown, "surveyed": shown["n_frames"]}
    index["run"] = _joined(shown, values.frames_each)
    parts.data[0] = zipped_json(index)
    return parts.data, notes


def _joined(words: dict[str, Any], each: int) -> dict[str, Any]:
    """The run in words, with so many frames as one."""
    if each == 1:
        return words
    frames, n_frames = words["frames"], words["n_frames"]
    last = [min(begin + each, n_frames) - 1 for begin in range(0, n_frames, each)]
    columns = {name: [column[at] for at in last] for name, column in frames.items()}
    columns["title"] = [
        f"steps {frames['step'][begin]} to {frames['step'][end]} together"
        for begin, end in zip(range(0, n_frames, each), last)
    ]
    return {
        **words,
        "n_frames": len(last),
        "surveyed": len(last),
        "first_frame": words["first_frame"] // each,
        "frames": columns,
    }


def _fields(view: View, values: Values) -> list[dict[str, Any]]:
    """Rows of the fields that have values, with their ranges."""
    known, peaks = {}, {}
    for name, table in values.tables.items():
        finite = table[:, np.isfinite(table).any(axis=0)]
        if finite.size:
            most = np.fmax.reduce(table, axis=1)
            peaks[name] = most[np.isfinite(most)].astype(float), float(np.nanmin(finite))
            known[name] = range_of(*peaks[name])
    view = replace(view, ranges={name: found for name, found in known.items() if name in view.run.columns})
    rows = []
    for row in about(view)["fields"]:
        if row["name"] in known:
            rows.append(scale(view, row["name"], *peaks[row["name"]]) if row["computed"] else row)
    return [row for row in rows if row]


def _add_findings(view: View, parts: Parts, index: dict[str, Any]) -> list[dict[str, Any]]:
    """Adds the report; returns the findings as cards."""
    if view.reporter is None:
        index["report"] = "This page holds no report; call perfield report RUN."
        return []
    try:
        index["report"] = parts.add(zipped(view.reporter.page(view.run, linked=False).encode()))
    except (ValueError, OSError) as error:
        index["report"] = str(error)
    return [dict(card) for card in view.reporter.cards(view.run)]


def _add_machine(view: View, parts: Parts, index: dict[str, Any]) -> None:
    from perfield.serve.machine import machine

    for wide, high in SIZES:
        arrays, header = unpacked(machine(view, None, (wide, high)))
        index["machine"].append([wide, high, parts.add(compact(arrays, **header))])
        if header["overview"]:
            return  # which is the same for all sizes


def _add_mesh(
    view: View,
    parts: Parts,
    index: dict[str, Any],
    words: dict[str, Any],
    notes: list[str],
    most_bytes: float,
) -> None:
    """Adds the versions of the mesh that have room, evenly spread, and own fields on them."""
    from perfield.pictures.blocks import MeshError, MeshMissingError
    from perfield.serve.surface import mesh

    of_frames = np.array(words["frames"]["mesh_version"])
    versions = np.array(list(dict.fromkeys(of_frames.tolist())), int)
    room, size = SHARES["mesh"] * most_bytes, 0.0
    kept: dict[int, bytes] = {}
    own: list[dict[str, str]] = list(words["own_fields"])
    for number in _from_coarse(len(versions)):
        version = int(versions[number])
        try:
            arrays, header = unpacked(mesh(view, version))
        except (MeshError, MeshMissingError) as error:
            words["mesh"] = {"reason": str(error)}
            return
        data = compact(arrays, **header)
        if size + len(data) * 4 / 3 > room:
            break
        own = own or header["own_fields"]
        kept[version], size = data, size + len(data) * 4 / 3
    if not kept:
        words["mesh"] = {
            "reason": f"The mesh takes {in_bytes(len(data))}, too much for this file; perfield serve has it."
        }
        return
    if len(kept) < len(versions):
        notes.append(
            f"{len(kept)} of {counted(len(versions), 'version')} of the mesh are here; other steps show "
            "the one before."
        )
    position, shown = 0, []  # a frame with the version that is shown, for each frame
    for frame, version in enumerate(of_frames.tolist()):
        position = frame if version in kept else position
        shown.append(position)
    words["frames"] = {**words["frames"], "mesh_version": of_frames[shown].tolist()}
    words["mesh"] = {"versions": sorted(kept), "late": False}
    index["mesh"] = {version: parts.add(data) for version, data in kept.items()}
    _add_own(view, parts, index, own, shown, notes, SHARES["own"] * most_bytes)


def _from_coarse(n: int) -> list[int]:
    """0 to n - 1: the first, then those that lie between, ever closer."""
    order, step = dict.fromkeys([0] if n else []), n
    while step > 1:
        step = -(-step // 2)
        order.update(dict.fromkeys(range(0, n, step)))
        if step == 1:
            break
    return list(order)


def _add_own(
    view: View,
    parts: Parts,
    index: dict[str, Any],
    own: list[dict[str, str]],
    shown: list[int],
    notes: list[str],
    most_bytes: float,
) -> None:
    """Adds the simulation's own fields in the states that were stored, at most MOST_STATES of them."""
    from perfield.pictures.blocks import MeshError, MeshMissingError
    from perfield.serve.surface import own_field

    if not own:
        return
    state = _states(view, shown)
    states = list(dict.fromkeys(state))
    some = set(states) if len(states) <= MOST_STATES else {
        states[n] for n in np.linspace(0, len(states) - 1, MOST_STATES).astype(int)
    }  # fmt: skip
    size, last, lacking = 0.0, {}, set()
    for array in (each["name"] for each in own):
        part_of: dict[Any, int | None] = {}
        column: list[int | None] = []
        for frame, position in enumerate(shown):
            key = state[frame]
            if key in some and key not in part_of:
                try:
                    arrays, header = unpacked(own_field(view, array, position))
                except (MeshError, MeshMissingError):
                    part_of[key] = None
                else:
                    data = compact({"values": rounded(arrays["values"])}, **header)
                    fits = size + len(data) * 4 / 3 <= most_bytes
                    size += len(data) * 4 / 3 if fits else 0
                    part_of[key] = parts.add(data) if fits else None
                    lacking |= set() if fits else {array}
            if key in part_of:
                last[key[0]] = part_of[key]
            column.append(part_of.get(key, last.get(key[0])))  # of the same mesh
        index["own"][array] = column
        last = {}
    if len(some) < len(states):
        notes.append(f"The simulation's own fields are here in {len(some)} of {len(states)} states.")
    if lacking:
        notes.append(f"Own fields have too much data for this page: {', '.join(sorted(lacking))}.")


def _states(view: View, shown: list[int]) -> list[tuple[Any, Any]]:
    """What the own fields of each frame depend on: the mesh, and when they were stored."""
    versions = view.frames["mesh_version"]
    if is_stored(view.pieces):
        indexes = {at: view.pieces.fields_index(view.run.frame(at)) for at in dict.fromkeys(shown)}
        return [(versions[at], indexes[at]) for at in shown]
    if not hasattr(view.pieces, "mesh_times"):
        return [(versions[at], 0) for at in shown]
    stamps = (np.array(view.frames[name], float) for name in ("time", "begin_s"))  # None becomes NaN
    of_frames = list(view.pieces.mesh_times(*stamps))
    return [(versions[at], of_frames[at]) for at in shown]


def _add_pairs(view: View, parts: Parts, index: dict[str, Any], values: Values, notes: list[str]) -> None:
    """Adds the messages of each frame, and what is known of each rank."""
    run, each, n_ranks = view.run, values.frames_each, view.run.n_ranks
    n_frames = -(-len(run) // each)
    most = max(DRAWN, MOST_PAIRS // n_frames)
    rows, words, left = [], {}, 0
    sent, received = np.zeros(0, PAIRS), np.zeros(0, PAIRS)
    unknown = np.zeros((2, n_ranks))
    for at in range(n_frames):
        positions = np.arange(at * each, min((at + 1) * each, len(run)))
        tables = [added_up([run.rows(positions, name)], PAIRS) for name in ("messages", "received")]
        known = [known_pairs(table, n_ranks) for table in tables]
        for way, end in enumerate(("source", "target")):
            lost = tables[way][~known[way]]
            lost = lost[(lost[end] >= 0) & (lost[end] < n_ranks)]
            unknown[way] += np.bincount(lost[end], lost["bytes"].astype(float), n_ranks)
        pairs, back = (table[some] for table, some in zip(tables, known))
        sent, received = added_up([sent, pairs], PAIRS), added_up([received, back], PAIRS)
        drawn, others, in_words = chosen(pairs, DRAWN)
        others = by_weight(others)[: most - len(drawn)]
        left += len(pairs) - len(drawn) - len(others)
        rows.append(np.concatenate([drawn, others]))
        if in_words:
            words[at] = in_words
    if left:
        notes.append(f"Messages of a step are those of its {most:,} pairs with the most bytes.")
    joined = np.concatenate(rows)
    begin = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    ends = {name: joined[name].astype(np.int32) for name in ("source", "target")}
    amounts = {name: rounded(joined[name]) for name in ("count", "bytes")}
    index["pairs"] = parts.add(compact({"begin": begin, **ends, **amounts}, drawn=DRAWN, in_words=words))
    index["ranks"] = parts.add(_ranks(view, values, sent, received, unknown))


def _add_timelines(
    view: View,
    parts: Parts,
    index: dict[str, Any],
    frames_each: int,
    cards: list[dict[str, Any]],
    notes: list[str],
    most_bytes: float,
) -> list[int]:
    """Adds the logged steps that have room, those of findings first, then evenly spread; returns these."""
    known = timeline.logged(view)
    if known and frames_each > 1:
        notes.append("Frames are joined, so none shows what ranks did inside a step; perfield serve does.")
        return []
    wanted = [card["frame"] for card in cards if card["frame"] in known]
    wanted += [known[number] for number in _from_coarse(len(known))]
    room = min(SHARES["timelines"] * most_bytes, most_bytes - parts.size)
    for frame in dict.fromkeys(wanted):
        arrays, header = timeline.parts(view, frame)
        data = compact(arrays, **header)
        room -= len(data) * 4 / 3
        if room < 0:
            break
        index["timelines"][frame] = parts.add(data)
    kept = sorted(index["timelines"])
    if len(kept) < len(known):
        notes.append(f"{len(kept)} of {counted(len(known), 'logged step')} can be seen from inside here.")
    return kept


def _ranks(view: View, values: Values, sent: np.ndarray, received: np.ndarray, unknown: np.ndarray) -> bytes:
    """Each rank's place, partners and regions, as `one_rank` has them but for the series."""
    known, n_ranks = set(values.tables), view.run.n_ranks
    stems = [region.field for region in view.run.known_regions]
    titles = region_titles(view.run.known_regions)
    costs = [(titles[stem], cost_field(known, stem)) for stem in stems if cost_field(known, stem) in known]
    sums = np.array([np.nansum(values.tables[name], axis=0) for _, name in costs])
    seen = np.array([np.isfinite(values.tables[name]).any(axis=0) for _, name in costs])
    group = np.arange(n_ranks) // values.ranks_each
    keys = [pair_keys(table["source"], table["target"]) for table in (sent, received)]
    received = np.concatenate([received, sent[~np.isin(*keys)]])  # what a rank got without receiving it
    partners: list[dict[int, list[float]]] = [{} for _ in range(n_ranks)]
    for table, own, other, at in ((sent, "source", "target", 0), (received, "target", "source", 1)):
        columns = (table[name].tolist() for name in (own, other, "bytes", "count"))
        for rank, peer, size, count in zip(*columns):
            row = partners[rank].setdefault(peer, [0, 0, 0, 0])
            row[at], row[at + 2] = size, count
    described = []
    for rank, found in enumerate(partners):
        order = sorted(found, key=lambda peer: (-found[peer][0] - found[peer][1], peer))
        regions = [n for n in range(len(costs)) if seen[n][group[rank]]]
        regions.sort(key=lambda n: -sums[n][group[rank]])
        described.append(
            {
                "place": place_of(view, rank)["place"],
                "partners": [[peer, *found[peer]] for peer in order[:MOST_PARTNERS]],
                "more_partners": max(0, len(order) - MOST_PARTNERS),
                "unknown": unknown[:, rank].tolist(),
                "regions": regions[:MOST_REGIONS],
                "left_out": max(0, len(regions) - MOST_REGIONS),
            }
        )
    whole = [name for name in (COMPUTING, waiting_of(known), "step_time_s") if name in known]
    return zipped_json({"whole": list(dict.fromkeys(whole)), "regions": costs, "ranks": described})
