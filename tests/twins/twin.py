# SPDX-License-Identifier: BSD-3-Clause
"""A second, slow implementation of the stream in plain Python; also makes runs for tests.

    from twins import twin

    twin.write_run(tmp_path / "perfield-run", ranks=4, steps=5)          # complete: state "finished"
    twin.write_run(path, ranks=8, steps=20, hosts=("a", "b"), ended=False)  # killed on two hosts

    def no_messages(rank, step, entry):  # change or add anything of a step entry before it is written
        entry["messages"] = []
    twin.write_run(path, change_step=no_messages)

All values of `write_run` are known in closed form (ring of messages, unit cube cut in slabs along x):
`solve` takes 1 ms * (rank + 1) + 1 us * step, `exchange` 0.2 ms. A step lasts as long as its slowest rank.
Each rank spends the time after `solve` and another 0.1 ms in MPI, 50 us of it in isend. The isend and 40 us
of the waitall are inside `exchange`. With `isend`, each rank sends 2 messages of 1000 * (rank + 1) bytes and
an empty one to rank + 1; it receives those of rank - 1.
"""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Collection
from functools import partial
from pathlib import Path

from twins.events_twin import unpack_events
from twins.packed_twin import crc32c, pack_body, unpack_body

MARKER = b"\xf1pfentr\n"
NAMES = (
    *("rank", "region", "place", "clock", "step", "mesh", "end", "field", "sites", "quantity"),
    *("definition", "defined", "reference", "events", "communicator", "samples", "modules", "paths"),
)
TYPES = {name: number for number, name in enumerate(NAMES, 1)}
TYPE_NAMES = {number: name for name, number in TYPES.items()}
START_NS = 1_700_000_000_000_000_000
RUN_ID = 0x1234_5678_9ABC_DEF0

HEADER = struct.Struct("<8sHHIQiIQII")
STEP_KEYS = (
    *(
        "label",
        "time",
        "span",
        "kind",
        "flags",
        "begin_ns",
        "end_ns",
        "realtime_ns",
        "measured_ns",
        "perfield_ns",
    ),
    *("perfield_bytes", "resident_bytes", "cpu_user_ns", "cpu_system_ns", "voluntary_switches"),
    *("involuntary_switches", "minor_faults", "major_faults", "faults", "overflowed"),
    *("mesh_version", "pu"),
)
STEP = struct.Struct("<qdIHHQQqQQQQQQQQQQQQHhI")
TABLE = struct.Struct("<HHI")
TABLES = {  # name -> (layout of a row, names of its columns; "" is padding)
    "regions": (
        struct.Struct("<IIQQQQQQQ"),
        [
            *("id", "threads", "count", "inclusive_sum_ns", "inclusive_min_ns", "inclusive_max_ns"),
            *("self_sum_ns", "self_min_ns", "self_max_ns"),
        ],
    ),
    "messages": (
        struct.Struct("<iHHQQIIQQQQII8I"),
        [
            *("peer", "call", "", "count", "bytes", "empty", "most_in_call", "largest"),
            *("begun_sum", "wait_begin_sum", "wait_end_sum", "number", "channel"),
            *(f"size_{n}" for n in range(8)),
        ],
    ),
    "waits": (struct.Struct("<iIQQ"), ["peer", "", "count", "ns"]),
    "calls": (struct.Struct("<HHIQQQQ"), ["call", "time_class", "", "count", "ns", "bytes_out", "bytes_in"]),
    "quantities": (struct.Struct("<IHHQ"), ["region", "quantity", "", "value"]),
    "collectives": (
        struct.Struct("<IHHQQQQQQII"),
        [
            *("communicator", "call", "flags", "count", "bytes_out", "bytes_in"),
            *("begun_sum", "wait_begin_sum", "wait_end_sum", "number", "most_in_call"),
        ],
    ),
    "synchronisations": (
        struct.Struct("<iHHQQQQII"),
        [
            *("peer", "call", "", "count", "begun_sum", "wait_begin_sum", "wait_end_sum"),
            *("number", "channel"),
        ],
    ),
    "paths": (
        struct.Struct("<IIQQQQQQ"),
        [
            *("path", "region", "count", "inclusive_sum_ns", "inclusive_max_ns", "self_sum_ns"),
            *("mpi_ns", "file_ns"),
        ],
    ),
}
DEFINED = struct.Struct("<QIHH")  # hash, id, type, 0
PATH_ROW = struct.Struct("<IIII")  # path, path around it, region, 0
VERSIONS = {name: {"step": 3, "samples": 2}.get(name, 1) for name in NAMES}
PACKED = 4  # version of a step that is stated as differences
CODES = {"i1": "b", "u1": "B", "i4": "i", "i8": "q", "f4": "f", "f8": "d"}
ISEND, RECV, IRECV, WAITALL = 5, 12, 13, 19
P2P, WAIT = 0, 1
OF_RANK = 0xFFFFFFFF  # in place of a region
# Ids of the quantities of `write_run`, which every rank defines: (name, unit, scope, over threads).
QUANTITIES = (
    ("mpi_p2p_time", "ns", "region", "longest"),
    ("mpi_wait_time", "ns", "region", "longest"),
    ("file_write", "B", "rank", "sum"),
)
FILE_WRITE = 2


