# SPDX-License-Identifier: BSD-3-Clause
"""Converts Score-P's time stamps to ticks of perfield's clock, with clocks of the test's own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parent / "programs/stamps.cpp"
BRIDGE = Path(__file__).resolve().parents[3] / "bridge"


@pytest.fixture(scope="module")
def stamps(tmp_path_factory) -> Path:
    """The program that compares them."""
    program = tmp_path_factory.mktemp("stamps") / "stamps"
    words = ["g++", "-std=c++17", "-O1", f"-I{BRIDGE}", PROGRAM, "-o", program]
    subprocess.run(words, check=True, timeout=120)
    return program


@pytest.mark.parametrize("ahead_ns", [1_000, 5_000_000, 10**12])
def test_stamps_match_the_nearest_clock(stamps, ahead_ns):
    found = subprocess.run([stamps, str(ahead_ns)], check=True, capture_output=True, text=True, timeout=60)
    assert int(found.stdout) <= 1000
