# SPDX-License-Identifier: BSD-3-Clause
"""Programs with their own adaptor for Catalyst 2 or Ascent (fakes of both), without a line of perfield."""

from __future__ import annotations

import math
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from compiled.adaptor_runs import AdaptorRun
from compiled.built import built, compiler_state, state_of
from conftest import run_command

HOST = Path(__file__).resolve().parent / "adaptor_host"
CXX = ("g++", "-std=c++17", "-O1", "-g", "-Wall", "-fPIC")
NAMES_COMPUTE_TIME = "pv.ColorBy(shown, ('POINTS', 'compute_time_s'))\n"


def compile_(*words: object) -> None:
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def fakes() -> Path:
    """A folder with the fakes of libcatalyst and Ascent, and their solvers."""
    return built("adaptors", (state_of(HOST), compiler_state("g++"), compiler_state("mpicxx")), compile_in)


def compile_in(folder: Path) -> None:
    conduit = HOST / "fake_conduit.cpp"
    for name, flags in (("catalyst", ()), ("old", ("-DWITHOUT_EXTERNAL",))):
        (folder / name).mkdir(exist_ok=True)
        library = ("-shared", "-Wl,-soname,libcatalyst.so.3", "-o", folder / name / "libcatalyst.so.3")
        compile_(*CXX, *flags, *library, conduit, HOST / "fake_catalyst.cpp", "-ldl")
    link = ("-Wl,-rpath-link", folder / "catalyst", folder / "catalyst/libcatalyst.so.3")
    compile_("mpicxx", *CXX[1:], HOST / "solver.cpp", "-o", folder / "solver", *link)
    probe = ("-shared", "-DIMPLEMENTATION", "-o", folder / "libcatalyst-probe.so")
    compile_(*CXX, *probe, HOST / "fake_catalyst.cpp", *link)
    ascent = ("-shared", "-DPREFIX(name)=conduit_##name", "-Wl,-soname,libascent.so")
    compile_(*CXX, *ascent, "-o", folder / "libascent.so", conduit, HOST / "fake_ascent.cpp")
    solver = ("-DPREFIX(name)=conduit_##name", HOST / "ascent_solver.cpp", "-o", folder / "ascent_solver")
    compile_(*CXX, *solver, folder / "libascent.so", f"-Wl,-rpath,{folder}")


class Ran(AdaptorRun):
    """What a solver did, and the fields that were passed on."""

    def fields(self, name: str) -> list[list[str]]:
        """[channel, association, topology, tuples, first value, last value] of each time it was passed on."""
        found = [
            line.split(" ") for line in self.out.splitlines() if f" {name} " in line and " field " in line
        ]
        return [[words[2], *words[4:]] for words in found]


@pytest.fixture
def solve(fakes, mpirun, bin_dir, tmp_path_factory):
    """solve(what, script="", n=1, env={}): runs the solver with a pipeline of this text under perfield."""

    def run(what: str, script: str = NAMES_COMPUTE_TIME, n: int = 1, env=None, library="catalyst") -> Ran:
        folder = tmp_path_factory.mktemp(what)
        (folder / "script.py").write_text(script)
        environment = {"LD_LIBRARY_PATH": str(fakes / library), **(env or {})}
        command = [bin_dir / "perfield-exec", fakes / "solver", what, "script.py"]
        return Ran(mpirun(n, *command, env=environment, cwd=folder))

    return run


def test_named_field_is_on_the_mesh_with_the_values_of_the_step_before(solve):
    ran = solve("hexes")
    passed = ran.fields("compute_time_s")
    assert not ran.said
    assert [row[:4] for row in passed] == [["grid", "vertex", "mesh", "18"]] * 6
    assert all(first == last for *_, first, last in passed)
    frames = [frame.values["compute_time_s"][0] for frame in ran.run.frames()]
    before_any = [math.nan, math.nan]  # no step had closed
    np.testing.assert_array_equal([float(first) for *_, first, _ in passed], [*before_any, *frames])
    assert "the program's tree was changed" not in ran.out


def test_nothing_is_added_where_no_pipeline_names_a_field(solve):
    ran = solve("hexes", "slice = pv.Slice()  # compute_time_s, not in quotes\n")
    assert not ran.fields("compute_time_s")
    addresses = re.findall(r"^(?:solver \d+|stub execute) (0x\w+)$", ran.out, re.M)
    assert len(addresses) == 12 and addresses[::2] == addresses[1::2]  # the program's own tree