# --- writing ------------------------------------------------------------------------------------------------


def padded(text: bytes) -> bytes:
    """Text padded with spaces to a multiple of 8 bytes."""
    return text + b" " * (-len(text) % 8)


def json_body(values: dict) -> bytes:
    """Body of a rank, region, place, clock or end entry."""
    return padded(json.dumps(values).encode())


def step_body(
    *,
    regions: list[dict] = (),
    messages: list[dict] = (),
    waits: list[dict] = (),
    calls: list[dict] = (),
    quantities: list[dict] = (),
    collectives: list[dict] = (),
    synchronisations: list[dict] = (),
    paths: list[dict] = (),
    **values,
) -> bytes:
    """Body of a step entry; keys: STEP_KEYS and TABLES. Missing keys are 0 (time: NaN, span: 1)."""
    values = {"time": float("nan"), "span": 1, "pu": -1} | values
    unknown = set(values) - set(STEP_KEYS)
    if unknown:
        raise KeyError(f"a step entry has no {sorted(unknown)}; it has {STEP_KEYS}")
    tables = {"regions": regions, "messages": messages, "waits": waits, "calls": calls}
    tables |= {"quantities": quantities, "collectives": collectives, "synchronisations": synchronisations}
    tables |= {"paths": paths}
    fixed = [values.get(key, 0) for key in STEP_KEYS]
    body = STEP.pack(*fixed, sum(1 for rows in tables.values() if rows))
    for number, (name, rows) in enumerate(tables.items(), 1):
        layout, columns = TABLES[name]
        if rows:
            body += TABLE.pack(number, layout.size, len(rows))
        body += b"".join(layout.pack(*(row.get(column, 0) for column in columns)) for row in rows)
    return body


def sizes_of(*sizes: int) -> dict[str, int]:
    """The columns of a row of messages of these sizes, in bytes, that say how many are in each bin."""
    bins = [sum(size >= 64 * 8**n for n in range(7)) for size in sizes]
    return {f"size_{n}": bins.count(n) for n in range(8)}


def region_row(id: int, inclusive_ns: int, self_ns: int | None = None, count: int = 1) -> dict:
    """Row of a region that one thread entered; the self time defaults to the inclusive time."""
    own = inclusive_ns if self_ns is None else self_ns
    row = {"id": id, "threads": 1, "count": count}
    for part in ("sum", "min", "max"):
        row |= {f"inclusive_{part}_ns": inclusive_ns, f"self_{part}_ns": own}
    return row


def quantity_body(
    number: int, name: str, unit: str, scope: str, over_threads: str = "sum", over_steps: str = "sum"
) -> bytes:
    """Body of a quantity entry; unit: that of the rows."""
    return json_body(
        {
            "id": number, "name": name, "unit": unit, "scope": scope, "over_steps": over_steps,
            "over_threads": over_threads, "help": f"the {name}",
        }
    )  # fmt: skip


def definition_hash(body: bytes) -> int:
    """The index of a `definition` entry: FNV-1a of its text without the spaces behind it, never 0."""
    hash = 14695981039346656037
    for byte in body.rstrip(b" "):
        hash = (hash ^ byte) * 1099511628211 % 2**64
    return hash or 1


def defined_body(rows: list[tuple[int, int, str]]) -> bytes:
    """Body of a `defined` entry, of (hash, id, "region" or "quantity")."""
    return b"".join(DEFINED.pack(hash, id, TYPES[type], 0) for hash, id, type in rows)


