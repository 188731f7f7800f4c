# SPDX-License-Identifier: BSD-3-Clause
"""Cost of the oscillator model: a period of a large chain beside its right-hand sides, and beside dense form.

CPU seconds of one thread per simulated period. Bidirectional chains with tanh start from random phases, so
that all oscillators move. The dense form of the same equations adds up all N^2 pairs, in the same solver.
"""

from __future__ import annotations

import os
import sys
import time
import tracemalloc

import numpy as np
import report
from scipy.integrate import DOP853

from perfield.analysis.oscillators import Model, initial, oscillate, potentials, topologies

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
    """Some periods of the smaller chain against the dense form."""
    model, start = chain(DENSE), initial.disordered(DENSE)
    matrix = model.topology.matrix.toarray()

    def dense_side(_: float, phase: np.ndarray) -> np.ndarray:
        return (matrix * np.tanh(phase[None, :] - phase[:, None])).sum(axis=1)

    def dense_periods() -> np.ndarray:
        solver = DOP853(dense_side, 0.0, start, float(PERIODS), **TIGHT)
        while solver.status == "running":
            solver.step()
        return solver.y

    times = np.array([0.0, PERIODS])
    sparse = oscillate(model, start, times, **TIGHT).phase.values[:, -1] - 2 * np.pi * PERIODS
    apart = np.abs(dense_periods() - sparse).max()
    if apart > 1e-7:
        raise SystemExit(
            f"the dense form ends {apart:.1e} rad away from the sparse one: they are not the same."
        )
    few = [whole / PERIODS for whole in cpu(lambda: oscillate(model, start, times, **TIGHT), repeats)]
    many = [whole / PERIODS for whole in cpu(dense_periods, max(repeats // 3, 3))]
    report.figure(f"chain of {DENSE:,}: a period by edges", few, "s", target=None)
    report.figure(f"chain of {DENSE:,}: a period in dense form", many, "s", target=None)
    speed = [np.median(many) / one for one in few]
    report.figure(f"chain of {DENSE:,}: dense form over edges", speed, "times", target=200, most=False)


def others(repeats: int) -> None:
    """A period with noise, and one with delays, of the smaller chain."""
    from perfield.analysis.oscillators import Noise

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
        os.execve(sys.executable, [sys.executable, __file__], {**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    dense(9)  # first: after large arrays malloc keeps memory, which spares the dense form a third of its time
    large(9)
    others(9)
    for size in (LARGE, 10 * LARGE):
        memory(size)
