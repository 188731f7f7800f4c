# SPDX-License-Identifier: BSD-3-Clause
"""Functions that become regions by name in the configuration, before Python 3.12 and since."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import perfield

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = """
import threading
import perfield

class Solver:
    def advance(self, n):
        return self.inner(n)
    def inner(self, n):
        return n and self.inner(n - 1)
    @classmethod
    def create(cls):
        return cls()
def numbers(n):
    for i in range(n):
        try:
            yield i
        except KeyError:
            yield -1
def fails():
    raise ValueError
def main():
    perfield.initialize()
    for step in range(3):
        solver = Solver.create()
        solver.advance(3)
        assert list(numbers(2)) == [0, 1]
        thrown = numbers(1)
        assert next(thrown) == 0 and thrown.throw(KeyError()) == -1
        thrown.close()
        try:
            fails()
        except ValueError:
            pass
        thread = threading.Thread(target=solver.inner, args=(0,))
        thread.start()
        thread.join()
        END
main()
"""
STEPS = PROGRAM.replace("END", "perfield.step(step)")
BUILD_AS = ["-std=c++17", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,--no-as-needed"]


def newer_python() -> str | None:
    """Path of a Python with sys.monitoring, None if there is none."""
    if sys.version_info >= (3, 12):
        return sys.executable
    question = "import sys, sysconfig, pathlib; assert sys.version_info >= (3, 12); "
    question += (
        "assert pathlib.Path(sysconfig.get_path('include'), 'Python.h').exists(); print(sys.executable)"
    )
    candidates = [shutil.which(f"python3.{minor}") for minor in (14, 13, 12)]
    candidates += sorted(map(str, Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python")), reverse=True)
    for path in filter(None, candidates):
        result = subprocess.run([path, "-c", question], capture_output=True, text=True, check=False)
        if result.returncode == 0:
            return result.stdout.strip()
    return None


@pytest.fixture(scope="session")
def package_for(tmp_path_factory):
    """package_for(python): a folder for PYTHONPATH with perfield's measured side built for that Python."""

    def build(python: str) -> Path:
        folder = tmp_path_factory.mktemp("package")
        installed = Path(perfield.__file__).parent
        package = folder / "perfield"
        package.mkdir()
        for name in ("__init__.py", "startup.py", "measure", "studies", "lib"):
            (package / name).symlink_to(installed / name)
        ask = "import sysconfig as s; print(s.get_path('include'), s.get_config_var('EXT_SUFFIX'))"
        printed = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
        include, suffix = printed.stdout.split()
        bridge = REPOSITORY / "bridge"
        sources = [*bridge.glob("python/recorder_*.cpp"), *bridge.glob("configuration/*.cpp")]
        sources += [bridge / "platform" / name for name in ("quoted.cpp", "regular_file.cpp")]
        paths = [f"-I{bridge}", f"-I{bridge / 'include'}", f"-I{include}", f"-L{installed / 'lib'}"]
        command = ["g++", *BUILD_AS, *paths, f"-Wl,-rpath,{installed / 'lib'}", *map(str, sources)]
        subprocess.run([*command, "-lperfield", "-o", package / f"_recorder{suffix}"], check=True)
        # A .pth file works only in site-packages; a folder in PYTHONPATH needs sitecustomize.py.
        (folder / "sitecustomize.py").write_text("import perfield.startup\n")
        return folder

    return build


@pytest.fixture(scope="session", params=["this Python", "with sys.monitoring"])
def a_python(request, package_for) -> tuple[str, dict[str, str]]:
    """A Python and the environment in which it finds perfield: this Python, and 3.12 or newer."""
    if request.param == "this Python":
        return sys.executable, {}
    if sys.version_info >= (3, 12):
        pytest.skip("this Python has sys.monitoring itself")
    python = newer_python()
    if not python:
        pytest.skip("testing sys.monitoring needs Python 3.12 or newer with its headers")
    return python, {"PYTHONPATH": str(package_for(python))}


@pytest.fixture
def followed(measured_python, a_python):
    """followed(text, regions, step_region=""): the run of a program whose functions are regions."""
    python, environment = a_python

    def run(text: str, regions: str, step_region: str = ""):
        settings = {"PERFIELD_REGIONS": regions, "PERFIELD_STEP_REGION": step_region}
        return measured_python(text, {**environment, **settings}, python=python)[0]

    return run


def counts(run) -> list[dict[str, float]]:
    """How often each region was entered, in each step."""
    fields = [region.field for region in run.known_regions]
    return [
        {name: count for name in fields if (count := float(frame.values[f"{name}_count"][0])) > 0}
        for frame in run.frames()
    ]


def test_functions_are_selected_by_name_qualified_name_and_module(followed):
    run = followed(STEPS, "Solver.*,fails,program:numbers")
    each = {"Solver_create": 1, "Solver_advance": 1, "Solver_inner": 5, "fails": 1, "program_numbers": 6}
    assert counts(run) == [each] * 3
    assert {region.name: region.line for region in run.known_regions} == {
        "Solver.advance": 6, "Solver.inner": 8, "Solver.create": 10, "program:numbers": 13, "fails": 19,
    }  # fmt: skip
    assert all(region.file.endswith("program.py") for region in run.known_regions)


def test_exceptions_generators_and_threads_close_their_regions(followed):
    run = followed(STEPS, "fail*,number*,inner,main")  # main starts before measuring and ends after it
    assert counts(run)[0] == {"inner": 5, "numbers": 6, "fails": 1}
    assert run.ends[0]["faults"] == {}


def test_step_closes_when_step_function_returns(followed):
    run = followed(PROGRAM.replace("END", "pass"), "inner", "Solver.advance")
    assert len(run) == 3
    # Calls after the first advance() belong to the second step.
    assert [frame["inner"] for frame in counts(run)] == [4, 5, 5]


LEVELS = """
import perfield
perfield.initialize()
def advance(level):
    if level < 2:
        advance(level + 1)
        advance(level + 1)
for _ in range(4):
    advance(0)
"""


def test_recursive_step_function_closes_one_step(followed):
    assert counts(followed(LEVELS, "advance", "advance")) == [{"advance": 7}] * 4


def test_star_alone_selects_no_python_function(followed):
    run = followed(STEPS, "*")
    assert [region.name for region in run.known_regions] == []


def test_program_with_its_own_profiler_still_runs(followed):
    text = "import cProfile, pstats\nprofile = cProfile.Profile()\nprofile.enable()\n" + STEPS
    run = followed(text + "profile.disable()\nassert pstats.Stats(profile).total_calls > 30\n", "inner")
    assert run.state == "finished" and run.ends[0]["faults"] == {}


def test_python_loads_nothing_without_perfield_exec():
    text = "import sys; print([name for name in sys.modules if 'perfield' in name])"
    result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