def paths_body(rows: list[tuple[int, int, int]]) -> bytes:
    """Body of a `paths` entry, of (path, path around it or 0, region)."""
    return b"".join(PATH_ROW.pack(*row, 0) for row in rows)


def array_body(description: dict, arrays: list[dict]) -> bytes:
    """Body of a mesh or field entry. Each array has role, type, values (flat) and, if they apply,
    name, association and components; this function adds tuples and offset."""
    data, described = b"", []
    for array in arrays:
        array = dict(array)
        values = list(array.pop("values"))
        array["tuples"] = len(values) // array.setdefault("components", 1)
        array["offset"] = len(data)
        described.append(array)
        data += struct.pack(f"<{len(values)}{CODES[array['type']]}", *values)
        data += b"\0" * (-len(data) % 8)
    text = padded(json.dumps({**description, "arrays": described}).encode())
    return struct.pack("<II", len(text), 0) + text + data


def entry(
    type: str | int,
    body: bytes,
    *,
    rank: int,
    sequence: int,
    index: int = 0,
    run_id: int = RUN_ID,
    version: int | None = None,
) -> bytes:
    """A complete entry: header with both checksums, and body."""
    number = TYPES.get(type, type)
    version = VERSIONS.get(type, 1) if version is None else version
    fields = (number, version, len(body), run_id, rank, sequence, index, crc32c(body), 0)
    header = HEADER.pack(MARKER, *fields)[:44]
    return header + struct.pack("<I", crc32c(header)) + body


class Writer:
    """Appends entries of one rank to a file and counts their sequence."""

    def __init__(self, path: Path, rank: int, run_id: int = RUN_ID):
        self.path, self.rank, self.run_id, self.sequence = Path(path), rank, run_id, 0
        self._full: tuple[bytes, int] | None = None  # the newest full step, and its sequence

    def add(self, type: str | int, body: bytes, index: int = 0, version: int | None = None) -> bytes:
        place = {"rank": self.rank, "sequence": self.sequence, "index": index, "run_id": self.run_id}
        data = entry(type, body, **place, version=version)
        if type in ("step", "reference") and version in (None, VERSIONS[type]):
            self._full = body, self.sequence
        self.sequence += 1
        with self.path.open("ab") as file:
            file.write(data)
        return data

    def add_packed(self, body: bytes, index: int = 0) -> bytes:
        """Adds a step as differences to the newest full one."""
        return self.add("step", pack_body(body, *self._full), index, PACKED)


# --- reading ------------------------------------------------------------------------------------------------


def decode_body(type: str, body: bytes) -> dict:
    """Body of an entry as a dict; the inverse of json_body, step_body and array_body."""
    if type in ("step", "reference"):
        fixed = STEP.unpack_from(body)
        values = dict(zip(STEP_KEYS, fixed[: len(STEP_KEYS)]))
        values |= {name: [] for name in TABLES}
        at = STEP.size
        for _ in range(fixed[-1]):
            number, row_bytes, rows = TABLE.unpack_from(body, at)
            at += TABLE.size
            for _ in range(rows):
                if number <= len(TABLES):
                    name, (layout, columns) = list(TABLES.items())[number - 1]
                    whole = body[at : at + row_bytes].ljust(layout.size, b"\0")
                    row = dict(zip(columns, layout.unpack_from(whole)))
                    row.pop("", None)
                    values[name].append(row)
                at += row_bytes
        return values
    if type in ("mesh", "field"):
        text_bytes, _ = struct.unpack_from("<II", body)
        values = json.loads(body[8 : 8 + text_bytes])
        for array in values["arrays"]:
            count = array["tuples"] * array["components"]
            at = 8 + text_bytes + array["offset"]
            array["values"] = list(struct.unpack_from(f"<{count}{CODES[array['type']]}", body, at))
        return values
    if type == "events":
        return unpack_events(body)
    if type == "defined":
        rows = [DEFINED.unpack_from(body, at)[:3] for at in range(0, len(body), DEFINED.size)]
        return {"rows": [(hash, id, TYPE_NAMES[number]) for hash, id, number in rows]}
    if type == "paths":
        return {"rows": [PATH_ROW.unpack_from(body, at)[:3] for at in range(0, len(body), PATH_ROW.size)]}
    return json.loads(body)


def value_in(row: dict, key: str) -> int:
    """A value of a row as `_bridge` reads it; the twin has a column of its own for each bin of sizes."""
    return int(row["sizes"][int(key[5:])] if key.startswith("size_") else row[key])


