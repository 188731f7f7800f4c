# SPDX-License-Identifier: BSD-3-Clause
"""Whole runs whose entries are well formed and say something absurd: the values change, the checksums fit.

`base` gives the entries of a small run with all that perfield records; `changed` changes some of them, and
`write` makes a run directory of them.
"""

from __future__ import annotations

import copy
import json
import math
import random
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from twins import twin
from twins.events_twin import EVENT_KEYS, SEND, pack_events, unpack_events
from twins.samples_twin import module, pack_samples

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
HOSTS = ("node0", "node1")
CLOCK = {
    "reference_rank": 0, "monotonic_ns": 10**12, "offset_ns": -20_000, "drift_ppb": 3.5, "round_trip_ns": 900,
    "wander_ppb": 50, "compared_ns": [10**12, 10**12 + 10**10], "uncertainty_ns": 450, "method": "exchange",
}  # fmt: skip
WORLD = 7  # a name of a communicator
STEPS = 4
MANY_STEPS, WITH_MANY = 140, 0.02  # as many as regimes need, and the share of the runs that have them
# fmt: off
ODD_NUMBERS = (
    0, 1, 2, 3, -1, -2, -3, 255, 4096, 65535, 10**6, 1 << 24, 10**9, (1 << 31) - 1, -(1 << 31), 1 << 32,
    1 << 48, (1 << 62) - 1, (1 << 63) - 1, -(1 << 63), (1 << 64) - 1,
)
ODD_VALUES = (
    None, True, False, 0, -1, 1.5, 1e308, -1e308, math.nan, math.inf, 10**30, 1 << 31, (1 << 63) - 1, 1 << 24,
    "", " ", "x" * 3000, "\ud800", "a\n\x1b[31mb", "\0", "0-99999999", "1e400", "../../x", "%s{0}$HOME'\"",
    "é²", [], {}, [None], [[]], [1, 2, 3], ["a", "a"], [math.nan] * 3, {"a": [1]}, {"": ""},
)
# fmt: on
_COLUMN = re.compile(r"(\d*)([a-zA-Z])")
_RANGE = {"i": (32, True), "I": (32, False), "H": (16, False), "h": (16, True), "q": (64, True)}


@cache
def base(steps: int = STEPS) -> tuple[dict, list[tuple[str, dict]]]:
    """run.json, and (room, entry) of a run of four ranks on two hosts, by file and offset."""
    with tempfile.TemporaryDirectory() as place:
        path = twin.write_run(
            Path(place) / "run", ranks=4, steps=steps, hosts=HOSTS, change_rank=_with_clock,
            clocks=tuple((rank, CLOCK) for rank in range(4)), config={"node_name_pattern": ""},
        )  # fmt: skip
        found = []
        for room in ("stream", "mesh"):
            for file in sorted((path / room).glob("*.pf")):
                entries = [{**entry, "file": file.name} for entry in twin.decode(file.read_bytes())[0]]
                found += [(room, entry) for entry in entries]
                if room == "stream":
                    found += [(room, entry) for entry in _more(file.name, {e["rank"] for e in entries})]
        return json.loads((path / "run.json").read_text()), found


@cache
def meshes() -> list[bytes]:
    """Bodies of mesh entries with small blocks of every kind, with ghosts and fields of points and cells."""
    points = [x for z in range(2) for y in range(2) for x in range(3) for x in (x, y, z)]
    extent = {"block": 0, "extent": [0, 2, 0, 1, 0, 1]}
    of_axes = [
        {"role": axis, "type": "f8", "values": [0, 1, 2][:n]} for axis, n in (("x", 3), ("y", 2), ("z", 2))
    ]
    of_points = [{"role": "points", "type": "f4", "components": 3, "values": points}]
    hexahedra = [0, 1, 4, 3, 6, 7, 10, 9, 1, 2, 5, 4, 7, 8, 11, 10]
    of_cells = [
        {"role": "connectivity", "type": "i8", "values": hexahedra},
        {"role": "offsets", "type": "i8", "values": [0, 8, 16]},
        {"role": "types", "type": "u1", "values": [12, 12]},
    ]
    others = [
        {"role": "ghosts", "type": "u1", "association": "cell", "values": [0, 1]},
        {"role": "field", "type": "f8", "name": "t", "association": "point", "values": range(12)},
        {
            "role": "field",
            "type": "f4",
            "name": "u",
            "association": "cell",
            "components": 3,
            "values": range(6),
        },
    ]
    return [
        twin.array_body({**described, "kind": kind}, [*arrays, *others])
        for kind, described, arrays in (
            ("image", {**extent, "origin": [0, 0, 0], "spacing": [1, 1, 1]}, []),
            ("rectilinear", extent, of_axes),
            ("structured", extent, of_points),
            ("unstructured", {"block": 0}, [*of_points, *of_cells]),
        )
    ]


