# SPDX-License-Identifier: BSD-3-Clause
"""The planted programs: their compute times are those that were planted, and they refuse bad input."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

import perfield
from perfield.report import report

pytestmark = pytest.mark.alone

SOURCE = Path(__file__).resolve().parents[2] / "testcase/planted/planted.cpp"
RATIOS = {  # of the ranks' compute times, in multiples of rank 3's
    "cells": [1, 2, 1, 1],
    "cost": [1, 1, 3, 1],
    "waits": [4, 1, 1, 1],
    "output": [1, 1, 1, 1],
}


@pytest.mark.parametrize("case", RATIOS)
def test_compute_times_are_the_planted_ones(case, planted_run):
    run = perfield.open(planted_run(case).cwd / "perfield-run")
    times = run.steps.compute_time_s.median("step").values
    # Sleeping takes at least as long as asked, and a busy machine resumes a rank late.
    np.testing.assert_allclose(times / times[3], RATIOS[case], rtol=0.4)


def test_output_steps_write_and_take_longer(planted_run):
    run = perfield.open(planted_run("output").cwd / "perfield-run")
    total = run.steps[["io_write_bytes", "compute_time_s"]].sum("rank").to_dataframe()
    writes = total[total.io_write_bytes > 0]
    assert list(writes.index) == [19, 39, 59]
    assert writes.compute_time_s.min() > 3 * total.compute_time_s.median()


def test_the_hidden_rank_is_hot(planted_run):
    run = perfield.open(planted_run("hidden", 27, 5).cwd / "perfield-run")
    times = run.steps.compute_time_s.median("step").compute()
    assert int(times.argmax("rank")) == 13  # the centre of 3 x 3 x 3
    assert float(times.max() / times.median("rank")) > 20


FIRST_LINES = {  # what the first closing line says
    "cells": r", costs .*: rank 1 is slowest\nwhy +.*cell",
    "cost": r", costs .*: rank 2 is slowest\nwhy +as many cells as others, .* costs [23]\.\d times as",
    "waits": r", costs .*: rank 0 is slowest\nwhy +as many cells as others, .* costs [234]\.\d times as",
    "output": r"^output +every 20 steps \(3 of 60\); these take \d+\.\d times as long",
    "noise": ": no rank is clearly slower",
    "shared": ": no rank is clearly slower",
}


@pytest.mark.parametrize("case", FIRST_LINES)
def test_the_first_closing_line_says_what_was_planted(case, planted_run):
    printed = planted_run(case).stderr
    lines = printed.splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith(("imbalance ", "output ")))
    assert printed.index("imbalance ") < printed.index("\nsteps ")
    assert re.search(FIRST_LINES[case], "\n".join(lines[first : first + 2])), printed
    assert (" is slowest" in printed) == (case in ("cells", "cost", "waits")), printed


FIRST_FINDINGS = {  # kinds, and ranks
    "cells": (
        {"imbalance by cells", "imbalance by cost per cell"},
        [1],
    ),  # as the line above: explain, or alone
    "cost": ({"imbalance by cost per cell"}, [2]),
    "waits": ({"imbalance by cost per cell"}, [0]),
    "output": ({"output steps"}, None),
    "noise": (set(), None),
    "shared": (set(), None),
}


@pytest.mark.parametrize("case", FIRST_FINDINGS)
def test_the_first_finding_is_what_was_planted(case, planted_run):
    reported = report(perfield.open(planted_run(case).cwd / "perfield-run")).findings
    of_machine = ("shared cores", "taken PUs", "noise")  # it may be busy
    others = [finding for finding in reported if finding.kind not in of_machine]
    kinds, ranks = FIRST_FINDINGS[case]
    assert {finding.kind for finding in others[:1]} <= kinds, others
    assert bool(others) == bool(kinds) and (ranks is None or others[0].ranks.tolist() == ranks), others


def test_ranks_that_share_cores_are_reported(planted_run):
    share = len(os.sched_getaffinity(0)) < 4
    assert ("4 ranks on " in planted_run("shared").stderr) == share


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nosuch"], "expected planted CASE [STEPS] with a CASE of"),
        (["hidden"], "at least 27 ranks"),
        (["cost", "0"], "STEPS must be at least 1"),
    ],
)
def test_bad_input_is_refused(words, sentence, build_c, mpirun):
    result = mpirun(2, build_c(SOURCE), *words)
    assert result.returncode != 0
    assert sentence in result.stderr