def resolved(entries: list[dict]) -> list[dict]:
    """The entries with those that say what a rank's ids mean as `region` and `quantity` entries of that
    rank."""
    texts = {entry["index"]: entry["body"] for entry in entries if entry["type"] == "definition"}
    result = []
    for entry in entries:
        if entry["type"] != "defined":
            result += [entry] * (entry["type"] != "definition")
            continue
        for hash, id, type in entry["body"]["rows"]:
            result.append({**entry, "type": type, "index": id, "body": {"id": id, **texts[hash]}})
    return result


def decode(data: bytes) -> tuple[list[dict], list[tuple[int, int]]]:
    """All intact entries of a file (dicts with type, version, rank, sequence, index, run_id, offset, body),
    and the (begin, end) of each damaged part."""
    entries, holes, at, full = [], [], 0, {}
    while at < len(data):
        found = _entry_at(data, at, full)
        if found:
            if found["type"] in ("step", "reference") and found["version"] == VERSIONS[found["type"]]:
                full[found["rank"], found["sequence"]] = data[at + HEADER.size : found["end"]]
            entries.append(found)
            at = found["end"]
            continue
        hole, at = at, at + 1
        while at < len(data) and not _entry_at(data, at, full):
            following = data.find(MARKER, at + 1)
            at = following if following >= 0 else len(data)
        holes.append((hole, at))
    return entries, holes


def _entry_at(data: bytes, at: int, full: dict[tuple[int, int], bytes]) -> dict | None:
    """full : by rank and sequence, the plain bodies that packed steps may name."""
    if len(data) - at < HEADER.size:
        return None
    fields = HEADER.unpack_from(data, at)
    marker, type, version, body_bytes, run_id, rank, sequence, index, body_crc, crc = fields
    end = at + HEADER.size + body_bytes
    if marker != MARKER or crc32c(data[at : at + 44]) != crc or end > len(data):
        return None
    body = data[at + HEADER.size : end]
    if crc32c(body) != body_crc:
        return None
    name = TYPE_NAMES.get(type, type)
    known = version == VERSIONS.get(name)
    if name == "step" and version == PACKED:
        (reference,) = struct.unpack_from("<I", body)
        if (rank, reference) not in full:
            return None
        body, known = unpack_body(body, full[rank, reference]), True
    return {
        "type": name, "version": version, "rank": rank, "sequence": sequence, "index": index,
        "run_id": run_id, "offset": at, "end": end, "body": decode_body(name, body) if known else body,
    }  # fmt: skip


# --- whole runs ---------------------------------------------------------------------------------------------


def solve_ns(rank: int, step: int) -> int:
    """Time of region `solve` in the runs of `write_run`, ns."""
    return 1_000_000 * (rank + 1) + 1_000 * step


def rank_values(rank: int, ranks: int, host: str, **changes) -> dict:
    """The values of a rank entry of `write_run`; no process can have its pid."""
    return {
        "rank": rank, "size": ranks, "pid": 2**22 + 1 + rank, "program": "heat", "arguments": "",
        "group": "heat", "host": host, "host_long": f"{host}.example.org",
        "boot_id": f"{host}-0000-0000",
        "cpuset": str(rank), "clock": "monotonic", "realtime_ns": START_NS, "sources": ["pmpi", "api"],
        "mpi": "Open MPI 4.1.4", "perfield": "0.1.0", "sum_every": 1,
    } | changes  # fmt: skip


