# SPDX-License-Identifier: BSD-3-Clause
"""Cost of the oscillator model: a period of a large chain beside its right-hand sides, and beside dense form.

CPU seconds of one thread per simulated period. Bidirectional chains with tanh start from random phases, so
that all oscillators move. The dense form of the same equations adds up all N^2 pairs, in SciPy's DOP853.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import report
from scipy.integrate import DOP853

from perfield.studies.oscillators.model import Model, initial, oscillate, potentials, topologies

LARGE, DENSE = 100_000, 1_000
PERIODS = 20  # of the smaller chain
TIGHT = {"rtol": 1e-8, "atol": 1e-10}


def chain(n: int, **more: object) -> Model:
    """A bidirectional chain with c = 1."""
    edges = topologies.chain(n, bidirectional=True)
    return Model(edges, potentials.Tanh(), normalisation="none", **more)


def cpu(function: object, repeats: int) -> list[float]:
    """CPU seconds of each call, after one that does not count."""
    taken = []
    for _ in range(repeats + 1):
        begin = time.process_time()
        function()
        taken.append(time.process_time() - begin)
    return taken[1:]


def large(repeats: int) -> None:
    """A period of the large chain against as many right-hand sides, one after the other, in turn."""
    model, start = chain(LARGE), initial.disordered(LARGE)
    sender, receiver, strength = model.topology.sender, model.topology.receiver, model.edge_strength
    for outputs in (1, 10):
        times = np.linspace(0, 1, outputs + 1)
        count = oscillate(model, start, times, **TIGHT).attrs["rhs_evaluations"]

        def sides_alone(count: int = count) -> None:
            for _ in range(count):
                pull = np.tanh(start[sender] - start[receiver])
                np.bincount(receiver, strength * pull, minlength=LARGE)

        periods, alone = [], []
        for _ in range(repeats):
            periods += cpu(lambda times=times: oscillate(model, start, times, **TIGHT), 1)
            alone += cpu(sides_alone, 1)
        of = f"chain of {LARGE:,}, {outputs} output{'s' * (outputs > 1)} per period"
        report.figure(f"{of}: a period ({count} right-hand sides)", periods, "s", target=None)
        report.figure(f"{of}: right-hand sides alone", alone, "s", target=None)
        ratio = [one / other for one, other in zip(periods, alone)]
        report.figure(f"{of}: a period over its right-hand sides", ratio, "times", target=2)


def dense(repeats: int) -> None:
    """Some periods of the smaller chain against the dense form, in turn, so that load strikes both.

    The plain dense form makes new arrays in each call, as NumPy's users write it. What these cost depends on
    the memory that malloc keeps, so this needs a process of its own. The frugal form makes none.
    """
    model, start = chain(DENSE), initial.disordered(DENSE)
    matrix = model.topology.matrix.toarray()
    kept = np.empty_like(matrix)

    def plain(_: float, phase: np.ndarray) -> np.ndarray:
        return (matrix * np.tanh(phase[None, :] - phase[:, None])).sum(axis=1)

    def frugal(_: float, phase: np.ndarray) -> np.ndarray:
        np.subtract(phase[None, :], phase[:, None], out=kept)
        np.tanh(kept, out=kept)
        np.multiply(matrix, kept, out=kept)
        return kept.sum(axis=1)

    def periods(side: Callable[[float, np.ndarray], np.ndarray]) -> np.ndarray:
        solver = DOP853(side, 0.0, start, float(PERIODS), **TIGHT)
        while solver.status == "running":
            solver.step()
        return solver.y

    def by_edges() -> np.ndarray:
        found = oscillate(model, start, np.array([0.0, PERIODS]), **TIGHT)
        return found.phase.values[:, -1] - 2 * np.pi * PERIODS

    for side in (plain, frugal):
        apart = np.abs(periods(side) - by_edges()).max()
        if apart > 1e-7:
            raise SystemExit(f"the dense form ends {apart:.1e} rad away: it is not the same as the edges.")
    few, many = [], {plain: [], frugal: []}
    for _ in range(repeats):
        few.append(np.median(cpu(by_edges, 5)) / PERIODS)
        for side, taken in many.items():
            begin = time.process_time()
            periods(side)
            taken.append((time.process_time() - begin) / PERIODS)
    of = f"chain of {DENSE:,}"
    report.figure(f"{of}: a period by edges", few, "s", target=None)
    for side, name, target in ((plain, "dense form", 200), (frugal, "dense form without new arrays", None)):
        report.figure(f"{of}: a period in {name}", many[side], "s", target=None)
        speed = [slow / fast for slow, fast in zip(many[side], few)]
        report.figure(f"{of}: {name} over edges", speed, "times", target=target, most=False)


def others(repeats: int) -> None:
    """A period with noise, and one with delays, of the smaller chain."""
    from perfield.studies.oscillators.model import Noise

    start, times = initial.disordered(DENSE), np.array([0.0, 1.0])
    for what, more in (("noise", {"noise": Noise()}), ("a delay of 0.05 s", {"delay": 0.05})):
        model = chain(DENSE, **more)
        taken = cpu(lambda model=model: oscillate(model, start, times, **TIGHT), repeats)
        report.figure(f"chain of {DENSE:,} with {what}: a period", taken, "s", target=None)


def memory(n: int) -> None:
    """The peak of all arrays, with the topology, the model and the result of a tenth of a period."""
    tracemalloc.start()
    model = chain(n)
    oscillate(model, initial.disordered(n), np.array([0.0, 0.1]), **TIGHT)
    peak = tracemalloc.get_traced_memory()[1] / model.topology.n_edges
    tracemalloc.stop()
    report.figure(f"chain of {n:,}: memory per edge", [peak], "bytes", target=None)


if __name__ == "__main__":
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":  # NumPy reads it when it is imported
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    if sys.argv[1:] == ["dense"]:
        dense(7)
    else:
        subprocess.run([sys.executable, __file__, "dense"], check=True)
        large(9)
        others(9)
        for size in (LARGE, 10 * LARGE):
            memory(size)
