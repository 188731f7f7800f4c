# SPDX-License-Identifier: BSD-3-Clause
"""Score-P's plugin and the recorder under ThreadSanitizer, with events from many threads at once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import perfield

ROOT = Path(__file__).resolve().parents[3]
HOST = Path(__file__).resolve().parent / "scorep_host/host.c"
FLAGS = "-fsanitize=thread -g -O1"


@pytest.mark.long
def test_64_threads_have_no_data_races(execute, tmp_path):
    if shutil.which("cmake") is None or shutil.which("ninja") is None:
        pytest.skip("cmake or ninja is not there to build for ThreadSanitizer")
    build = tmp_path / "build"
    commands = (
        ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DPERFIELD_PYTHON=OFF", "-DCMAKE_BUILD_TYPE=None"]
        + [f"-DCMAKE_{language}_FLAGS={FLAGS}" for language in ("C", "CXX")],
        ["cmake", "--build", build, "--target", "scorep_substrate_perfield", "--parallel", "2"],
        ["cc", *FLAGS.split(), HOST, "-o", tmp_path / "host", "-ldl", "-lpthread"],
    )
    for command in commands:
        result = execute(*command, timeout=600)
        assert result.returncode == 0, result.stdout + result.stderr

    # All threads meet new regions at once, while the first one closes steps beside them.
    regions = "".join(f"region {n} f{n}\n" for n in range(16, 48, 8))
    crowd = "".join(f"threads 16 500 {n}\n" for n in range(16, 48, 8))
    step = "enter 8\nexit 8\n"
    script = f"region 8 time_step\n{regions}init_mpp\n{step}{crowd}{step}threads 64 2000 16 8\n{step}"
    libraries = ":".join(str(build / "bridge" / part) for part in ("session", "sources/scorep"))
    environment = {"LD_LIBRARY_PATH": libraries, "PERFIELD_STEP_REGION": "time_step"}
    environment["TSAN_OPTIONS"] = "exitcode=66"
    result = execute(tmp_path / "host", env=environment, input=script, timeout=300)
    assert "ThreadSanitizer" not in result.stderr, result.stderr[:20000]
    assert result.returncode == 0, result.stderr
    frames = [*(run := perfield.open(tmp_path / "perfield-run")).frames(), run.setup, run.teardown]
    assert (
        sum(f.values["f16_count"][0] for f in frames if f.values["f16_count"][0] > 0) == 16 * 500 + 64 * 2000
    )