def step_values(rank: int, ranks: int, step: int, mesh_version: int = 1) -> dict:
    """The values of a step entry of `write_run`."""
    solve, exchange = solve_ns(rank, step), 200_000
    slowest = solve_ns(ranks - 1, step) + exchange
    begin = 10_000_000 + sum(solve_ns(ranks - 1, n) + exchange for n in range(step))
    before, after, size = (rank - 1) % ranks, (rank + 1) % ranks, 1000 * (rank + 1)
    arrived = 1000 * (before + 1)
    return {
        "label": step + 1, "time": 0.5 * (step + 1), "span": 1, "begin_ns": begin,
        "end_ns": begin + slowest, "realtime_ns": START_NS + begin + slowest, "measured_ns": slowest,
        "perfield_ns": 5_000, "perfield_bytes": 1_500_000, "resident_bytes": 50_000_000 + rank,
        "cpu_user_ns": solve,
        "cpu_system_ns": 10_000, "voluntary_switches": 1, "minor_faults": 3,
        "mesh_version": mesh_version, "pu": rank,
        "regions": [region_row(1, solve), region_row(2, exchange)],
        "messages": [
            {"peer": after, "call": ISEND, "count": 3, "bytes": 2 * size, "empty": 1, "largest": size}
            | sizes_of(0, size, size),
            {"peer": before, "call": RECV, "count": 3, "bytes": 2 * arrived, "empty": 1, "largest": arrived}
            | sizes_of(0, arrived, arrived),
        ],
        "waits": [{"peer": before, "count": 1, "ns": 60_000}],
        "calls": [
            {"call": ISEND, "time_class": P2P, "count": 3, "ns": 50_000},
            {"call": WAITALL, "time_class": WAIT, "count": 1, "ns": slowest - solve - 150_000},
        ],
        "quantities": [
            {"region": 2, "quantity": P2P, "value": 50_000},
            {"region": 2, "quantity": WAIT, "value": 40_000},
            *[{"region": OF_RANK, "quantity": FILE_WRITE, "value": 4096}] * (rank == 0),
        ],
    }  # fmt: skip


def outside_body(kind: int, ns: int, **values) -> bytes:
    """Body of the setup (kind 1) or teardown (kind 2) entry of `write_run`: no regions, no messages."""
    own = {"end_ns": ns, "measured_ns": ns, "perfield_bytes": 1_500_000, "perfield_ns": 1_000}
    return step_body(kind=kind, **{**own, **values})


def slab_mesh(rank: int, ranks: int) -> bytes:
    """Body of an image block: the rank's slab of the unit cube, 4 x 4 x 4 cells."""
    extent, spacing = [4 * rank, 4 * rank + 4, 0, 4, 0, 4], [1 / (4 * ranks), 0.25, 0.25]
    description = {"block": 0, "kind": "image", "extent": extent, "origin": [0, 0, 0], "spacing": spacing}
    return array_body(description, [])