def test_settings_choose_fields_and_where_they_sit(solve):
    cells = solve(
        "hexes",
        "",
        env={"PERFIELD_CATALYST_FIELDS": "waiting_time_s", "PERFIELD_CATALYST_ASSOCIATION": "cells"},
    )
    assert [row[:4] for row in cells.fields("waiting_time_s")] == [["grid", "element", "mesh", "4"]] * 6
    everything = solve(
        "hexes", "", env={"PERFIELD_CATALYST_ATTACH": "all", "PERFIELD_CATALYST_ASSOCIATION": "field"}
    )
    assert [row[1:4] for row in everything.fields("step_time_s")] == [["state", "-", "1"]] * 6
    assert everything.fields("rank")[0][4] == "0"
    nothing = solve("hexes", env={"PERFIELD_CATALYST_ATTACH": "none"})
    assert not nothing.fields("compute_time_s")


def test_name_that_a_rank_has_not_measured_gives_nan_and_is_reported(solve):
    ran = solve("hexes", "", env={"PERFIELD_CATALYST_FIELDS": "compute_tme_s"})
    assert all(math.isnan(float(first)) for *_, first, _ in ran.fields("compute_tme_s"))
    (said,) = ran.said
    assert "catalyst_fields names compute_tme_s" in said and "perfield fields" in said


def test_field_of_the_program_with_the_same_name_stays(solve):
    assert [row[4:] for row in solve("own").fields("compute_time_s")] == [["0", "17"]] * 6


def test_catalyst_is_a_region_and_closes_the_steps_of_a_program_without_any(solve):
    run = solve("hexes").run
    frames = [frame for frame in run.frames()]
    assert [frame.label for frame in frames] == [20, 30, 40, 50]
    assert [frame.time for frame in frames] == [1.0, 1.5, 2.0, 2.5]
    assert all(frame.values["catalyst_count"][0] == 1 for frame in frames)


@pytest.mark.parametrize("setting", [{"PERFIELD_STEP_REGION": "nothing"}, {"PERFIELD_STEP_SECONDS": "1000"}])
def test_steps_that_the_user_sets_are_not_closed_by_catalyst(solve, setting):
    ran = solve("hexes", env=setting)
    assert not any("passed over" in line for line in ran.said)
    assert not [frame for frame in ran.run.frames() if frame.label in (20, 30, 40, 50)]


