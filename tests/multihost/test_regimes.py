# SPDX-License-Identifier: BSD-3-Clause
"""Regimes of real messages over a wire whose delay changes: what the run says, against the wire's own log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drivers.hosts import compiled, run_on_hosts, why_no_hosts

import perfield
from perfield.studies.regimes.model import REGIME, classify, fit
from perfield.studies.regimes.of_run import timings_of_run

HERE = Path(__file__).resolve().parent
DELAYS_US = (0, 200, 1000)
DWELL_MS = 200


def true_states(log: Path, begin_ns: np.ndarray, end_ns: np.ndarray) -> np.ndarray:
    """The state in which each step lies as a whole; -1 if the wire changed meanwhile."""
    since, state = np.loadtxt(log, dtype=np.int64, usecols=(0, 1), unpack=True)
    at_begin = np.searchsorted(since, begin_ns, side="right") - 1
    at_end = np.searchsorted(since, end_ns, side="right") - 1
    return np.where(at_begin == at_end, state[at_begin], -1)


@pytest.mark.long
def test_regimes_of_waits_agree_with_the_log_of_the_wire_between_the_switches(
    build_c, perfield_flags, bin_dir, tmp_path
):
    if reason := why_no_hosts():
        pytest.skip(reason)
    log = tmp_path / "wire.log"
    wire = {
        "MH_FIRST": "1",
        "MH_DELAYWIRE": str(compiled("delaywire.c", tmp_path, "-lm")),
        "MH_DELAY_sw2": f"states {log} 1 {DWELL_MS} {' '.join(map(str, DELAYS_US))}",
    }
    program = build_c(HERE / "halo.c", *perfield_flags("--libs"))
    mpirun = ["mpirun", "--host", "n1:1,n2:1", "-n", "2", bin_dir / "perfield-exec", program, "4000"]
    result = run_on_hosts("n1;n2", mpirun, tmp_path, wire)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"

    run = perfield.open(tmp_path / "perfield-run")
    times = timings_of_run(run, field="waiting_time_s", reduce="max")
    found = fit(times, n_regimes=len(DELAYS_US))
    regimes = classify(times, found.model)[REGIME].values[0]

    # All hosts are this machine, so their stamps and the wire's are of one clock.
    zero_ns = run.rank_entries[0]["monotonic_ns"]
    stamps = [run.frame(k) for k in range(len(run))]
    begin_ns = zero_ns + np.array([np.nanmin(frame.begin_s) for frame in stamps]) * 1e9
    end_ns = zero_ns + np.array([np.nanmax(frame.end_s) for frame in stamps]) * 1e9
    state = true_states(log, begin_ns, end_ns)
    inside = (state >= 0) & (regimes >= 0)
    assert inside.sum() > 1000
    agreement = (regimes[inside] == state[inside]).mean()
    seen = [np.median(times["time_s"].values[0][inside & (state == k)]) for k in range(len(DELAYS_US))]
    assert agreement >= 0.95, f"{agreement:.3f} of {inside.sum()} steps; median waits by state {seen} s"
