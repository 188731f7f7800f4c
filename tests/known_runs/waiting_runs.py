# SPDX-License-Identifier: BSD-3-Clause
"""Run directories of simulated programs (simulated_waits), whose waits and their causes are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from compiled.call_numbers import CALL, TIME_CLASS

from known_runs import simulated_waits
from perfield.analysis.waits import UNKNOWN
from perfield.derived.providers.waits import Waits
from perfield.derived.view import RunView
from perfield.run import RunDirectory
from twins import events_twin, twin

ORIGIN_NS = 10_000_000  # stamp at which the simulation begins
MONOTONIC_NS = 5_000_000_000
WORLD = 1000  # the simulation's name of its world
RECV, COLLECTIVE, SYNCHRONISATION = 12, 2, 3
STAMPS = ("begun", "wait_begin", "wait_end")


def write_waiting_run(
    path: Path,
    simulation: simulated_waits.Simulation,
    logged: Callable[[int], bool] = lambda step: True,
    lost: int = 0,
    without: Sequence[int] = (),
    span: int = 1,
    world_ranks: Sequence[int] | None = None,
    busy_in_mpi: Sequence[int] = (),
    **options,
) -> Path:
    """Writes the run that perfield would write of a simulation, on one node or on `hosts` of twin.write_run.

    Regions are those of the simulation; where it has none, `solve` holds all computation.
    logged : which steps keep a log; all keep rows, too. lost : events that each log says it had no room for.
    without : ranks that keep no stamps, as without MPI. span : steps that each entry adds up; then no
    step is logged. busy_in_mpi : ranks that spend the time in which they compute in MPI calls that wait for
    nobody, all but 1 ms of a step. world_ranks : what each rank says is its rank in the world. options : of
    twin.write_run.
    """
    ranks, n_steps = simulation.n_ranks, simulation.n_steps
    everything = simulation.events(lambda step: True)
    n_entries = -(-n_steps // span)
    logs = {}

    def change_step(rank: int, entry: int, values: dict) -> None:
        steps = range(entry * span, (entry + 1) * span)
        own = everything[(everything["rank"] == rank) & np.isin(everything["step"], steps)]
        begin, end = _bounds(everything, rank, steps)
        blocked = np.unique(own[["wait_begin", "wait_end"]][own["wait_begin"] != UNKNOWN])
        values.update(messages=_message_rows(own), collectives=_collective_rows(own), waits=[], quantities=[])
        values.update(synchronisations=_synchronisation_rows(own))
        values.update(begin_ns=begin, end_ns=end, measured_ns=end - begin, perfield_ns=0, mesh_version=0)
        in_mpi = int((blocked["wait_end"] - blocked["wait_begin"]).sum())
        values["calls"] = [
            {"call": CALL["waitall"], "time_class": TIME_CLASS["wait"], "count": len(blocked), "ns": in_mpi}
        ]
        computes = max(0, end - begin - in_mpi)
        if rank in busy_in_mpi:
            other = {"call": CALL["comm_create"], "time_class": TIME_CLASS["other"], "count": 1}
            values["calls"].append(other | {"ns": max(0, computes - 1_000_000)})
            computes = min(computes, 1_000_000)
        values["regions"] = _region_rows(simulation, rank, steps)
        if not simulation.regions and options["regions"]:
            values["regions"] = [twin.region_row(1, computes)]
        if rank in without:
            values["messages"] = [
                {name: row[name] for name in row if name in STAMPLESS} for row in values["messages"]
            ]
            values.update(collectives=[], synchronisations=[])
        elif span == 1 and logged(entry):
            logs[rank, entry] = _logged(own)

    def change_rank(rank: int, values: dict) -> None:
        values["monotonic_ns"] = MONOTONIC_NS
        own_change = options.get("change_rank")
        if own_change:
            own_change(rank, values)

    options = {"mesh": False, "regions": simulation.regions or ("solve",)} | options
    rest = {name: value for name, value in options.items() if name != "change_rank"}
    twin.write_run(
        path, ranks, n_entries, sum_every=span, change_step=change_step, change_rank=change_rank, **rest
    )
    streams = sorted((path / "stream").glob("*.pf"))
    hosts = options.get("hosts", ("node0",))
    for rank in range(ranks):
        if rank in without:
            continue
        host = hosts[rank * len(hosts) // ranks]
        stream = next(one for one in streams if one.name.startswith(f"{host}-"))
        writer = twin.Writer(stream, rank)
        writer.sequence = _n_entries(n_entries, options)
        place = rank if world_ranks is None else world_ranks[rank]
        reported = {"name": WORLD, "size": ranks, "rank": place, "label": "MPI_COMM_WORLD"}
        writer.add("communicator", twin.json_body(reported), index=reported["name"])
        for step in range(n_steps):
            if (rank, step) in logs:
                body = events_twin.pack_events(logs[rank, step], lost=(lost, 0, 0))
                writer.add("events", body, index=step)
    return path


def _region_rows(simulation: simulated_waits.Simulation, rank: int, steps: range) -> list[dict]:
    rows = []
    for number, name in enumerate(simulation.regions, 1):
        parts = [simulation.computed.get((rank, step), {}).get(name) for step in steps]
        known = [ns for ns in parts if ns is not None]
        if known:
            rows.append(twin.region_row(number, sum(known)))
    return rows


def _n_entries(n_steps: int, options: dict) -> int:
    """How many entries the twin has written of each rank: rank, regions, quantities, setup, steps and end."""
    ended = 2 if options.get("ended", True) else 0
    return 1 + len(options["regions"]) + len(twin.QUANTITIES) + 1 + n_steps + ended


def _bounds(events: np.ndarray, rank: int, steps: range) -> tuple[int, int]:
    """When the rank began and ended these steps: as late as it left its last call."""
    own = events[events["rank"] == rank]  # UNKNOWN is the smallest number
    before = own["wait_end"][own["step"] < steps[0]]
    here = own["wait_end"][own["step"] <= steps[-1]]
    return ORIGIN_NS + int(before.max(initial=0)), ORIGIN_NS + int(here.max(initial=0)) + 1


def _stamp(value: int) -> int:
    return 0 if value == UNKNOWN else int(value) + ORIGIN_NS


def _logged(events: np.ndarray) -> list[dict]:
    found = []
    for event in events:
        row = {
            name: int(event[name]) for name in ("kind", "flags", "call", "peer", "channel", "number", "bytes")
        }
        found.append(row | {name: _stamp(event[name]) for name in STAMPS})
    return found


def _sums(members: list) -> dict[str, int]:
    sums = {}
    for name in STAMPS:
        stamps = [_stamp(event[name]) for event in members]
        sums[f"{name}_sum"] = 0 if 0 in stamps else sum(stamps) % 2**64
    return sums


def _most_in_call(members: list) -> int:
    return max(Counter(int(event["wait_begin"]) for event in members).values())


STAMPLESS = ("peer", "call", "count", "bytes", "empty", "largest")


def _message_rows(events: np.ndarray) -> list[dict]:
    rows: dict[tuple[int, int], list] = {}
    for event in events[events["kind"] < COLLECTIVE]:
        call = RECV if event["kind"] == 1 else int(event["call"])
        rows.setdefault((int(event["peer"]), call), []).append(event)
    found = []
    for (peer, call), members in rows.items():
        stamp = "wait_end" if call == RECV else "begun"
        last = max(enumerate(members), key=lambda one: (one[1][stamp], one[0]))[1]
        sizes = [int(event["bytes"]) for event in members]
        row = {
            "peer": peer,
            "call": call,
            "count": len(members),
            "bytes": sum(sizes),
            "empty": sizes.count(0),
            "most_in_call": _most_in_call(members),
        }
        row |= {"largest": max(sizes), "number": int(last["number"]), "channel": int(last["channel"])}
        found.append(row | _sums(members) | twin.sizes_of(*sizes))
    return found


def _collective_rows(events: np.ndarray) -> list[dict]:
    rows: dict[tuple[int, int], list] = {}
    for event in events[events["kind"] == COLLECTIVE]:
        rows.setdefault((int(event["channel"]), int(event["call"])), []).append(event)
    found = []
    for (name, call), members in rows.items():
        row = {
            "communicator": name,
            "call": call,
            "count": len(members),
            "number": int(members[-1]["number"]),
            "most_in_call": _most_in_call(members),
        }
        row |= {"flags": int(any(event["flags"] & 1 for event in members))}
        row |= {"bytes_out": sum(int(event["bytes"]) for event in members), "bytes_in": 0}
        found.append(row | _sums(members))
    return found


def _synchronisation_rows(events: np.ndarray) -> list[dict]:
    rows: dict[tuple[int, int], list] = {}
    for event in events[(events["kind"] == SYNCHRONISATION) & (events["number"] > 0)]:  # not locks
        rows.setdefault((int(event["peer"]), int(event["call"])), []).append(event)
    return [
        {"peer": peer, "call": call, "count": len(members)}
        | {name: int(members[-1][name]) for name in ("number", "channel")}
        | _sums(members)
        for (peer, call), members in rows.items()
    ]


def with_waits(run: RunDirectory) -> RunView:
    """The run with all fields of waiting in its frames."""
    return run.with_fields(run.all_fields.provider(Waits).names)
