# SPDX-License-Identifier: BSD-3-Clause
"""The short form of each fault campaign: all its targets hold."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent


@pytest.mark.parametrize("campaign", sorted(path.name for path in FOLDER.glob("faults_*.py")))
def test_targets_hold(campaign, tmp_path):
    words = [sys.executable, FOLDER / campaign, "--short"]
    result = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=600, check=False)
    assert result.returncode == 0, result.stderr
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    missed = [row for row in rows if not row["holds"]]
    assert rows and not missed, f"{missed}\n{result.stderr}"