def block_mesh(rank: int, ranks: tuple[int, int, int]) -> bytes:
    """Body of an image block of 4 x 4 x 4 cells, one of nx * ny * nz cubes; x counts first."""
    nx, ny, _ = ranks
    place = (rank % nx, rank // nx % ny, rank // (nx * ny))
    extent = [end for at in place for end in (4 * at, 4 * at + 4)]
    description = {"block": 0, "kind": "image", "extent": extent, "origin": [0, 0, 0], "spacing": [0.25] * 3}
    return array_body(description, [])


def slab_field(rank: int, step: int) -> bytes:
    """Body of a field entry: temperature = rank + step / 1000 at the 125 points of the slab."""
    array = {"role": "field", "name": "temperature", "association": "point", "type": "f8"}
    return array_body({"block": 0}, [{**array, "values": [rank + step / 1000] * 125}])


def write_run(
    path: Path,
    ranks: int = 4,
    steps: int = 5,
    *,
    hosts: tuple[str, ...] = ("node0",),
    regions: tuple[str | tuple[str, int], ...] = ("solve", "exchange"),
    quantities: tuple[tuple, ...] = QUANTITIES,
    without_quantities: Collection[int] = (),
    ended: bool = True,
    mesh: bool = True,
    blocks: tuple[int, int, int] | None = None,
    fields_every: int = 2,
    sum_every: int = 1,
    change_rank=None,
    change_step=None,
    change_end=None,
    outside=None,
    clocks: tuple[tuple[int, dict], ...] = (),
    run_id: int = RUN_ID,
    config: dict | None = None,
    packed: bool = False,
    started_in: str = "/home/user",
) -> Path:
    """Makes a run directory. Hosts get equal blocks of consecutive ranks (0 1 | 2 3).

    regions : names, or (name, block of the mesh). without_quantities : ranks that define none. blocks :
    numbers of ranks along x, y and z, if the mesh is cut in cubes rather than in slabs. sum_every : how many
    steps each of the `steps` entries says it adds up.
    change_rank(rank, values), change_step(rank, step, values), change_end(rank, values): change the values in
    place before they are written. If change_step returns False, the step is left out. outside(rank, kind) :
    values of setup (kind 1) and teardown (2). clocks : (rank, values)
    of `clock` entries. packed : of 64 steps, 63 are stated as differences to the first. Returns path.
    """
    path = Path(path)
    for room in ("stream", "mesh", "machine"):
        (path / room).mkdir(parents=True, exist_ok=True)
    run = {
        "run_id": f"{run_id:016x}", "token": "", "perfield": "0.1.0",
        "start": "2023-11-14T22:13:20.000000000Z",
        "start_ns": START_NS, "host": hosts[0], "size": ranks, "command": ["./heat", "heat.input"],
        "working_directory": started_in, "configuration": config or {},
    }  # fmt: skip
    (path / "run.json").write_text(json.dumps(run, indent=1) + "\n")
    writers, mesh_writers = [], []
    for rank in range(ranks):
        host = hosts[rank * len(hosts) // ranks]
        values = rank_values(rank, ranks, host, sum_every=sum_every)
        if change_rank:
            change_rank(rank, values)
        stem = f"{values['host']}-{values['boot_id'][:8]}.pf"
        writers.append(Writer(path / "stream" / stem, rank, run_id))
        mesh_writers.append(Writer(path / "mesh" / stem, rank, run_id))
        writers[rank].add("rank", json_body(values))
        for number, name in enumerate(regions, 1):
            name, block = (name, -1) if isinstance(name, str) else name
            definition = {"id": number, "name": name, "file": "heat.cpp", "line": 10 * number, "block": block}
            definition["armed_at"] = 0
            writers[rank].add("region", json_body(definition), index=number)
        for number, definition in enumerate(() if rank in without_quantities else quantities):
            writers[rank].add("quantity", quantity_body(number, *definition), index=number)
        writers[rank].add("step", outside_body(1, 10_000_000, **(outside(rank, 1) if outside else {})))
        if mesh:
            body = block_mesh(rank, blocks) if blocks else slab_mesh(rank, ranks)
            mesh_writers[rank].add("mesh", body, index=1)
    for rank, values in clocks:
        writers[rank].add("clock", json_body(values))
    for step in range(steps):
        for rank in range(ranks):
            values = step_values(rank, ranks, step, mesh_version=1 if mesh else 0) | {"span": sum_every}
            last = (step + 1) * sum_every - 1
            if change_step and change_step(rank, step, values) is False:
                continue
            add = writers[rank].add_packed if packed and step % 64 else partial(writers[rank].add, "step")
            add(step_body(**values), index=last)
            if mesh and fields_every and step % fields_every == 0:
                mesh_writers[rank].add("field", slab_field(rank, step), index=last)
    for rank in range(ranks if ended else 0):
        behind = outside_body(2, 2_000_000, **(outside(rank, 2) if outside else {}))
        writers[rank].add("step", behind, index=steps * sum_every)
        end = {
            "reason": "finalize", "steps": steps * sum_every, "hooks": {}, "faults": {},
            "dropped_messages": 0, "dropped_regions": 0, "bytes_written": 10_000,
            "perfield_ns": 5_000 * steps,
            "perfield_bytes": 1_500_000, "realtime_ns": time.time_ns(),
        }  # fmt: skip
        if change_end:
            change_end(rank, end)
        writers[rank].add("end", json_body(end))
    return path


def without_mpi(rank: int, values: dict) -> None:
    """For `change_rank`: the rank is measured only through perfield.h."""
    values["sources"] = ["api"]


def without_calls(rank: int, step: int, values: dict) -> None:
    """For `change_step`: nothing of MPI was seen."""
    values |= {"messages": [], "calls": [], "waits": [], "quantities": []}


def one_hot_rank(hot: int):
    """For `change_step`: this rank computes 61 ms in each step, all others 1 ms."""

    def change(rank: int, step: int, values: dict) -> None:
        solve = 61_000_000 if rank == hot else 1_000_000
        values["begin_ns"], values["measured_ns"] = 10_000_000 + 62_000_000 * step, 62_000_000
        values["end_ns"] = values["begin_ns"] + 62_000_000
        values["regions"] = [region_row(1, solve), region_row(2, 200_000)]
        for call in values["calls"]:
            call["ns"] = (62_000_000 - solve) // 2

    return change


def live_rank(rank: int, values: dict) -> None:
    """For `change_rank`: the rank is this process, so a run without `end` entries is running."""
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    values |= {"pid": os.getpid(), "boot_id": boot_id, "realtime_ns": time.time_ns()}
    values["pid_namespace"] = str(Path("/proc/self/ns/pid").readlink())
