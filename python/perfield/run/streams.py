# SPDX-License-Identifier: BSD-3-Clause
"""The stream files of one folder of a run, as one growing table of entries."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import numpy as np

from perfield import _bridge
from perfield.catalyst_scripts.safe_open import why_unsafe
from perfield.fields.columns import Places
from perfield.run.errors import RunError
from perfield.run.json_text import NestedTooDeepError, parse_json
from perfield.run.schema import checked

NAMES = (
    *("rank", "region", "place", "clock", "step", "mesh", "end", "field", "sites", "quantity"),
    *("definition", "defined", "reference", "events", "communicator", "samples", "modules", "paths"),
)
TYPES = {name: number for number, name in enumerate(NAMES, 1)}
# Of the bodies that this perfield reads; steps are full or packed.
VERSIONS = {name: {"step": (3, 4), "samples": (2,)}.get(name, (1,)) for name in NAMES}
_AT_ONCE = 4  # files that are read at a time
_OFFSET_BITS = 44  # 16 TB
_MOST_MISFITS = 100  # sentences on fields that are left out


class Rows:
    """Entries of some files, which can be read.

    paths : of the files. places : structured array (n_entries,): offset, rank, span, ... file : (n_entries,)
    int, index of the entry's file in `paths`.
    """

    paths: list[Path]
    places: np.ndarray
    file: np.ndarray

    def steps(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
        """Step entries file by file: (row numbers, tables as _bridge.read_steps gives them)."""
        for path, at in self._by_file(rows):
            here = rows[at]
            here = here[np.argsort(self.places["offset"][here])]
            places = self.places[here]
            yield here, _bridge.read_steps(path, places["offset"], places["reference_offset"])

    def in_steps(
        self, rows: np.ndarray, step: np.ndarray
    ) -> Iterator[tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]]:
        """The same tables, and of each entry its step and rank. step : (n_rows,), the step of each."""
        order = np.argsort(rows)
        for here, read in self.steps(rows):
            ranks = self.places["rank"][here].astype(np.int64)
            yield read, step[order][np.searchsorted(rows[order], here)], ranks

    def by_file(self, rows: np.ndarray) -> Iterator[tuple[bytes, np.ndarray]]:
        """The files of some entries, and which of the entries are in each, by their offsets."""
        for path, at in self._by_file(rows):
            yield path, at[np.argsort(self.places["offset"][rows[at]], kind="stable")]

    def places_of(self, steps: Sequence[np.ndarray]) -> Places:
        """Where the step entries of several steps lie. steps : row numbers of the entries of each."""
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *steps])
        step = np.repeat(np.arange(len(steps)), [len(part) for part in steps])
        places = self.places[rows]
        paths = [os.fsencode(path) for path in self.paths]
        where = (self.file[rows], places["offset"], places["reference_offset"])
        return Places(paths, *where, step, places["rank"], len(steps))

    def only(self, rows: np.ndarray, period: int) -> Rows:
        """Some of these entries, for another process. period : after so many entries much is alike."""
        return SomeRows(self.paths, self.places[rows][list(_KEPT)], self.file[rows], period)

    def _by_file(self, rows: np.ndarray) -> Iterator[tuple[bytes, np.ndarray]]:
        """The files of some entries, and which of the entries are in each."""
        file = self.file[rows]
        for number in np.unique(file).tolist():
            yield os.fsencode(self.paths[number]), np.flatnonzero(file == number)


class SomeRows(Rows):
    """Entries that were chosen; pickling packs them to a few bytes each."""

    def __init__(self, paths: list[Path], places: np.ndarray, file: np.ndarray, period: int):
        self.paths = [path.absolute() for path in paths]
        self.places = np.empty(len(places), dtype=list(_KEPT.items()))
        for name in _KEPT:
            self.places[name] = places[name]
        self.file = file.astype(np.uint32)
        self._period = max(1, period)

    def __reduce__(self) -> tuple:
        columns = [self.places[name] for name in _KEPT] + [self.file]
        return _unpacked, (self.paths, [_packed(column, self._period) for column in columns], self._period)


def _packed(column: np.ndarray, period: int) -> bytes:
    """Whole numbers as their differences to those before, compressed."""
    differences = column.copy()
    differences[period:] -= column[:-period]  # may wrap around, and back
    return zlib.compress(differences.tobytes(), 1)


def _unpacked(paths: list[Path], packed: list[bytes], period: int) -> SomeRows:
    columns = []
    for data, kind in zip(packed, (*_KEPT.values(), "u4")):
        differences = np.frombuffer(zlib.decompress(data), kind)
        padded = np.zeros(-(-len(differences) // period) * period, kind)
        padded[: len(differences)] = differences
        columns.append(np.cumsum(padded.reshape(-1, period), axis=0, dtype=kind).ravel()[: len(differences)])
    places = dict(zip(_KEPT, columns))
    table = np.empty(len(columns[-1]), dtype=list(_KEPT.items()))
    for name in _KEPT:
        table[name] = places.pop(name)
    made = SomeRows.__new__(SomeRows)
    made.paths, made.places, made.file, made._period = paths, table, columns[-1], period
    return made


class Streams(Rows):
    """All `.pf` files of a folder.

    places : structured array (n_entries,), by file and offset: offset, index, rank, sequence, type, ...
    file : (n_entries,) int, index of the entry's file in `paths`. refused : sentences on what is not a
    regular file of the run, and was not opened.
    """

    def __init__(self, folder: Path, analysis: Path, run_id: int, until: Mapping[str, int] | None = None):
        """until : by name of a file, the offset of its last entry; entries behind it are left out."""
        self.folder = folder
        self.paths: list[Path] = []
        self._analysis, self._run_id, self._until = analysis, run_id, until
        self._indexes: list[_bridge.StreamIndex] = []
        self._json: dict[int, dict] = {}
        self._misfits: dict[str, None] = {}  # sentences on fields that are left out
        self._raw: dict[int, bytes] = {}
        self.refused: dict[str, None] = {}
        self._lengths: list[int] = []
        self.places = np.zeros(0, dtype=_EMPTY)
        self.file = np.zeros(0, dtype=np.int64)
        self._of_type: tuple[np.ndarray, dict[str, np.ndarray]] = self.places, {}
        self.refresh()

    def refresh(self) -> bool:
        """Reads newly written entries and returns whether it found any. Known entries keep their place in
        `places` unless a damaged part has become readable."""
        known = set(self.paths)
        self.refused.clear()
        for path in [] if self._is_refused(self.folder / "x.pf") else sorted(self.folder.glob("*.pf")):
            if path not in known and not self._is_refused(path):
                stored = self._analysis / f"index-{self.folder.name}-{path.stem}.pfi"
                self.paths.append(path)
                self._indexes.append(
                    _bridge.StreamIndex(os.fsencode(path), os.fsencode(stored), self._run_id)
                )
        if len(self._indexes) > 2 * _AT_ONCE:  # the file system may take its time for each
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                list(pool.map(_bridge.StreamIndex.refresh, self._indexes))
        else:
            for index in self._indexes:
                index.refresh()
        lengths = [len(index) for index in self._indexes]
        if lengths == self._lengths:
            return False
        self._lengths = lengths
        tables = [index.places for index in self._indexes]
        if self._until is not None:
            last = [self._until.get(path.name, -1) for path in self.paths]
            tables = [table[table["offset"].astype(np.int64) <= end] for table, end in zip(tables, last)]
        self.file = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        self.places = np.concatenate(tables)
        return True

    def _is_refused(self, path: Path) -> bool:
        """Whether a file is a link, a pipe or the like, which is not opened but is damage."""
        if words := why_unsafe(path, self.folder.parent):
            self.refused[words] = None
        return bool(words)

    @property
    def until(self) -> dict[str, int]:
        """By name of each file, the offset of the last entry that is known; -1 if none is."""
        begins = np.searchsorted(self.file, np.arange(len(self.paths) + 1))
        return {
            path.name: int(self.places["offset"][begin:end].astype(np.int64).max(initial=-1))
            for path, begin, end in zip(self.paths, begins, begins[1:])
        }

    def of_type(self, name: str) -> np.ndarray:
        """Row numbers in `places` of the entries of a type that this version knows."""
        if self._of_type[0] is not self.places:  # a refresh replaces it
            self._of_type = self.places, {}
        found = self._of_type[1]
        if name not in found:
            rows = np.flatnonzero(self.places["type"] == TYPES[name])
            version = self.places["version"][rows]
            found[name] = rows[np.logical_or.reduce([version == known for known in VERSIONS[name]])]
            found[name].setflags(write=False)
        return found[name]

    def json(self, name: str) -> Iterator[tuple[int, dict]]:
        """(rank, body) of the entries of a type whose body is JSON; each is read and parsed once.

        A body that is not a JSON object counts as empty. Raises RunError if one nests too deep to be
        perfield's."""
        return self.json_of(name, self.of_type(name))

    def json_of(self, name: str, rows: np.ndarray) -> Iterator[tuple[int, dict]]:
        """The same of some entries. rows : their row numbers in `places`."""
        keys = self._keys(rows)
        unread = [n for n, key in enumerate(keys) if key not in self._json]
        parsed = _PARSED.get(name, _parsed)
        for n, body in zip(unread, self.bodies(rows[unread])):
            file, offset = keys[n] >> _OFFSET_BITS, keys[n] % (1 << _OFFSET_BITS)
            try:
                self._json[keys[n]], wrong = parsed(name, body)
                for one in wrong if len(self._misfits) < _MOST_MISFITS else ():
                    rank = self.places["rank"][rows[n]]
                    sentence = (
                        f"{self.folder.name}/{self.paths[file].name}: the {name} entry of rank {rank} at "
                        f"byte {offset} {one}; it is left out."
                    )
                    self._misfits[sentence] = None
            except NestedTooDeepError as error:
                raise RunError(
                    f"{self.paths[file]}: the {name} entry at byte {offset} was not written by "
                    f"perfield ({error}); copy the run again from where it was measured."
                ) from None
        return zip(self.places["rank"][rows].tolist(), [self._json[key] for key in keys])

    def raw(self, name: str) -> list[bytes]:
        """Bodies of the entries of a type, in the order of `of_type`; each is read once."""
        rows = self.of_type(name)
        keys = self._keys(rows)
        unread = [n for n, key in enumerate(keys) if key not in self._raw]
        for n, body in zip(unread, self.bodies(rows[unread])):
            self._raw[keys[n]] = body or b""
        return [self._raw[key] for key in keys]

    def bodies(self, rows: np.ndarray) -> list[bytes | None]:
        """Bodies of entries, None for those that can no longer be read."""
        bodies: list[bytes | None] = [None] * len(rows)
        for path, here in self._by_file(rows):
            for at, body in zip(here, _bridge.read_bodies(path, self.places["offset"][rows[here]])):
                bodies[at] = body
        return bodies

    def openings(self, rows: np.ndarray, most: int) -> list[bytes]:
        """The first bytes of entries' bodies, at most `most`, without checking the CRC."""
        openings = [b""] * len(rows)
        for path, here in self._by_file(rows):
            offsets = self.places["offset"][rows[here]]
            for at, opening in zip(here, _bridge.read_openings(path, offsets, most)):
                openings[at] = opening
        return openings

    def message_calls(self) -> set[int]:
        """Numbers of the calls that occur in any step's messages."""
        return {call for index in self._indexes for call in index.message_calls}

    def other_regions(self) -> bool:
        """Whether any step has time of `other regions`."""
        return any(index.other_regions for index in self._indexes)

    def several_threads(self) -> bool:
        """Whether several threads of a rank were in the same region in some step."""
        return any(index.several_threads for index in self._indexes)

    def damage(self, running: bool) -> list[str]:
        """One sentence for everything damaged, lost, foreign or too new. running : the run still writes,
        so an incomplete entry at a file's end is not damage.
        """
        sentences = list(self.refused)
        begins = np.searchsorted(self.file, np.arange(len(self.paths) + 1))
        for number, (path, index) in enumerate(zip(self.paths, self._indexes)):
            name = f"{self.folder.name}/{path.name}"
            holes = list(index.damage)
            if not running:
                holes += index.waiting + [index.pending] * bool(index.pending[1])
            for offset, length, sentence in holes:
                sentences.append(f"{name}: {length} bytes at {offset} were passed over: {sentence}.")
            for run_id, count in sorted(index.strangers.items()):
                sentences.append(f"{name}: {count} entries of another run ({run_id:016x}) were ignored.")
            if not (running and index.waiting):  # they are gaps until they can be unpacked
                here = self.places[begins[number] : begins[number + 1]]
                sentences += [f"{name}: {gap}" for gap in _gaps(here)]
        sentences += self._misfits
        others = len(self.places) - sum(len(self.of_type(name)) for name in NAMES)
        if others:
            sentences.append(
                f"{self.folder.name}: {others} entries of another version of perfield were passed over; "
                "look at this run with the perfield that wrote it."
            )
        return sentences

    def _keys(self, rows: np.ndarray) -> list[int]:
        """What distinguishes entries from all others of these files, for ever."""
        return (self.file[rows] << _OFFSET_BITS | self.places["offset"][rows].astype(np.int64)).tolist()


