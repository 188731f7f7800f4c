# SPDX-License-Identifier: BSD-3-Clause
"""The fields of frames once more, slowly: plain Python from the entries that the twin decodes.

    values = reference.fields(path, index)      # of the step of that index: name -> list, one number per rank
    blocks = reference.block_fields(path, index)  # name -> {(rank, block): number}

It knows runs whose regions' names need no rule: letters, digits and underscores, all different.
"""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

from twins import twin

CLASSES = ("p2p", "wait", "collective", "onesided", "io", "other")
IO, N_MPI = 4, 6
SENDS = {5: "isend", 28: "get"}  # of all calls those that the tests use
READS, WRITES = {94, 96}, {95, 97}
WITHOUT_PU = ("run_delay_time", "mpi_without_pu", "mpi_without_pu_at_least", "throttled_time", "stolen_time")
FILES = ("file_time", "file_read_count", "file_write_count", "file_read", "file_write")
MPI_TIMES = [f"mpi_{name}_time" for name in CLASSES]
UNITS = {"1": ("", 1), "B": ("_bytes", 1), "ns": ("_s", 1e-9), "uJ": ("_J", 1e-6), "ppm": ("_share", 1e-6)}
NAN = math.nan


class Run:
    """Everything that the streams of a run hold, joined by rank."""

    def __init__(self, path: Path):
        self.ranks, self.regions, self.steps = {}, defaultdict(dict), defaultdict(dict)
        self.sources, self.quantities = defaultdict(set), defaultdict(dict)
        for file in sorted((Path(path) / "stream").glob("*.pf")):
            for entry in twin.resolved(twin.decode(file.read_bytes())[0]):
                body, rank = entry["body"], entry["rank"]
                if entry["type"] == "rank":
                    self.ranks[rank] = body
                if entry["type"] in ("rank", "end"):
                    self.sources[rank] |= set(body.get("sources", ()))
                if entry["type"] == "region":
                    self.regions[rank][body["id"]] = body["name"], body["block"]
                if entry["type"] == "quantity":
                    self.quantities[rank][body["id"]] = body
                if entry["type"] == "step" and body["kind"] == 0:
                    self.steps[entry["index"]][rank] = body
        self.size = max(body["size"] for body in self.ranks.values())
        everything = [step for steps in self.steps.values() for step in steps.values()]
        self.calls = {row["call"] for step in everything for row in step["messages"]}
        self.others = any(row["id"] == 0 for step in everything for row in step["regions"])
        self.threads = any(row["threads"] > 1 for step in everything for row in step["regions"])

    def region(self, rank: int, number: int) -> tuple[str, int] | None:
        unknown = ("other_regions", -1) if self.others and number != twin.OF_RANK else None
        return self.regions[rank].get(number, unknown)

    def names(self) -> list[str]:
        found = {name for regions in self.regions.values() for name, _ in regions.values()}
        return sorted(found) + ["other_regions"] * self.others

    def declared(self, scope: str) -> dict[str, dict]:
        """All quantities of a scope by name, as some rank declared them."""
        bodies = (body for of_rank in self.quantities.values() for body in of_rank.values())
        return {body["name"]: body for body in bodies if body["scope"] == scope}

    def amount(self, rank: int, name: str, rows: list[dict], scope: str) -> float:
        """What rows of the table `quantities` say of a quantity, in the unit of its rows; NaN if the rank
        did not declare it, or did not set a state."""
        ids = [
            id for id, body in self.quantities[rank].items() if (body["name"], body["scope"]) == (name, scope)
        ]
        if not ids:
            return NAN
        values = [row["value"] for row in rows if row["quantity"] in ids]
        over = self.quantities[rank][ids[0]]["over_steps"]
        if over == "sum":
            return sum(values)
        return (max(values) if over == "max" else values[-1]) if values else NAN


def fields(path: Path, index: int) -> dict[str, list[float]]:
    """Values of all fields of a step by name, one number per rank."""
    run = Run(path)
    values: dict[str, list[float]] = defaultdict(lambda: [NAN] * run.size)
    for rank in range(run.size):
        values["rank"][rank] = rank
        step = run.steps[index].get(rank)
        own = {name: NAN for name in _fields_of(run, rank, _EMPTY)}
        own |= {} if step is None else _fields_of(run, rank, step)
        waits = [
            row["ns"]
            for other, entry in run.steps[index].items()
            for row in entry["waits"]
            if row["peer"] == rank and other != rank
        ]
        own["waited_for_time_s"] = sum(waits) * 1e-9 if own["mpi_time_s"] == own["mpi_time_s"] else NAN
        for name, value in own.items():
            values[name][rank] = value
    return dict(values)


