# SPDX-License-Identifier: BSD-3-Clause
"""Regions and steps of a Python program, and the modules that the package loads for them."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest
from conftest import run_command

import perfield
from perfield.fields.regions import Region

STEPS = """
import perfield
perfield.initialize()
for number in range(3):
    BODY
    perfield.step(10 + number, number / 2)
"""


def program(body: str, before: str = "") -> str:
    """The text of a program with three steps that run `body`."""
    return before + STEPS.replace("BODY", body.strip().replace("\n", "\n    "))


def count(run, name: str) -> list[float]:
    """How often rank 0 entered a region, in each step."""
    return [float(frame.values[f"{name}_count"][0]) for frame in run.frames()]


def region(run, name: str) -> Region:
    """The region of that name."""
    (found,) = [one for one in run.known_regions if one.name == name and one.block == -1]
    return found


@pytest.mark.parametrize("alone", [False, True], ids=["perfield-exec", "alone"])
def test_steps_have_program_numbers_and_times(measured_python, alone):
    run, _ = measured_python(program("pass"), alone=alone)
    assert run.state == "finished"
    assert run.ends[0]["sources"] == (["python"] if alone else ["memory", "io", "python"])
    assert [(frame.label, frame.time) for frame in run.frames()] == [(10, 0.0), (11, 0.5), (12, 1.0)]


def test_step_without_time_or_with_huge_number_closes(measured_python):
    text = "import numpy, perfield\nperfield.initialize()\nperfield.step(numpy.int32(4))\n"
    text += "perfield.step(10**30, time=3)"
    run, _ = measured_python(text)
    first, second = run.frames()
    assert first.label == 4 and np.isnan(first.time)
    assert second.label == 2**63 - 1 and second.time == 3


def test_region_counts_entries_and_knows_its_source_line(measured_python):
    run, _ = measured_python(program('for i in range(number):\n    with perfield.region("a b"): pass'))
    assert count(run, "a_b")[1:] == [1, 2]
    assert region(run, "a b").line == 6 and region(run, "a b").file.endswith("program.py")


def test_exception_ends_the_region(measured_python):
    body = 'try:\n    with perfield.region("fails"): raise KeyError\nexcept KeyError: pass'
    run, _ = measured_python(program(body))
    assert count(run, "fails") == [1, 1, 1] and run.ends[0]["faults"] == {}


def test_region_entered_before_measuring_is_not_a_fault(measured_python):
    text = 'import perfield\nwith perfield.region("all"):\n    perfield.initialize()\nperfield.step(0)'
    run, _ = measured_python(text, alone=True)
    assert run.ends[0]["faults"] == {}


def test_time_is_assigned_to_the_named_block(measured_python):
    before = "import perfield\nfor b in (0, 1): perfield.mesh_image((0, 2), block=b)\n"
    body = 'with perfield.region("solve", block=1): pass\nwith perfield.region("solve", 0): pass'
    run, _ = measured_python(program(body, before))
    blocks = run.frame(1).block_values["solve_count"]
    assert blocks == {(0, 0): 1, (0, 1): 1} and count(run, "solve") == [2, 2, 2]


def test_decorated_functions_are_regions_and_keep_behaviour(measured_python):
    before = """
import perfield
class Solver:
    @perfield.region
    def advance(self, by, *, twice=False):
        '''Advances.'''
        return by * (2 if twice else 1)
@perfield.region("named")
def solve(n):
    return n and solve(n - 1)
assert Solver.advance.__doc__ == "Advances." and Solver().advance(3, twice=True) == 6
"""
    run, _ = measured_python(program("Solver().advance(1)\nsolve(2)", before))
    assert count(run, "Solver_advance") == [1, 1, 1] and count(run, "named") == [3, 3, 3]
    assert region(run, "Solver.advance").line == 4


def test_decorated_generator_is_in_its_region_only_while_running(measured_python):
    before = """
import perfield
said = []
@perfield.region("numbers")
def numbers():
    try:
        said.append((yield 1))
    except KeyError as error:
        said.append(error)
    yield 2
    return 3
def all_of():
    said.append((yield from numbers()))
"""
    body = """