def _with_clock(rank: int, values: dict) -> None:
    values |= {
        "monotonic_ns": 10**12 + rank,
        "realtime_error_ns": 1000,
        "topology_addr": f"top.s{rank}.n{rank}",
    }


def _more(file: str, ranks: set[int]) -> list[dict]:
    """Entries of the kinds that `twin.write_run` does not write."""
    text = {"name": "shared", "file": "a.cpp", "line": 3, "block": -1, "armed_at": 0}
    event = {"kind": SEND, "call": twin.ISEND, "channel": 3, "bytes": 100}
    found = []
    for rank in sorted(ranks):
        sent = [
            {**event, "peer": (rank + 1) % 4, "number": n, "begun": 10**7 + n, "wait_end": 10**7 + 90 * n}
            for n in range(1, 4)
        ]
        world = {"size": 4, "rank": rank, "label": "world", "dims": [2, 2], "periodic": [False, True]}
        samples = [(10**12 + 10**7 + n, 0, [0x1000 + n, 0x2000]) for n in range(5)]
        bodies = [
            ("definition", text, twin.definition_hash(twin.json_body(text))),
            ("defined", {"rows": [(twin.definition_hash(twin.json_body(text)), 3, "region")]}, 0),
            ("paths", {"rows": [(1, 0, 1), (2, 1, 2)]}, 0),
            ("place", {"cpuset": f"{rank}-{rank + 1}", "cpusets_of_threads": ["0", "1"]}, 0),
            ("communicator", world, WORLD),
            ("sites", {"sites": [{"module": 0, "offset": "1f", "count": 4}], "once": 3, "modules": ["a"]}, 0),
            ("modules", {"modules": [module("/bin/a", 0x1000)]}, 0),
            ("samples", pack_samples(samples), 0),
            ("events", unpack_events(pack_events(sent)), 1),
        ]
        for n, (type, body, index) in enumerate(bodies):
            found.append({
                "type": type, "version": twin.VERSIONS[type], "rank": rank, "sequence": 1000 + n,
                "index": index, "run_id": twin.RUN_ID, "body": body, "file": file,
            })  # fmt: skip
    return found


def changed(rng: random.Random) -> tuple[dict, list[tuple[str, dict]]]:
    """A run with one to four changes."""
    whole = base(MANY_STEPS if rng.random() < WITH_MANY else STEPS)
    run, entries = copy.deepcopy(whole[0]), list(whole[1])

    def own(at: int) -> dict:
        """The entry at this place, which may be changed: unchanged ones are those of `base`."""
        entries[at] = (entries[at][0], copy.deepcopy(entries[at][1]))
        return entries[at][1]

    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        kind = rng.random()
        at = rng.randrange(len(entries))
        entry = entries[at][1]
        if kind < 0.06:
            change_json(run, rng)
        elif kind < 0.14:
            field, among = rng.choice(
                (("rank", ODD_NUMBERS), ("index", ODD_NUMBERS), ("sequence", ODD_NUMBERS),
                 ("version", (0, 1, 2, 9)), ("type", (*twin.NAMES, 0, 99)), ("run_id", (0, 1)))
            )  # fmt: skip
            value = rng.choice(among)
            every = rng.random() > 0.8  # entry of its rank
            for n in (
                [n for n, (_, one) in enumerate(entries) if one["rank"] == entry["rank"]] if every else [at]
            ):
                own(n)[field] = value
        elif kind < 0.18:
            del entries[at]
        elif kind < 0.22:
            entries[at:at] = [entries[rng.randrange(len(entries))]] * rng.choice((1, 3))
        elif kind < 0.24:
            entries[:] = [one for one in entries if one[1]["rank"] != entry["rank"]]
        elif kind < 0.28:
            entries[:] = [one for one in entries if one[1]["type"] != entry["type"]]
        elif isinstance((entry := own(at))["body"], bytes):
            entry["body"] = _change_bytes(entry["body"], rng)
        elif entry["type"] in ("step", "reference"):
            _change_step(entry["body"], rng)
        elif entry["type"] == "events" and _are(entry["body"].get("events"), dict):
            _change_number(rng.choice([entry["body"], *entry["body"]["events"]]), rng)
        elif entry["type"] in ("defined", "paths") and _are(rows := entry["body"].get("rows"), (tuple, list)):
            row = list(rng.choice(rows))
            row[rng.randrange(2)] = rng.choice(ODD_NUMBERS)
            rows.append(tuple(row))
        else:
            change_json(entry["body"], rng)
        if not entries:
            return whole
    return run, entries


