# SPDX-License-Identifier: BSD-3-Clause
"""The short form of each fault campaign: all its targets hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import WARM, clean_environment

FOLDER = Path(__file__).resolve().parent
MAIN = f"""
import runpy, sys
sys.path.insert(0, {str(FOLDER)!r})
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("campaign", sorted(path.name for path in FOLDER.glob("faults_*.py")))
def test_targets_hold(campaign, tmp_path):
    fork = WARM.start(MAIN, [str(FOLDER / campaign), "--short"], clean_environment(), tmp_path)
    out, err = fork.communicate(timeout=600)
    assert fork.returncode == 0, err
    rows = [json.loads(line) for line in out.splitlines()]
    missed = [row for row in rows if not row["holds"]]
    assert rows and not missed, f"{missed}\n{err}"
