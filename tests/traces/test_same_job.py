# SPDX-License-Identifier: BSD-3-Clause
"""One job under both perfield and Score-P: the imported trace and the run agree in all messages."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import perfield

pytest.importorskip("otf2", reason="the module otf2 is not installed here; Debian has it as python3-otf2")
pytestmark = pytest.mark.skipif(shutil.which("scorep") is None, reason="there is no scorep on PATH")

REPOSITORY = Path(__file__).resolve().parents[2]
PATTERNS = REPOSITORY / "testcase/patterns"
TRACED = {
    "SCOREP_ENABLE_PROFILING": "false",
    "SCOREP_ENABLE_TRACING": "true",
    "SCOREP_EXPERIMENT_DIRECTORY": "trace",
}


def exchanged(run, which: str) -> dict[tuple, tuple]:
    """(source, target, call) -> (count, bytes, empty, largest) of all messages in the run's only frame."""
    rows = getattr(run.frame(0), which)
    return {tuple(row)[:3]: tuple(row)[3:] for row in rows.tolist()}


@pytest.mark.parametrize(
    ("source", "flags"),
    [
        (REPOSITORY / "tests/bridge/sources/programs/reversed_ranks.c", []),
        (PATTERNS / "multigrid.c", ["-DWITHOUT_PERFIELD", "-lm"]),
        (PATTERNS / "multigrid.F90", ["-DWITHOUT_PERFIELD", "-cpp"]),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_trace_and_run_of_one_job_agree(with_scorep, mpirun, bin_dir, perfield_cli, source, flags):
    program = with_scorep(source, *flags)
    result = mpirun(4, bin_dir / "perfield-exec", program, 3, 16, env=TRACED)
    assert result.returncode == 0, result.stdout + result.stderr
    imported = perfield_cli("import", "trace/traces.otf2", "-o", "imported", cwd=result.cwd)
    assert imported.returncode == 0, imported.stderr
    runs = [perfield.open(result.cwd / name) for name in ("perfield-run", "imported")]
    for which in ("messages", "received"):
        measured, traced = (exchanged(run, which) for run in runs)
        assert traced == measured
        assert len(measured) > 4
    measured, traced = (run.frame(0).values for run in runs)
    for name in ("sent_count", "sent_bytes", "received_count", "received_bytes", "peer_count"):
        assert traced[name].tolist() == measured[name].tolist(), name