# Of a frame's entries.
_KEPT = {"offset": "u8", "reference_offset": "u8", "rank": "i4", "span": "u4", "mesh_version": "u2"}
_EMPTY = (
    [("offset", "u8"), ("index", "u8"), ("body_bytes", "u4"), ("rank", "i4"), ("sequence", "u4")]
    + [(name, "u2") for name in ("type", "version", "kind", "flags", "mesh_version", "zero")]
    + [("span", "u4"), ("reference", "u4"), ("reference_offset", "u8")]
)


def _parsed(name: str, body: bytes | None) -> tuple[dict, list[str]]:
    try:
        values = parse_json((body or b"{}").decode("utf-8", "replace"))
    except NestedTooDeepError:
        raise
    except ValueError as error:
        return {}, [f"is not JSON ({error})"]
    return checked(name, values)


@lru_cache(maxsize=4096)  # where each rank has its own, they are equal
def _parsed_once(name: str, body: bytes | None) -> tuple[dict, list[str]]:
    return _parsed(name, body)


_PARSED = {"region": _parsed_once, "quantity": _parsed_once}


def _gaps(places: np.ndarray) -> list[str]:
    """Sentences on lost entries, found by the gaps in each rank's sequence."""
    order = np.lexsort((places["offset"], places["rank"]))
    rank, sequence = places["rank"][order], places["sequence"][order].astype(np.int64)
    first = np.ones(len(order), dtype=bool)
    first[1:] = rank[1:] != rank[:-1]
    before = np.where(first, -1, np.concatenate(([-1], sequence[:-1])) if len(order) else sequence)
    sentences = []
    for at in np.flatnonzero(sequence - before > 1):
        lost = sequence[at] - before[at] - 1
        entries = f"{lost} entries" if lost > 1 else "1 entry"
        verb = "are" if lost > 1 else "is"
        sentences.append(
            f"{entries} of rank {rank[at]} {verb} lost before its entry at {places['offset'][order[at]]} "
            f"(sequence {before[at] + 1} to {sequence[at] - 1})."
        )
    return sentences
