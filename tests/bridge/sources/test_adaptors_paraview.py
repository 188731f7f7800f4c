# SPDX-License-Identifier: BSD-3-Clause
"""Programs with their own adaptor for legacy Catalyst, of the real ParaView, without a line of perfield."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from compiled.adaptor_runs import AdaptorRun

VTK = Path("/usr/include/paraview-5.11")
HOST = Path(__file__).resolve().parent / "adaptor_host"
MODULES = ("PVCatalyst", "PVPythonCatalyst", "CommonCore", "CommonDataModel", "CommonExecutionModel")
NAMED = {"PERFIELD_CATALYST_FIELDS": "compute_time_s"}


def links(*modules: str) -> list[str]:
    """Words of the compiler for a program with ParaView, which needs its Python."""
    libraries = [f"-lvtk{name}-pv5.11" for name in modules]
    python = f"-l:libpython{sys.version_info.major}.{sys.version_info.minor}.so.1.0"
    return [f"-I{VTK}", "-DOMPI_SKIP_MPICXX", *libraries, "-lvtksys-pv5.11", "-Wl,--no-as-needed", python]


@pytest.fixture(scope="module")
def adaptor(build_c) -> Path:
    if not VTK.is_dir():
        pytest.skip("ParaView's headers are not installed (Debian: paraview-dev)")
    return build_c(HOST / "legacy.cpp", *links(*MODULES))


class Ran(AdaptorRun):
    """What an adaptor's program did, and the arrays that its pipeline saw."""

    def printed(self, case: str) -> str:
        """What it printed in one of its cases."""
        return self.out.partition(f"case {case}\n")[2].partition("case ")[0]

    def seen(self, name: str, case: str = "") -> list[tuple[str, int, float, float]]:
        """(where, tuples, first value, last value) each time that a pipeline saw an array of this name."""
        line = rf"seen (\w+) {name} (\d+) (\S+) (\S+?)(?=seen|\s)"  # lines of two ranks may be joined
        rows = re.findall(line, self.printed(case) if case else self.out)
        return [(where, int(n), float(first), float(last)) for where, n, first, last in rows]


@pytest.fixture(scope="module")
def process(adaptor, mpirun, bin_dir):
    """process(*cases, n=1, env={}): runs these cases of the adaptor's program under perfield-exec."""

    def run(*cases: str, n: int = 1, env=NAMED) -> Ran:
        return Ran(mpirun(n, bin_dir / "perfield-exec", adaptor, ",".join(cases), env=env))

    return run


CASES = (
    *("image", "page_end", "large", "own", "blocks", "partitions", "inputs"),
    *("none", "table", "empty", "amr", "fail", "throw", "fork"),
)


@pytest.fixture(scope="module")
def ran(process) -> Ran:
    """All cases, one after the other in a program."""
    return process(*CASES)


def labels(case: str) -> range:
    """The labels of a case's outputs."""
    return range(50 * CASES.index(case), 50 * CASES.index(case) + 50, 10)


def test_pipeline_sees_the_values_of_the_step_before_and_the_grid_stays_as_it_was(ran):
    seen = ran.seen("compute_time_s", "image")
    assert [row[:2] for row in seen] == [("points", 27)] * 5
    frames = [frame.values["compute_time_s"][0] for frame in ran.run.frames()]
    np.testing.assert_array_equal([first for *_, first, _ in seen], [np.nan, np.nan, *frames[:3]])
    assert "arrays were left" not in ran.out


def test_steps_regions_and_sizes_come_from_the_adaptor(of_two_ranks):
    frames = list(of_two_ranks.run.frames())[:3]
    assert [frame.label for frame in frames] == [20, 30, 40]
    assert [frame.time for frame in frames] == [1.0, 1.5, 2.0]
    for frame in frames:
        np.testing.assert_array_equal(frame.values["catalyst_count"], [2, 2])  # request and process
        np.testing.assert_array_equal(frame.values["points"], [27, 27])
        np.testing.assert_array_equal(frame.values["cells"], [8, 8])


def test_grid_is_found_where_a_page_of_memory_ends_in_the_input(ran):
    frames = [frame for frame in ran.run.frames() if frame.label in labels("page_end")]
    assert [frame.values["points"].tolist() for frame in frames] == [[27]] * 5


def test_nothing_is_added_unless_a_setting_or_a_pipeline_in_its_request_names_it(process):
    ran = process("image", "by_name", env={})
    assert not ran.seen("compute_time_s", "image")
    assert len(ran.seen("compute_time_s", "by_name")) == 5


@pytest.mark.parametrize(("where", "tuples"), [("cells", 8), ("field", 1)])
def test_settings_choose_where_values_sit(process, where, tuples):
    ran = process("image", env={"PERFIELD_CATALYST_ATTACH": "all", "PERFIELD_CATALYST_ASSOCIATION": where})
    assert [row[:2] for row in ran.seen("step_time_s")] == [(where, tuples)] * 5
    assert ran.seen("rank")[0] == (where, tuples, 0, 0)


