# SPDX-License-Identifier: BSD-3-Clause
"""Cost of regimes: a fit with ten starts, Viterbi of many ranks beside hmmlearn, and a dask array in blocks.

CPU seconds, and for the fit also the time on the clock. Timings are those of the paper's Table 1 with a
log-normal slow regime. hmmlearn fits and decodes a Gaussian of standardised logarithms, in batches of 128
ranks; perfield fits its default, Student's t, and the same Gaussian. Both fit
as many states from as many starts, which perfield first follows on an eighth of the steps.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from report import figure
from threadpoolctl import threadpool_limits  # of scikit-learn, which hmmlearn needs

from perfield._bridge import HiddenMarkov
from perfield.studies.regimes.model import Model, fit, timings

sys.path.append(str(Path(__file__).resolve().parents[1]))  # tests/
from known_runs.regime_levels import levels

REPEATS = 3
STATES = 3
FIT_S, VITERBI_S, VITERBI_GB = 10.0, 1.0, 0.6

MEASURE = """
import json, sys, time
import numpy as np
sys.path.append(sys.argv[5])
from perfield.studies.regimes.model import Model, classify, timings
from perfield.studies.regimes.model.decode import hidden_of
from known_runs.regime_levels import levels

what, ranks, steps, model = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Model.from_json(sys.argv[4])
few = levels(0, 20, steps).time_s.values
if what == "viterbi":
    values = np.tile(few, (ranks // 20 + 1, 1))[:ranks]
    begin, clock = time.process_time(), time.perf_counter()
    hidden_of(model).decode(values)
elif what == "classify":
    values = timings(np.tile(few, (ranks // 20 + 1, 1))[:ranks])
    begin, clock = time.process_time(), time.perf_counter()
    classify(values, model)
else:
    import dask
    import dask.array
    from perfield.studies.regimes.model import fit
    block = 512
    lazy = dask.array.map_blocks(
        lambda block_info=None: np.tile(few, (block // 20 + 1, 1))[:block],
        chunks=((block,) * (ranks // block), (steps,)), dtype=float,
    )
    begin, clock = time.process_time(), time.perf_counter()
    times = timings(lazy)
    found = classify(times, fit(times, 3).model)
    with dask.config.set(scheduler="threads", num_workers=2):
        slow, sure = dask.compute((found.regime == 2).mean("step"), found.probability.mean("step"))
    assert slow.shape == (ranks,) and 0.2 < float(slow.mean()) < 0.5, slow
taken = [time.process_time() - begin, time.perf_counter() - clock]
# Not ru_maxrss, which counts the process that started this one.
peak_kb = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([*taken, peak_kb * 1.024e-6]))
"""


def cpu(function: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    begin = time.process_time()
    function()
    return time.process_time() - begin


def apart(what: str, ranks: int, steps: int, model: Model) -> list[float]:
    """CPU seconds, seconds and peak memory in GB of a process that does only that."""
    tests = str(Path(__file__).resolve().parents[1])
    command = [sys.executable, "-c", MEASURE, what, str(ranks), str(steps), model.to_json(), tests]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def standardised(values: np.ndarray) -> np.ndarray:
    """Logarithms less their median, over the distance of their quartiles, as hmmlearn needs them."""
    logs = np.log(values)
    low, middle, high = np.quantile(logs, [0.25, 0.5, 0.75])
    return (logs - middle) / (high - low)


def theirs(seed: int):
    """hmmlearn's model without the priors that are wrong for data in seconds, started by its k-means."""
    from hmmlearn.hmm import GaussianHMM

    return GaussianHMM(
        STATES, min_covar=1e-6, covars_prior=0, covars_weight=0, n_iter=300, tol=1.0, random_state=seed
    )


def fits(values: np.ndarray, n_starts: int) -> None:
    """A fit by both, each from as many starts."""
    of = f"fit of {values.shape[0]} x {values.shape[1]:,} with {n_starts} starts"
    times, lengths = timings(values), [values.shape[1]] * values.shape[0]
    ours, clock, same, all_states, other = [], [], [], [], []
    for repeat in range(REPEATS):
        begin = time.perf_counter()
        ours.append(cpu(lambda seed=repeat: fit(times, STATES, n_starts=n_starts, seed=seed)))
        clock.append(time.perf_counter() - begin)
        same.append(
            cpu(
                lambda seed=repeat: fit(
                    times, STATES, n_starts=n_starts, seed=seed, emission="log-gaussian", merge=False
                )
            )
        )
        all_states.append(cpu(lambda seed=repeat: fit(times, n_starts=n_starts, seed=seed)))

        def by_hmmlearn(repeat: int = repeat) -> None:
            rows = standardised(values).reshape(-1, 1)
            # One thread: threads of k-means that wait for a core count as CPU seconds.
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")
                for start in range(n_starts):
                    theirs(100 * repeat + start).fit(rows, lengths)

        if not other:
            other.append(cpu(by_hmmlearn))
    figure(f"{of}, Student's t", ours, "s", target=FIT_S)
    figure(f"{of}, Student's t, on the clock", clock, "s", target=FIT_S)
    figure(f"{of}, Gaussian of logarithms", same, "s", target=None)
    figure(f"{of}, number of regimes chosen", all_states, "s", target=None)
    figure(f"{of}, hmmlearn", other, "s", target=None)
    speed = [other[0] / fast for fast in ours]
    figure(f"{of}: hmmlearn over perfield, Student's t", speed, "times", target=1, most=False)
    speed = [other[0] / fast for fast in same]
    figure(f"{of}: hmmlearn over perfield, Gaussian", speed, "times", target=1, most=False)


def viterbi(few: np.ndarray, ranks: int) -> None:
    """The most likely path of many ranks by both, with models of the same number of states."""
    steps = few.shape[1]
    models = {
        "Student's t": fit(timings(few), STATES).model,
        "Gaussian of logarithms": fit(timings(few), STATES, emission="log-gaussian", merge=False).model,
    }
    of = f"Viterbi of {ranks:,} x {steps:,}"
    taken = {
        name: [apart("viterbi", ranks, steps, model) for _ in range(REPEATS)]
        for name, model in models.items()
    }
    other = []
    many = np.tile(few, (ranks // len(few) + 1, 1))[:ranks]
    hidden = theirs(0)
    hidden.n_features = 1
    gauss = models["Gaussian of logarithms"]
    hidden.startprob_, hidden.transmat_ = gauss.start, gauss.transition
    hidden.means_, hidden.covars_ = gauss.location[:, np.newaxis], gauss.scale[:, np.newaxis] ** 2
    own = HiddenMarkov(True, 0.0, gauss.location, gauss.scale, gauss.start, gauss.transition)

    def by_hmmlearn() -> None:
        for first in range(0, ranks, 128):
            rows = np.log(many[first : first + 128])
            hidden.decode(rows.reshape(-1, 1), lengths=[steps] * len(rows))

    for _ in range(REPEATS):
        other.append(cpu(by_hmmlearn))
    path = hidden.decode(np.log(few).reshape(-1, 1), lengths=[steps] * len(few))[1].reshape(few.shape)
    if not (path == own.decode(few)).all():
        raise SystemExit("hmmlearn's path is another one: they do not do the same.")
    for name, rows in taken.items():
        seconds, _, peak = zip(*rows)
        figure(f"{of}, {name}", seconds, "s", target=VITERBI_S)
        figure(f"memory for {of}, {name}", peak, "GB", target=VITERBI_GB)
    figure(f"{of}, hmmlearn", other, "s", target=None)
    for name, rows in taken.items():
        speed = [slow / fast for slow, (fast, _, _) in zip(other, rows)]
        figure(f"{of}: hmmlearn over perfield, {name}", speed, "times", target=1, most=False)
    seconds, _, peak = zip(*[apart("classify", ranks, steps, models["Student's t"]) for _ in range(REPEATS)])
    figure(f"regimes and probabilities of {ranks:,} x {steps:,}", seconds, "s", target=None)
    figure(f"memory for regimes and probabilities of {ranks:,} x {steps:,}", peak, "GB", target=None)


def in_blocks(few: np.ndarray, ranks: int) -> None:
    """Fit and classification of a dask array that is larger than the memory it may take."""
    model = fit(timings(few), STATES).model
    seconds, clock, peak = apart("dask", ranks, few.shape[1], model)
    of = f"of {ranks:,} x {few.shape[1]:,} by dask in blocks of 512 ranks"
    figure(f"fit, regimes and probabilities {of}", [seconds], "s", target=None)
    figure(f"fit, regimes and probabilities {of}, on the clock", [clock], "s", target=None)
    figure(f"memory for fit, regimes and probabilities {of}", [peak], "GB", target=None)


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=8192)
    parser.add_argument("--ranks", type=int, default=1792)
    parser.add_argument("--blocks", type=int, default=65_536, help="ranks of the dask array")
    parser.add_argument("--starts", type=int, default=10)
    arguments = parser.parse_args()
    few = levels(0, 20, arguments.steps).time_s.values
    fits(few, arguments.starts)
    viterbi(few, arguments.ranks)
    in_blocks(few, arguments.blocks)


if __name__ == "__main__":
    main()