KINDS = {
    # kind -> (perfield's kind, its extent or VTK's types of its cells, points)
    "uniform": ("image", (0, 2, 0, 3, 0, 0), 12),
    "rectilinear": ("rectilinear", (0, 2, 0, 1, 0, 0), 6),
    "structured": ("structured", (0, 2, 0, 2, 0, 1), 18),
    "points": ("unstructured", (1,) * 18, 18),
    "triangles": ("unstructured", (5, 5), 9),
    "flat": ("unstructured", (9,) * 4, 9),
    "polygons": ("unstructured", (7, 7), 9),
    "mixed": ("unstructured", (9, 5), 9),
    "hexes": ("unstructured", (12,) * 4, 18),
    "interleaved": ("unstructured", (12,) * 4, 18),
    "floats": ("unstructured", (12,) * 4, 18),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_mesh_is_kept_once_and_its_fields_fit(solve, kind):
    name, extent_or_types, n_points = KINDS[kind]
    ran = solve(kind, n=2)
    assert not ran.said
    run = ran.run
    assert {int(version) for frame in run.frames() for version in frame.mesh_version} == {1}
    for rank in range(2):
        (block,) = run.mesh(rank, 1)
        assert block.kind == name
        assert tuple(block.extent or block.types) == extent_or_types
    assert {row[3] for row in ran.fields("compute_time_s")} == {str(n_points)}


@pytest.mark.parametrize("kind", ["hexes", "interleaved", "floats", "structured", "flat"])
def test_coordinates_are_those_of_the_program(solve, kind):
    run = solve(kind, n=2).run
    for rank in range(2):
        (block,) = run.mesh(rank, 1)
        points = np.asarray(block.points).reshape(-1, 3)
        assert points[:, 0].min() == 2 * rank and points[:, 0].max() == 2 * rank + 2
        assert points[:, 2].max() == (0 if kind == "flat" else 1)
        np.testing.assert_array_equal(points[4], [2 * rank + 1, 1, 0])


def test_connectivity_is_that_of_the_program(solve):
    (block,) = solve("mixed").run.mesh(0, 1)
    np.testing.assert_array_equal(block.connectivity, [0, 1, 4, 3, 1, 2, 4])
    np.testing.assert_array_equal(block.offsets, [0, 4, 7])
    np.testing.assert_array_equal(block.types, [9, 5])


def test_unknown_kind_of_mesh_is_reported_and_left_out(solve):
    ran = solve("polyhedra")
    (said,) = ran.said
    assert "polyhedral" in said and "left out" in said
    assert {row[3] for row in ran.fields("compute_time_s")} == {"18"}  # its points are known
    cells = solve("polyhedra", env={"PERFIELD_CATALYST_ASSOCIATION": "cells"})
    assert not cells.fields("compute_time_s")
    assert all(frame.mesh_version[0] == 0 for frame in ran.run.frames())


def test_moving_mesh_gets_versions_within_its_share_of_time(solve):
    ran = solve("moving")
    versions = [int(frame.mesh_version[0]) for frame in ran.run.frames()]
    assert versions == sorted(versions)
    reported = [line for line in ran.said if "mesh changes so often" in line]
    assert (versions[-1] > 1) or reported


def test_domains_and_channels_are_blocks(solve):
    domains = solve("domains")
    assert len(domains.run.mesh(0, 1)) == 2
    assert {row[0] for row in domains.fields("compute_time_s")} == {"left", "right"}
    channels = solve("channels")
    assert sorted(block.kind for block in channels.run.mesh(0, 1)) == ["image", "unstructured"]
    assert {row[0] for row in channels.fields("compute_time_s")} == {"grid", "second"}


def test_channel_that_is_removed_later_leaves_the_mesh(solve):
    ran = solve("removed")
    versions = [int(frame.mesh_version[0]) for frame in ran.run.frames()]
    assert len(ran.run.mesh(0, 1)) == 2
    if versions[-1] > 1:  # it had the time
        assert len(ran.run.mesh(0, versions[-1])) == 1
    assert [row[0] for row in ran.fields("compute_time_s")].count("second") == 3


def test_ghosts_are_marked(solve):
    (block,) = solve("ghosts").run.mesh(0, 1)
    np.testing.assert_array_equal(block.ghosts["cell"], [0, 0, 0, 1])


def test_mesh_is_not_kept_if_a_setting_says_so(solve):
    ran = solve("hexes", env={"PERFIELD_CATALYST_MESH": "false"})
    assert all(frame.mesh_version[0] == 0 for frame in ran.run.frames())
    assert len(ran.fields("compute_time_s")) == 6


@pytest.mark.parametrize("what", ["none", "null", "empty", "never", "other", "odd"])
def test_odd_input_is_passed_on(solve, what):
    ran = solve(what)
    assert not ran.said
    assert ran.out.count("stub execute") == (0 if what == "never" else 6)
    assert ran.run.state == "finished"


def test_program_that_calls_catalyst_on_some_ranks_only_ends(solve):
    ran = solve("some", n=2)
    assert ran.run.state == "finished"
    assert len(ran.fields("compute_time_s")) == 6


def test_error_of_the_implementation_is_reported_and_handed_back(solve):
    ran = solve("refuse")
    assert ran.out.count("status 100") == 6
    (said,) = ran.said
    assert "catalyst_execute returned an error" in said and "continues" in said


def test_exception_of_the_implementation_reaches_the_program_and_the_next_call_works(solve):
    ran = solve("throw")
    assert ran.out.count("caught thrown on purpose") == 6
    run = ran.run
    assert run.state == "finished"
    assert [frame.label for frame in run.frames()] == [20, 30, 40, 50]


def test_forked_child_passes_everything_on(solve):
    ran = solve("fork")
    assert ran.out.count("stub execute") == 7
    assert ran.run.state == "finished"
    assert len(ran.fields("compute_time_s")) == 6


def test_conduit_of_another_version_is_reported_once_and_passed_over(solve):
    ran = solve("hexes", library="old")
    (said,) = ran.said
    assert "does not know the Conduit of this program's Catalyst" in said
    assert ran.out.count("stub execute") == 6
    assert not ran.fields("compute_time_s")


def implementation(fakes: Path, perfield_flags, **settings: str) -> dict[str, str]:
    """The variables that choose libcatalyst-perfield.so."""
    (folder,) = perfield_flags("--catalyst")
    paths = {"CATALYST_IMPLEMENTATION_NAME": "perfield", "CATALYST_IMPLEMENTATION_PATHS": f"{folder}:{fakes}"}
    return {**paths, **settings}


def test_perfield_as_implementation_passes_on_to_the_wanted_one(fakes, solve, perfield_flags):
    env = implementation(fakes, perfield_flags, PERFIELD_CATALYST_IMPLEMENTATION="probe")
    ran = solve("hexes", env=env)
    assert not ran.said
    assert [line.split()[1] for line in ran.out.splitlines() if line.startswith("probe ")].count(
        "execute"
    ) == 6
    assert "stub" not in ran.out
    assert len(ran.fields("compute_time_s")) == 6  # once, although the hooks see the call, too


def test_perfield_as_implementation_works_without_its_hooks(fakes, perfield_flags, tmp_path):
    (tmp_path / "script.py").write_text(NAMES_COMPUTE_TIME)
    env = implementation(fakes, perfield_flags, LD_LIBRARY_PATH=str(fakes / "catalyst"))
    env |= {"PERFIELD_CATALYST_IMPLEMENTATION": "probe"}
    ran = Ran(run_command([fakes / "solver", "hexes", "script.py"], env, tmp_path, 60))
    assert ran.run.state == "finished"
    assert [row[:4] for row in ran.fields("compute_time_s")] == [["grid", "vertex", "mesh", "18"]] * 6


def test_perfield_as_implementation_falls_back_to_the_stub(fakes, solve, perfield_flags):
    ran = solve("hexes", env=implementation(fakes, perfield_flags))
    assert ran.out.count("stub execute") == 6


def test_wanted_implementation_that_is_missing_is_reported(fakes, solve, perfield_flags):
    env = implementation(fakes, perfield_flags, PERFIELD_CATALYST_IMPLEMENTATION="paraviw")
    ran = solve("hexes", env=env)
    assert "status 3" in ran.out  # catalyst_status_error_not_found, from initialize
    assert any("libcatalyst-paraviw.so is not found" in line for line in ran.said)
    assert ran.run.state == "finished"


@pytest.fixture
def ascend(fakes, bin_dir, tmp_path):
    """ascend(name="", text=""): runs the solver with Ascent and this file of actions under perfield-exec."""

    def run(name: str = "", text: str = "") -> Ran:
        if name:
            (tmp_path / name).write_text(text)
        own_name = [name] if name and not name.startswith("ascent_actions") else []
        return Ran(
            run_command([bin_dir / "perfield-exec", fakes / "ascent_solver", *own_name], {}, tmp_path, 60)
        )

    return run


def ascent_fields(ran: Ran, name: str) -> list[str]:
    return re.findall(rf"^field {name} (.*)$", ran.out, re.M)


def test_ascent_gets_the_fields_that_its_actions_file_names(ascend):
    ran = ascend("ascent_actions.yaml", "- action: add_scenes\n  scenes:\n    s1: {field: compute_time_s}\n")
    assert not ran.said
    passed = ascent_fields(ran, "compute_time_s")
    assert [words.split()[:2] for words in passed] == [["vertex", "12"]] * 5
    frames = [frame.values["compute_time_s"][0] for frame in ran.run.frames()]
    assert [float(words.split()[2]) for words in passed[2:]] == frames


def test_actions_of_the_program_name_fields_from_the_next_publish_on(ascend):
    assert len(ascent_fields(ascend(), "waiting_time_s")) == 4


def test_file_of_another_name_counts_as_actions(ascend):
    ran = ascend("mine.yaml", "field: step_time_s\n")
    assert len(ascent_fields(ran, "step_time_s")) == 5


def test_ascent_is_a_region_closes_steps_and_gives_the_mesh(ascend):
    run = ascend().run
    frames = list(run.frames())
    assert [frame.label for frame in frames] == [2, 3, 4]
    assert [frame.time for frame in frames] == [0.5, 0.75, 1.0]
    assert all(frame.values["ascent_count"][0] == 2 for frame in frames)
    (block,) = run.mesh(0, 1)
    assert (block.kind, tuple(block.extent)) == ("image", (0, 3, 0, 2, 0, 0))


def test_asleep_programs_find_no_catalyst_in_perfield(bin_dir, build_c, tmp_path):
    program = build_c(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n"
        'int main(void) { int (*f)(void*) = dlsym(RTLD_DEFAULT, "catalyst_execute");\n'
        'printf("%d\\n", f ? f(0) : -1); return 0; }\n',
        "-ldl",
        mpi=False,
    )
    result = run_command([bin_dir / "perfield-exec", program], None, tmp_path, 60)
    assert result.stdout == "1\n"  # catalyst_status_error_no_implementation