def test_long_arrays_hold_the_value_throughout(ran):
    rows = ran.seen("compute_time_s", "large")
    assert [row[:2] for row in rows] == [("points", 125000)] * 5
    assert all(first == last for _, _, first, last in rows)


def test_array_of_the_program_with_the_same_name_stays(ran):
    assert [row[2:] for row in ran.seen("compute_time_s", "own")] == [(7, 7)] * 5


@pytest.mark.parametrize(
    ("what", "points"), [("blocks", (8, 27, 0)), ("partitions", (8, 64)), ("inputs", (27, 125))]
)
def test_all_grids_of_composites_and_inputs_get_the_field(ran, what, points):
    assert [row[1] for row in ran.seen("compute_time_s", what)] == list(points) * 5


@pytest.mark.parametrize("what", ["none", "table", "empty"])
def test_adaptor_without_a_grid_runs_on(ran, what):
    assert ran.printed(what).count("processed 1") == 5


def test_unknown_composite_and_failing_pipeline_are_reported_and_the_program_goes_on(ran):
    assert ran.printed("amr").count("processed 1") == 5
    assert ran.printed("fail").count("processed 0") == 5
    of_composite, of_pipeline = ran.said  # of no other case
    assert "AMR" in of_composite
    assert "CoProcess returned 0" in of_pipeline and "continues" in of_pipeline


def test_exception_of_a_pipeline_reaches_the_program_and_later_calls_work(ran):
    assert ran.printed("throw").count("caught thrown on purpose") == 5
    assert [frame.label for frame in ran.run.frames() if frame.label in labels("throw")] == list(
        labels("throw")
    )


@pytest.fixture(scope="module")
def of_two_ranks(process) -> Ran:
    """Two ranks process ten steps, of which five fail, and rank 0 five more."""
    return process("image", "fail", "some", n=2)


def test_program_that_processes_on_some_ranks_only_ends(of_two_ranks):
    assert of_two_ranks.run.state == "finished"
    assert len(of_two_ranks.seen("compute_time_s")) == 2 * 10 + 5


def test_failing_pipeline_of_all_ranks_is_reported_once(of_two_ranks):
    (said,) = of_two_ranks.said
    assert "CoProcess returned 0" in said


def test_forked_child_processes_without_perfield(ran):
    assert ran.printed("fork").count("processed 1") == 6
    assert len(ran.seen("compute_time_s", "fork")) == 5


SCRIPT = """# script-version: 2.0
import paraview.simple as pv
from paraview import catalyst

options = catalyst.Options()
options.GlobalTrigger = "TimeStep"
grid = pv.PVTrivialProducer(registrationName="input")


def catalyst_execute(info):
    grid.UpdatePipeline()
    values = grid.PointData.GetArray("compute_time_s")
    print(f"seen points compute_time_s 0 {values.GetRange()[0]} {values.GetRange()[1]}", flush=True)
    if info.cycle == 40:
        raise ValueError("wrong on purpose")
"""

PROGRAM = """
import sys
import numpy as np
from mpi4py import MPI
from paraview.catalyst import bridge
from vtkmodules.vtkCommonDataModel import vtkImageData

bridge.initialize()
bridge.add_pipeline(sys.argv[1], 2)
for step in range(5):
    np.sqrt(np.arange(300_000)).sum()
    MPI.COMM_WORLD.Barrier()
    grid = vtkImageData()
    grid.SetDimensions(3, 3, 3)
    bridge.coprocess(0.5 * step, 10 * step, grid, "input")
    assert grid.GetPointData().GetNumberOfArrays() == 0
bridge.finalize()
print("the program is through")
"""


@pytest.fixture
def script(tmp_path) -> Path:
    for name in ("paraview", "mpi4py"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"Python's {name} is not installed")
    (tmp_path / "script.py").write_text(SCRIPT)
    return tmp_path / "script.py"


def test_script_names_a_field_and_python_program_hands_it_over(script, mpirun, bin_dir, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [bin_dir / "perfield-exec", sys.executable, tmp_path / "program.py", script]
    ran = Ran(mpirun(1, *command, cwd=tmp_path, env={"DISPLAY": None}))
    assert ran.out.count("the program is through") == 1  # though the script failed in the last step
    assert ran.err.count("CoProcess returned 0") == 1  # Python's own words may be on the same line
    seen = ran.seen("compute_time_s")
    assert len(seen) >= 5
    run = ran.run
    assert [frame.label for frame in run.frames()] == [20, 30, 40]
    shown = [value for *_, value in seen if abs(value) < 1e200]  # NaN has no range
    assert set(shown) <= {value for frame in run.frames() for value in frame.values["compute_time_s"]}
    assert shown


def test_script_of_a_compiled_program_names_a_field(script, adaptor, mpirun, bin_dir, tmp_path):
    ran = Ran(
        mpirun(1, bin_dir / "perfield-exec", adaptor, "image", script, cwd=tmp_path, env={"DISPLAY": None})
    )
    assert ran.out.count("processed") == 5
    assert len([row for row in ran.seen("compute_time_s") if row[1] == 27]) == 5  # by the pipeline in C++