def _are(rows: Any, kind: type | tuple[type, ...]) -> bool:
    """Whether these are rows of a table: a changed type may be that of another body."""
    return isinstance(rows, list) and bool(rows) and all(isinstance(row, kind) for row in rows)


def _change_bytes(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 2, 8))):
        if changed:
            changed[rng.randrange(len(changed))] = rng.choice((0, 1, 127, 128, 255))
    return bytes(changed)


def _change_number(row: dict, rng: random.Random) -> None:
    names = [name for name, value in row.items() if isinstance(value, (int, float))]
    if names:
        name = rng.choice(names)
        near = (row[name] + 1, row[name] - 1, row[name] * 1000)
        row[name] = rng.choice(near if rng.random() < 0.2 else ODD_NUMBERS)


def _change_step(values: dict, rng: random.Random) -> None:
    table = values.get(rng.choice(list(twin.TABLES)))  # none in an entry that has lost its body
    if rng.random() < 0.3 or not table:
        _change_number(values, rng)
        if rng.random() < 0.1:
            values["time"] = rng.choice((math.nan, math.inf, -1e308, 1e-320))
    elif rng.random() < 0.1:
        table += [dict(rng.choice(table)) for _ in range(rng.choice((1, 50)))]
    else:
        _change_number(rng.choice(table), rng)


def change_json(values: Any, rng: random.Random) -> None:
    """Changes a value at any depth of objects and lists."""
    at = values
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(at[key], (dict, list)) and at[key] and rng.random() < 0.7:
            at = at[key]
            continue
        if rng.random() < 0.1:
            del at[key]
        else:
            at[key] = copy.deepcopy(rng.choice(ODD_NUMBERS if rng.random() < 0.3 else ODD_VALUES))
        return


def _fit(layout: str, values: list) -> list:
    """The values wrapped around to what the columns of a row hold."""
    codes = "".join(code * int(count or 1) for count, code in _COLUMN.findall(layout.lstrip("<")))
    fitted = []
    for code, value in zip(codes, values):
        if code == "d":
            fitted.append(float(value))
            continue
        bits, signed = _RANGE.get(code, (64, False))
        value = int(value) & ((1 << bits) - 1)
        fitted.append(value - (1 << bits) if signed and value >> (bits - 1) else value)
    return fitted


def body_of(entry: dict) -> bytes:
    """The bytes of a body, whatever its values are: as text where they have no place in its tables."""
    body = entry["body"]
    if isinstance(body, bytes):
        return body
    try:
        return _in_its_layout(body)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return twin.padded(json.dumps(body, default=str).encode("utf-8", "replace"))