g = all_of()
assert next(g) == 1
with perfield.region("between"): pass
assert (g.send("sent") if number else type(g.throw(KeyError("thrown")))) in (2, int)
assert list(g) == [] and said[-1] == 3
h = numbers(); next(h); h.close()
"""
    run, _ = measured_python(program(body, before))
    # The first generator resumes three times; the second resumes once and closes.
    assert count(run, "numbers") == [5, 5, 5] and count(run, "between") == [1, 1, 1]
    assert run.ends[0]["faults"] == {}


def test_pause_counts_nothing(measured_python):
    body = 'with perfield.paused(), perfield.region("solve"): assert not perfield.measuring()\n'
    body += 'perfield.pause()\nwith perfield.region("solve"): pass\nperfield.resume()\n'
    run, _ = measured_python(program(body + 'with perfield.region("solve"): pass'))
    assert count(run, "solve") == [1, 1, 1]


def test_arming_line_separates_equal_regions(measured_python):
    body = """
perfield.pipeline_next()
solve()
perfield.pipeline_next()
solve(); solve()
"""
    run, _ = measured_python(program(body, "import perfield\n@perfield.region\ndef solve(): pass\n"))
    assert count(run, "solve") == [1, 1, 1] and count(run, "solve_2") == [1, 1, 1]


def test_threads_have_their_own_regions(measured_python):
    before = """
import perfield, threading
def work():
    for _ in range(50):
        with perfield.region("work"): pass
"""
    body = """
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    run, _ = measured_python(program(body, before))
    assert count(run, "work") == [150, 150, 150] and run.ends[0]["faults"] == {}


def test_values_equal_the_frames_values(measured_python):
    text = program('with perfield.region("solve"): pass').replace(
        "perfield.step(10",
        'seen = perfield.values(); assert seen["solve_count"] == 1, seen\n    perfield.step(10',
    )
    run, _ = measured_python(text)
    assert count(run, "solve") == [1, 1, 1]


@pytest.mark.parametrize("off", ["PERFIELD_ENABLED", "nothing"])
def test_calls_do_nothing_without_measuring(tmp_path, off):
    text = """
import perfield
with perfield.region("solve"), perfield.paused(): perfield.pipeline_next()
if OFF:
    perfield.initialize(); perfield.step(1, 2.0); perfield.finalize()
print(perfield.measuring(), perfield.values())
""".replace("OFF", str(off != "nothing"))
    env = {"PERFIELD_ENABLED": "false"} if off == "PERFIELD_ENABLED" else {}
    result = run_command([sys.executable, "-c", text], env, tmp_path, 60)
    assert (result.stdout, result.stderr) == ("False {}\n", "") and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("wrong", "raised"),
    [
        ("perfield.region(3)", TypeError),
        ("perfield.region()", TypeError),
        ("perfield.region('a', block='x')", TypeError),
        ("perfield.region('a', block=-1)", ValueError),
        ("perfield.region('a', colour=1)", TypeError),
        ("perfield.region('a')(3)", TypeError),
        ("perfield.region(int)", TypeError),
        ("perfield.step(1.5)", TypeError),
        ("perfield.step()", TypeError),
        ("perfield.step(1, 'x')", TypeError),
        ("perfield.step(1, when=2)", TypeError),
        ("perfield.nothing", AttributeError),
    ],
)
def test_misuse_raises_the_common_exception(wrong, raised):
    with pytest.raises(raised):
        eval(wrong)


def test_coroutine_is_refused_with_advice():
    async def wait():
        pass

    with pytest.raises(TypeError, match="between two awaits"):
        perfield.region("x")(wait)


def test_region_is_one_object_per_name_and_block():
    assert perfield.region("one") is perfield.region("one")
    assert perfield.region("one", 2) is perfield.region("one", block=2) is not perfield.region("one")
    assert (perfield.region("one", 2).name, perfield.region("one", 2).block) == ("one", 2)
    assert perfield.region("one").block is None and repr(perfield.region("one", 2)) == "Region('one', 2)"


def test_api_loads_at_first_use_without_numpy():
    text = "import sys, perfield; before = {*sys.modules}; perfield.region; after = {*sys.modules};"
    text += "print(*(name in modules for modules in (before, after)"
    text += " for name in ('perfield._recorder', 'perfield._bridge', 'numpy')))"
    result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False", "False", "True", "False", "False"]


def test_all_package_names_exist_and_are_documented():
    assert set(perfield.__all__) <= set(dir(perfield))
    for name in set(perfield.__all__) - {"attach"}:
        text = inspect.getdoc(getattr(perfield, name))
        assert text and "." in text.partition("\n\n")[0], name
