# SPDX-License-Identifier: BSD-3-Clause
"""The compiled reader of runs (decoder, index, fields, summary, waits) and the injector, built for
AddressSanitizer and UBSan: tests that use them pass with those builds, and nothing is reported.

tests/bridge/recorder/test_races.py does so for the recorder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from compiled.sanitizers import has_sanitizer
from conftest import REPOSITORY

import perfield

SANITIZERS = "address,undefined"
BUILT = f"-fsanitize={SANITIZERS} -fno-sanitize-recover=undefined -g1 -O1"
INJECTOR = "perfield_inject_openmpi"
TESTS = {
    "decoder and index": ("tests/bridge/format", "tests/fields"),
    "summary": ("tests/bridge/summary",),
    "waits": ("tests/derived/test_waits.py", "tests/derived/test_matching.py"),
    "injector": ("tests/bridge/injector",),
}


@pytest.fixture(scope="module")
def sanitized_python(tmp_path_factory) -> Path:
    """A Python whose perfield has the sanitized module and injectors; all else is that of these tests."""
    folder = tmp_path_factory.mktemp("sanitized")
    if not has_sanitizer(SANITIZERS, folder):
        pytest.skip("this compiler or kernel has no AddressSanitizer that works")
    words = [sys.executable, "-m", "pybind11", "--cmakedir"]
    pybind = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    options = ["-DPERFIELD_PYTHON=ON", "-DCMAKE_BUILD_TYPE=None", f"-DPython_EXECUTABLE={sys.executable}"]
    options += [f"-Dpybind11_DIR={pybind}", f"-DCMAKE_CXX_FLAGS={BUILT}", f"-DCMAKE_C_FLAGS={BUILT}"]
    build = folder / "build"
    for command in (
        ["cmake", "-S", REPOSITORY, "-B", build, "-G", "Ninja", *options],
        ["cmake", "--build", build, "--target", "_bridge", INJECTOR],
    ):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=3600)
    venv.create(folder / "venv", system_site_packages=True)
    (packages,) = (folder / "venv/lib").glob("python*/site-packages")
    (packages / "of_the_tests.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")
    installed = Path(perfield.__file__).parent
    shutil.copytree(installed, packages / "perfield", ignore=shutil.ignore_patterns("_bridge*.so"))
    shutil.copy(installed.parent / "perfield.pth", packages)  # for measured programs in Python
    for pattern, place in (("python/_bridge*.so", "perfield"), ("injector/libperfield_*.so", "perfield/lib")):
        (made,) = build.glob(f"bridge/{pattern}")
        shutil.copy(made, packages / place)
    made, here = folder / "venv/bin", Path(sys.executable).parent
    shutil.copy(here / "perfield-exec", made)  # finds the libraries above
    _, _, script = (here / "perfield").read_text().partition("\n")
    (made / "perfield").write_text(f"#!{made}/python\n{script}")
    (made / "perfield").chmod(0o755)
    return made / "python"


@pytest.mark.long
@pytest.mark.timeout(3600)  # the first of them builds
@pytest.mark.parametrize("what", TESTS)
def test_nothing_is_reported_and_the_same_tests_pass(sanitized_python, tmp_path, what):
    runtimes = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout
        for name in ("libasan.so", "libubsan.so", "libstdc++.so.6")  # the last for the runtimes' hooks
    ]
    options = f"detect_leaks=0:log_path={tmp_path}/report"  # Python leaks
    environment = {"LD_PRELOAD": ":".join(path.strip() for path in runtimes), "ASAN_OPTIONS": options}
    environment["UBSAN_OPTIONS"] = f"print_stacktrace=1:log_path={tmp_path}/report"
    words = ["-m", "pytest", "-q", "-m", "not long", f"--basetemp={tmp_path}/tests", *TESTS[what]]
    result = subprocess.run(
        [sanitized_python, *words],
        **{"cwd": REPOSITORY, "env": {**os.environ, **environment}, "timeout": 3600},
        **{"capture_output": True, "text": True, "check": False},
    )
    reports = [file.read_text() for file in sorted(tmp_path.glob("report*"))]
    assert not reports, "\n".join(reports)[:20_000]
    assert result.returncode == 0 and " passed" in result.stdout, result.stdout[-20_000:]
