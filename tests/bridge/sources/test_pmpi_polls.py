# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that wait in probes and in loops of tests: for the sender of the message that ends it."""

from __future__ import annotations

import functools

import pytest

import perfield

LATE_S = 0.2
# Of the time of a loop, what perfield must see as time in MPI: the rest is the loop, and other programs.
SEEN = 0.2
PROBES, TESTS, AMID_OTHERS, INTERRUPTED, CAME_BEFORE, OF_WINDOW = range(4), range(4, 8), 8, 9, 10, 11


@pytest.fixture(scope="module")
def polled(mpi, build_c, perfield_flags, bin_dir, programs):
    """polled(logs): s that rank 0 waits in each step of polls.c and for whom, and s of blocking probes."""

    @functools.cache
    def run(logs: int) -> tuple[dict[int, tuple[float, set[int]]], dict[int, float]]:
        program = build_c(programs / "polls.c", *perfield_flags("--cflags"), by=mpi)
        env = {"PERFIELD_ARRIVALS_EVERY": logs, "PERFIELD_SUMMARY": "false"}
        result = mpi.run(2, bin_dir / "perfield-exec", program, env=env)
        assert result.returncode == 0, result.stderr
        states = perfield.open(result.cwd / "perfield-run").wait_states().compute()
        late = states[(states["rank"] == 0) & (states["kind"].isin(["late_sender", "late_one_sided"]))]
        probe_s = {int(way): float(s) for way, s in map(str.split, result.stdout.splitlines())}
        return {
            int(step): (float(of_step["time_s"].sum()), set(of_step["cause"].astype(int)))
            for step, of_step in late.groupby("step")
        }, probe_s

    return run


@pytest.mark.parametrize(("mpi", "logs"), [("openmpi", 1), ("mpich", 0)], indirect=["mpi"])
def test_waiting_in_probes_and_polls_is_for_the_sender_of_what_ends_it(polled, logs):
    found, probe_s = polled(logs)
    for way in (*PROBES, *TESTS, AMID_OTHERS, INTERRUPTED, OF_WINDOW):
        waited_s, causes = found[way]
        assert causes == {1}, way
        assert SEEN * LATE_S < waited_s < 3 * LATE_S, way
    for way in PROBES[:2]:  # their time is waiting, but for that of a busy machine
        assert found[way][0] > 0.6 * probe_s[way], way
    assert CAME_BEFORE not in found
