# SPDX-License-Identifier: BSD-3-Clause
"""Why ranks waited: reading entries with wait states, and analysing a million events of logged steps."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from report import figure

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from compiled.call_numbers import CALL
from known_runs.waiting_runs import write_waiting_run

import perfield
from perfield.analysis.waits import (
    EVENT,
    TransferSums,
    delay_costs,
    find_transfers,
    find_wait_states,
    gain_of_balance,
    ways_of,
)
from perfield.analysis.waits.costs import FOLLOWED
from perfield.analysis.waits.path import critical_path
from perfield.derived.waits import waits_of_steps

LEAST_ENTRIES, MOST_S = 150_000, 5
SEND, RECEIVE, COLLECTIVE = 0, 1, 2
LATENCY_NS, COMPUTING_NS = 2_000, 1_000_000
REPEATS = 5


def halo_events(n_ranks: int, n_peers: int, n_steps: int) -> np.ndarray:
    """EVENT: each rank computes for a random time, exchanges a message with each of its neighbours on a ring,
    waits for all of them, and joins an allreduce; every event as a log keeps it."""
    random = np.random.default_rng(7)
    offsets = np.array([sign * (n + 1) for n in range(n_peers // 2) for sign in (1, -1)])
    peers = (np.arange(n_ranks)[:, np.newaxis] + offsets) % n_ranks
    computed = random.integers(COMPUTING_NS // 2, COMPUTING_NS, (n_steps, n_ranks))
    per_rank = 2 * n_peers + 1
    events = np.zeros((n_steps, n_ranks, per_rank), EVENT)
    begin = 0
    for step in range(n_steps):
        begun = begin + computed[step]
        arrived = np.maximum(begun, begun[peers].max(axis=1)) + LATENCY_NS
        ended = arrived.max() + LATENCY_NS
        here = events[step]
        for kind, part in ((SEND, slice(0, n_peers)), (RECEIVE, slice(n_peers, 2 * n_peers))):
            here["kind"][:, part], here["peer"][:, part] = kind, peers
            here["begun"][:, part] = here["wait_begin"][:, part] = begun[:, np.newaxis]
            here["wait_end"][:, part] = (begun if kind == SEND else arrived)[:, np.newaxis]
        here["begun"][:, -1] = here["wait_begin"][:, -1] = arrived
        here["wait_end"][:, -1] = ended
        begin = ended
    events["step"] = np.arange(n_steps)[:, np.newaxis, np.newaxis]
    events["number"] = events["step"] + 1
    events["rank"] = np.arange(n_ranks)[:, np.newaxis]
    events["kind"][..., -1], events["peer"][..., -1] = COLLECTIVE, -1
    events["channel"], events["channel"][..., -1] = 77, 1000
    events["size"][..., -1], events["count"], events["bytes"] = n_ranks, 1, 800
    events["call"] = CALL["isend"]
    events["call"][..., n_peers : 2 * n_peers], events["call"][..., -1] = CALL["irecv"], CALL["allreduce"]
    return events.ravel()


@dataclass(frozen=True)
class Written:
    """What `write_waiting_run` asks of a simulation."""

    made: np.ndarray
    n_ranks: int
    n_steps: int
    regions: tuple[str, ...] = ()

    def events(self, logged: Callable[[int], bool]) -> np.ndarray:
        """All events."""
        return self.made


def seconds(call: Callable[[], object]) -> list[float]:
    """CPU time of each of REPEATS calls."""
    found = []
    for _ in range(REPEATS):
        begin = time.process_time()
        call()
        found.append(time.process_time() - begin)
    return found


def entries_per_second(
    n_peers: int, logged: bool = False, followed: int | None = None, n_ranks: int = 32, n_steps: int = 100
) -> list[float]:
    """How many step entries a core reads with wait states, from rows of one message or from logs; followed :
    across how many steps to follow delays, None: not at all."""
    made = Written(halo_events(n_ranks, n_peers, n_steps), n_ranks, n_steps)
    with tempfile.TemporaryDirectory() as name:
        path = write_waiting_run(Path(name) / "run", made, lambda step: logged, packed=True)
        run = perfield.open(path)
        positions = np.arange(len(run))
        spent = seconds(lambda: waits_of_steps(run, positions, followed))
        return [n_ranks * n_steps / one for one in spent]


def transfers(events: np.ndarray) -> float:
    """s of transfers beyond their baselines."""
    found = find_transfers(events)
    same_node = np.zeros(len(found))
    return TransferSums.of(found, ways_of(found, same_node), same_node).slow_s


def main() -> None:
    """Prints all figures."""
    for n_peers, target in ((6, LEAST_ENTRIES), (26, LEAST_ENTRIES)):
        label = f"entries read with wait states, {n_peers} peers by two calls, one core"
        figure(label, entries_per_second(n_peers), "per second", target=target, most=False)
        for what, options in (("followed delays", {"followed": FOLLOWED}), ("logs", {"logged": True})):
            values = entries_per_second(n_peers, **options)
            figure(f"the same with {what}, {n_peers} peers", values, "per second", target=None, most=False)
    events = halo_events(64, 6, 1_200)
    found = find_wait_states(events, n_ranks=64)
    parts = {
        "wait states": lambda: find_wait_states(events, n_ranks=64),
        "delay costs": lambda: delay_costs(events, found.states),
        "the critical path": lambda: critical_path(events, found.states),
        "the gain of balance": lambda: gain_of_balance(events, found.states),
        "transfers and their baselines": lambda: transfers(events),
    }
    spent = {label: seconds(call) for label, call in parts.items()}
    for label, values in spent.items():
        figure(f"{label} of {len(events):,} logged events", values, "s", target=None)
    together = [sum(values) for values in zip(*spent.values())]
    figure("all of it together", together, "s", target=MOST_S)


if __name__ == "__main__":
    main()
