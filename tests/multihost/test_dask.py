# SPDX-License-Identifier: BSD-3-Clause
"""A job of dask's workers under a real Slurm answers questions on a whole run, as docs/many-nodes.md shows.

The hosts are namespaces of this machine; Slurm and dask are real.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from compiled.fenced_blocks import fenced_blocks
from drivers.hosts import HERE as MULTIHOST
from drivers.hosts import run_on_hosts, why_no_slurm

import perfield
from twins import twin

DOCS = Path(__file__).resolve().parents[2] / "docs/many-nodes.md"
pytest.importorskip("distributed", reason="dask's distributed is not installed")


@pytest.mark.long
def test_documented_job_gives_what_one_process_does(tmp_path):
    reason = why_no_slurm()
    if reason:
        pytest.skip(reason)
    shell, program = (text for _, text in fenced_blocks(DOCS) if "imbalance.py" in text or "Client" in text)
    twin.write_run(tmp_path / "perfield-run", ranks=64, steps=40, hosts=("a", "b"))
    (tmp_path / "imbalance.py").write_text(program)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, words in (("dask", "-m dask"), ("python3", "")):  # as in an environment with both
        (tools / name).write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
        (tools / name).chmod(0o755)
    (tmp_path / "job").write_text(f"#!/bin/sh\n{shell}")
    script = "sbatch --wait -o job.txt job || { cat job.txt; exit 1; }"
    command = [MULTIHOST / "mhslurm", "sh", "-ec", script]
    path = {"PATH": f"{tools}:{os.environ['PATH']}"}
    result = run_on_hosts("n1,n2", command, tmp_path, path, timeout=300)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    steps = perfield.open(tmp_path / "perfield-run").steps
    times = steps[["region_time_s"]].perfield.by("step").region_time_s
    np.testing.assert_array_equal(
        np.load(tmp_path / "imbalance.npy"), times.sel(statistic="imbalance").values
    )