def block_fields(path: Path, index: int) -> dict[str, dict[tuple[int, int], float]]:
    """The same of each block of the mesh that time of a region was given to."""
    run = Run(path)
    values: dict[str, dict[tuple[int, int], float]] = defaultdict(dict)
    for rank, step in run.steps[index].items():
        blocks = {run.region(rank, row["id"]) for row in step["regions"]}
        for name, block in (pair for pair in blocks if pair is not None and pair[1] >= 0):
            for field, value in _fields_of_region(run, rank, step, name, block).items():
                values[field][rank, block] = value
    return dict(values)


_EMPTY = {key: 0 for key in twin.STEP_KEYS} | {name: [] for name in twin.TABLES}


def _has_mpi(run: Run, rank: int, step: dict) -> bool:
    watched = {"pmpi", "scorep-mpi"} & run.sources[rank]
    return bool(watched or step["messages"] or any(row["time_class"] < N_MPI for row in step["calls"]))


def _fields_of(run: Run, rank: int, step: dict) -> dict[str, float]:
    """Fields of a rank that is there."""
    mpi, sources = _has_mpi(run, rank, step), run.sources[rank]
    own_process = not step["flags"] & 8
    values = {"step_time_s": step["measured_ns"] * 1e-9}
    of_process = {
        "perfield_time_s": step["perfield_ns"] * 1e-9,
        "cpu_user_time_s": step["cpu_user_ns"] * 1e-9,
        "cpu_system_time_s": step["cpu_system_ns"] * 1e-9,
        "pu_id": step["pu"] if step["pu"] >= 0 else NAN,
    }
    copied = ("resident_bytes", "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults")
    of_process |= {name: step[name] for name in copied}
    values |= {name: value if own_process else NAN for name, value in of_process.items()}

    def of_calls(column: str, numbers=None, classes=None) -> int:
        return sum(
            row[column]
            for row in step["calls"]
            if (numbers is None or row["call"] in numbers)
            and (classes is None or row["time_class"] in classes)
        )

    of_rank = [row for row in step["quantities"] if row["region"] == twin.OF_RANK]
    files = {name: run.amount(rank, name, of_rank, "rank") for name in FILES}
    files = {name: 0 if value != value else value for name, value in files.items()}
    n_files = files["file_read_count"] + files["file_write_count"]
    io = mpi or bool({"io", "scorep-io"} & sources) or n_files > 0
    of_io = {
        "io_read_bytes": of_calls("bytes_in", classes={IO}) + files["file_read"],
        "io_write_bytes": of_calls("bytes_out", classes={IO}) + files["file_write"],
        "io_read_count": of_calls("count", READS, {IO}) + files["file_read_count"],
        "io_write_count": of_calls("count", WRITES, {IO}) + files["file_write_count"],
        "io_time_s": (of_calls("ns", classes={IO}) + files["file_time"]) * 1e-9,
    }
    values |= {name: value if io else NAN for name, value in of_io.items()}

    mpi_ns = of_calls("ns", classes=set(range(N_MPI)))
    of_mpi = {f"mpi_{name}_time_s": of_calls("ns", classes={c}) * 1e-9 for c, name in enumerate(CLASSES)}
    of_mpi["mpi_time_s"] = mpi_ns * 1e-9
    waits = {CLASSES.index(name) for name in ("p2p", "wait", "collective", "onesided")}
    of_mpi["waiting_time_s"] = of_calls("ns", classes=waits) * 1e-9
    of_mpi["mpi_call_count"] = of_calls("count", classes=set(range(N_MPI)))
    sent = [row for row in step["messages"] if row["call"] in SENDS]
    arrived = [row for row in step["messages"] if row["call"] not in SENDS]
    for name, rows in (("sent", sent), ("received", arrived)):
        of_mpi |= {f"{name}_{what}": sum(row[what] for row in rows) for what in ("count", "bytes")}
    for call in run.calls & set(SENDS):
        rows = [row for row in sent if row["call"] == call]
        of_mpi |= {f"{SENDS[call]}_{what}": sum(row[what] for row in rows) for what in ("count", "bytes")}
    of_mpi["peer_count"] = len({row["peer"] for row in step["messages"] if row["peer"] >= 0})
    values |= {name: value if mpi else NAN for name, value in of_mpi.items()}
    computed = max(step["measured_ns"] - mpi_ns - files["file_time"], 0) * 1e-9
    lost = {name: run.amount(rank, name, of_rank, "rank") for name in WITHOUT_PU}
    for name in ("run_delay_time", "throttled_time", "stolen_time"):
        values[f"{name}_s"] = lost[name] * 1e-9
    in_mpi = mpi_ns if lost["mpi_without_pu"] != lost["mpi_without_pu"] else lost["mpi_without_pu"]
    delayed = min(max(lost["run_delay_time"] - in_mpi - files["file_time"], 0) * 1e-9, computed)
    known = lost["run_delay_time"] == lost["run_delay_time"] and (mpi or run.size == 1)
    values["delayed_compute_time_s"] = delayed if known else NAN
    computed -= delayed if known else 0
    values["compute_time_s"] = computed if mpi or run.size == 1 else NAN
    busy = step["cpu_user_ns"] + step["cpu_system_ns"] - files["file_time"]
    least = lost["mpi_without_pu_at_least"]
    outside = least if least == least else 0
    busy -= max(mpi_ns - outside, 0)
    known_cpu = (mpi or run.size == 1) and own_process
    values["compute_cpu_time_s"] = min(max(busy * 1e-9, 0), computed) if known_cpu else NAN

    for name, body in run.declared("rank").items():
        suffix, factor = UNITS[body["unit"]]
        if name not in (*FILES, *WITHOUT_PU):
            values[name + suffix] = run.amount(rank, name, of_rank, "rank") * factor
    for name in run.names():
        values |= _fields_of_region(run, rank, step, name, None)
    return values


