# SPDX-License-Identifier: BSD-3-Clause
"""clang-tidy finds nothing in rooms of the bridge that read files; bridge/.clang-tidy has what it looks for.

The other rooms need headers that the build generates.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sanitizers import BRIDGE, sources

WITHOUT_ANALYZER = "--checks=-clang-analyzer-*"  # which takes half a minute for each file


def reports(file: Path, *options: str) -> str:
    """What clang-tidy 14 says of a file; "" if nothing."""
    flags = ["-std=c++17", '-DPERFIELD_VERSION="0"', f"-I{BRIDGE}", f"-I{BRIDGE / 'include'}"]
    words = ["clang-tidy-14", "--quiet", *options, file, "--", *flags]
    result = subprocess.run(words, capture_output=True, text=True, timeout=900, check=False)
    return result.stdout + result.stderr if result.returncode else ""


@pytest.mark.long
@pytest.mark.parametrize(
    "room", ["platform", "format", "configuration", "fields", "run_directory", "session"]
)
def test_room_has_no_report(room):
    if shutil.which("clang-tidy-14") is None:
        pytest.skip("clang-tidy-14 is not installed; see .ci/packages")
    options = [] if room == "format" else [WITHOUT_ANALYZER]  # it reads what others wrote
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda file: reports(file, *options), sources(room)))
    assert not any(found), "\n".join(found)
