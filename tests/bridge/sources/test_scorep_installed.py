# SPDX-License-Identifier: BSD-3-Clause
"""Compares the plugin's declarations of Score-P's interface with the headers of an installed Score-P."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

BRIDGE = Path(__file__).resolve().parents[3] / "bridge"
COMPARISON = BRIDGE / "sources/scorep/installed_interface.cpp"
INTERFACE = BRIDGE / "sources/scorep/substrate_interface.hpp"

pytestmark = pytest.mark.skipif(
    shutil.which("scorep-config") is None, reason="there is no scorep-config on PATH"
)


def compiled(folder: Path, interface: str) -> subprocess.CompletedProcess:
    """Compiles the comparison with that text as substrate_interface.hpp."""
    copy = folder / "sources/scorep"
    copy.mkdir(parents=True)
    (copy / INTERFACE.name).write_text(interface)
    flags = subprocess.run(["scorep-config", "--cppflags"], capture_output=True, text=True, check=True)
    command = ["c++", "-std=c++17", "-fsyntax-only", *flags.stdout.split(), "-I", folder, COMPARISON]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


def test_declarations_agree_with_the_installed_headers(tmp_path):
    result = compiled(tmp_path, INTERFACE.read_text())
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("kMpiSend = 11", "kMpiSend = 10"),
        ("kRegionGetName = 33", "kRegionGetName = 32"),
        ("  void (*init_mpp)();\n  void (*finalize)();", "  void (*finalize)();\n  void (*init_mpp)();"),
    ],
)
def test_wrong_declarations_are_found(tmp_path, right, wrong):
    text = INTERFACE.read_text()
    assert right in text
    result = compiled(tmp_path, text.replace(right, wrong))
    assert result.returncode != 0
    assert "static assertion failed" in result.stderr