def _fields_of_region(run: Run, rank: int, step: dict, name: str, block: int | None) -> dict[str, float]:
    """Fields of one region, or of its part in one block."""

    def is_meant(number: int) -> bool:
        region = run.region(rank, number)
        return region is not None and region[0] == name and block in (None, region[1])

    mpi = _has_mpi(run, rank, step)
    rows = [row for row in step["regions"] if is_meant(row["id"])]
    inside = [row for row in step["quantities"] if is_meant(row["region"])]
    declared = run.declared("region")

    def spent(name: str) -> float:
        found = run.amount(rank, name, inside, "region")
        return 0 if found != found else found

    time_ns = sum(row["inclusive_max_ns"] for row in rows)
    all_ns, count = (sum(row[name] for row in rows) for name in ("inclusive_sum_ns", "count"))
    values = {
        "time_s": time_ns * 1e-9,
        "count": count,
        "time_per_call_s": all_ns / count * 1e-9 if count else NAN,
        "self_time_s": sum(row["self_max_ns"] for row in rows) * 1e-9,
    }
    if run.threads:
        mean_ns = sum(row["inclusive_sum_ns"] / max(row["threads"], 1) for row in rows)
        values["thread_count"] = max((row["threads"] for row in rows), default=0)
        values["thread_min_time_s"] = sum(row["inclusive_min_ns"] for row in rows) * 1e-9
        values["thread_mean_time_s"] = mean_ns * 1e-9
        values["thread_imbalance"] = time_ns / mean_ns if mean_ns > 0 else NAN
    mpi_ns = sum(map(spent, MPI_TIMES))
    if set(MPI_TIMES) & set(declared):
        values["mpi_time_s"] = mpi_ns * 1e-9 if mpi else NAN
    for name_of_time in MPI_TIMES:
        if name_of_time in declared:
            values[f"{name_of_time}_s"] = spent(name_of_time) * 1e-9 if mpi else NAN
    if "file_time" in declared:
        of_rank = [row for row in step["quantities"] if row["region"] == twin.OF_RANK]
        files = {"io", "scorep-io"} & run.sources[rank]
        files |= {1} if run.amount(rank, "file_time", of_rank, "rank") > 0 else set()
        values["file_time_s"] = spent("file_time") * 1e-9 if files else NAN
    if {*MPI_TIMES, "file_time"} & set(declared):
        known = mpi or run.size == 1
        values["compute_time_s"] = max(time_ns - mpi_ns - spent("file_time"), 0) * 1e-9 if known else NAN
    for quantity, body in declared.items():
        if quantity not in (*MPI_TIMES, "file_time"):
            suffix, factor = UNITS[body["unit"]]
            values[quantity + suffix] = run.amount(rank, quantity, inside, "region") * factor
    if {"instructions", "cycles"} <= set(declared):
        cycles = values["cycles"]
        values["instructions_per_cycle"] = values["instructions"] / cycles if cycles > 0 else NAN
    return {f"{name}_{field}": value if rows else NAN for field, value in values.items()}