def _in_its_layout(body: dict) -> bytes:
    if "label" in body and "measured_ns" in body:
        fixed = dict(zip(twin.STEP_KEYS, _fit(twin.STEP.format, [body[key] for key in twin.STEP_KEYS])))
        tables = {}
        for name, (layout, columns) in twin.TABLES.items():
            rows = [_fit(layout.format, [row.get(column, 0) for column in columns]) for row in body[name]]
            tables[name] = [dict(zip(columns, row)) for row in rows]
        return twin.step_body(**fixed, **tables)
    if "events" in body:
        events = [{key: int(event[key]) & (2**64 - 1) for key in EVENT_KEYS} for event in body["events"]]
        for event in events:
            event["kind"], event["flags"] = event["kind"] & 3, event["flags"] & 0xFF
        start = {key: int(body[key]) & 0xFFFFFFFF for key in ("first", "all")}
        return pack_events(events, **start, lost=(int(body["lost"]) & 0xFFFFFFFF, 0, 0))
    if "arrays" in body:
        return _array_body(body)
    if "rows" in body:
        rows = [[value if isinstance(value, str) else int(value) for value in row] for row in body["rows"]]
        if rows and isinstance(rows[0][-1], str):
            return twin.defined_body([(hash & (2**64 - 1), id & 0xFFFFFFFF, of) for hash, id, of in rows])
        return twin.paths_body([tuple(value & 0xFFFFFFFF for value in row) for row in rows])
    return twin.padded(json.dumps(body).encode("utf-8", "replace"))


def _array_body(body: dict) -> bytes:
    """A mesh or field entry whose description need not fit its arrays."""
    described, data = [], b""
    arrays = body["arrays"] if isinstance(body["arrays"], list) else []
    for array in arrays:
        values = array.get("values") if isinstance(array, dict) else None
        if isinstance(values, list) and all(isinstance(value, (int, float)) for value in values):
            data += b"".join(
                twin.struct.pack("<d", float(max(min(value, 1e300), -1e300))) for value in values
            )
            array = {key: value for key, value in array.items() if key != "values"}
        described.append(array)
    text = twin.padded(json.dumps({**body, "arrays": described if arrays else body["arrays"]}).encode())
    return twin.struct.pack("<II", len(text), 0) + text + data


def packed(entry: dict) -> bytes:
    """The bytes of an entry, with a header and checksums that fit."""
    type = twin.TYPES.get(entry["type"], entry["type"])
    number = {"rank": _fit("i", [entry["rank"]])[0], "index": entry["index"] & (2**64 - 1)}
    return twin.entry(
        type, body_of(entry), **number, sequence=entry["sequence"] & 0xFFFFFFFF, run_id=entry["run_id"],
        version=entry["version"],
    )  # fmt: skip


@cache
def packed_base() -> dict[int, bytes]:
    """The entries of both `base`, by their id."""
    return {id(entry): packed(entry) for steps in (STEPS, MANY_STEPS) for _, entry in base(steps)[1]}


def write(folder: Path, rng: random.Random) -> None:
    """Writes a changed run, sometimes with changed machine files and a network, into a folder."""
    run, entries = changed(rng)
    data: dict[str, bytes] = {}
    for room, entry in entries:
        file = f"{room}/{entry['file']}"
        data[file] = data.get(file, b"") + (packed_base().get(id(entry)) or packed(entry))
    for room in ("stream", "mesh", "machine"):
        (folder / room).mkdir(parents=True, exist_ok=True)
    for path, bytes_of in data.items():
        (folder / path).write_bytes(bytes_of)
    (folder / "run.json").write_text(json.dumps(run, indent=1), encoding="utf-8", errors="replace")
    if rng.random() < 0.2:
        text = rng.choice(_machines())
        if rng.random() < 0.7:
            text = re.sub(
                r'"\d+"', lambda found: f'"{rng.choice(ODD_NUMBERS)}"', text, count=rng.randrange(1, 9)
            )
        (folder / "machine" / f"{HOSTS[0]}.xml").write_text(text)
    if rng.random() < 0.1:
        (folder / "machine" / "network.txt").write_text(rng.choice(_networks()))


@cache
def _machines() -> list[str]:
    paths = sorted((FIXTURES / "machines").rglob("*.xml"))
    return [path.read_text() for path in paths if path.stat().st_size < 60_000]


@cache
def _networks() -> list[str]:
    return [path.read_text() for path in sorted((FIXTURES / "networks").iterdir())]
