# SPDX-License-Identifier: BSD-3-Clause
"""The summary lists what is selected and no rank saw: regions by name, any region, any message."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from perfield import _bridge

SOLVE = """
  perfield_region assemble = REGION("assemble"), solve = REGION("solve");
  perfield_region root = rank == 0 ? REGION("root only") : solve;
  perfield_initialize();
  for (int step = 0; step < 3; ++step) {
    perfield_region_begin(assemble); perfield_region_end(assemble);
    perfield_region_begin(solve); perfield_region_end(solve);
    perfield_region_begin(root); perfield_region_end(root);
    perfield_step(step, step);
  }
"""
BARE = "for (int step = 0; step < 3; ++step) { MPI_Barrier(MPI_COMM_WORLD); perfield_step(step, step); }"
MESSAGE = """
  int got, next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Sendrecv(&rank, 1, MPI_INT, next, 0, &got, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
"""


def lines_of(path) -> dict[str, str]:
    """Lines of the summary by their label; none is longer than the screen."""
    lines = _bridge.summary_lines(str(path))
    assert all(len(line) <= 170 for line in lines if "perfield report" not in line), lines
    return {line[:11].strip(): line[11:] for line in lines}


@pytest.fixture
def lines(measured):
    """lines(body, n=2, **settings): the summary of a program, by label."""

    def run(body, n=2, **settings):
        env = {f"PERFIELD_{key.upper()}": value for key, value in settings.items()}
        measurement, result = measured(body, n=n, env=env, mpi=True)
        said = lines_of(measurement.path)
        if "regions" in said:  # once per run, not per rank
            assert result.stderr.count(f"regions    {said['regions']}\n") == 1
        return said

    return run


@pytest.mark.parametrize(
    ("regions", "sentence"),
    [
        ("nosuchregion", "no region is called nosuchregion; known: "),
        ("slove", "no region is called slove; known: solve, assemble, root only"),
        ("solve,assemble_", "no region is called assemble_; known: assemble, solve, root only"),
        ("assemble_,solv", "no region is called assemble_, solv; known: assemble, solve, root only"),
        ("flow::*", "no region matches flow::*; known: "),
        ("first,second,solve", "no region is called first, second; known: "),
    ],
)
def test_entry_of_regions_that_fits_nothing_is_reported_with_the_known_names(lines, regions, sentence):
    reported = lines(SOLVE, regions=regions)["regions"]
    assert reported.startswith(sentence)
    assert {"assemble", "root only", "solve"} == set(reported.partition("known: ")[2].split(", "))


def test_step_region_that_is_no_region_is_reported_with_the_known_names(lines):
    reported = lines(SOLVE, step_region="solv")["regions"]
    assert reported == "no region is called solv; known: solve, assemble, root only"


@pytest.mark.parametrize("regions", ["*", "solve", "sol*,assemble", "root only"])
def test_entry_that_fits_a_region_of_one_rank_is_not_reported(lines, regions):
    assert "regions" not in lines(SOLVE, regions=regions)


def test_many_known_names_are_cut_to_one_line(lines):
    body = (
        'char name[32]; for (int i = 0; i < 30; ++i) { sprintf(name, "stage number %d", i); REGION(name); }'
    )
    reported = lines(f"{body} perfield_initialize();", regions="stage numbers 7")["regions"]
    assert reported.startswith("no region is called stage numbers 7; known: stage number 7, ")
    assert reported.endswith(" more")


def test_program_without_regions_says_so(lines):
    reported = lines(BARE, regions="solve")["regions"]
    assert reported == "no region is called solve; the program has no other regions"


def test_killed_run_does_not_judge(measured):
    run, _ = measured(SOLVE + "if (rank == 1) _exit(0); sleep(1); _exit(0);", n=2, check=False, mpi=True,
                      env={"PERFIELD_REGIONS": "nosuchregion"})  # fmt: skip
    assert "regions" not in lines_of(run.path)


def test_run_without_messages_says_so(lines):
    assert lines(BARE)["notice"] == "no message was seen (collective operations are not messages)"


@pytest.mark.parametrize(
    ("body", "notice"),
    [
        (BARE + MESSAGE, None),
        (SOLVE, "no message was seen (collective operations are not messages)"),
        (SOLVE + MESSAGE, None),
    ],
)
def test_message_or_region_that_is_seen_is_not_missed(lines, body, notice):
    assert lines(body).get("notice") == notice


def test_message_before_the_first_step_is_seen(lines):
    assert "notice" not in lines(MESSAGE + SOLVE)


@pytest.mark.parametrize(
    ("body", "settings", "notice"),
    [
        (BARE, {"messages": "false"}, None),
        (SOLVE, {"messages": "false"}, None),
        (SOLVE + MESSAGE, {"regions": ""}, "no region was armed and entered"),
    ],
)
def test_what_is_switched_off_is_not_missed(lines, body, settings, notice):
    assert lines(body, **settings).get("notice") == notice


def test_regions_and_messages_switched_off_are_reported(lines):
    notice = lines(SOLVE + MESSAGE, regions="", messages="false")["notice"]
    assert notice == "regions and messages are both switched off"


def test_lone_rank_misses_no_message(lines):
    assert "notice" not in lines(SOLVE, n=1)


def test_armed_region_is_enough(lines):
    armed = SOLVE.replace(
        "perfield_region_begin(solve)", "perfield_pipeline_next(); perfield_region_begin(solve)"
    )
    assert "notice" not in lines(armed, regions="", messages="false")


FUNCTIONS = """
void advance_all() {}
void never_called() {}
int main(int argc, char**) { if (argc > 5) never_called(); advance_all(); }
"""


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("advance_al", "no region is called advance_al; known: advance_all"),
        ("never_called", "never entered: never_called"),
        ("never_*", "never entered: never_*"),
    ],
)
def test_compiled_function_is_proposed_or_reported_as_never_entered(
    build_c, execute, tmp_path, entry, sentence
):
    program = build_c(FUNCTIONS, "-finstrument-functions", "-O0", name="functions.cpp", mpi=False)
    result = execute("perfield-exec", program, env={"PERFIELD_REGIONS": f"{entry},main"})
    assert result.returncode == 0, result.stderr
    assert lines_of(tmp_path / "perfield-run")["regions"].startswith(sentence)


PYTHON = "import perfield\ndef relax():\n    pass\nperfield.initialize()\nrelax()\nperfield.step()\n"


def test_python_function_is_proposed(execute, tmp_path):
    (tmp_path / "solver.py").write_text(PYTHON)
    execute("perfield-exec", sys.executable, "solver.py", env={"PERFIELD_REGIONS": "relaxx"})
    assert lines_of(tmp_path / "perfield-run")["regions"].startswith(
        "no region is called relaxx; known: relax"
    )


def test_python_without_perfield_is_the_reason(mpirun, bin_dir, tmp_path):
    if shutil.which("/usr/bin/python3") is None:
        pytest.skip("there is no /usr/bin/python3")
    if subprocess.run(
        ["/usr/bin/python3", "-c", "import mpi4py"], check=False, capture_output=True
    ).returncode:
        pytest.skip("Debian's mpi4py is not installed")
    (tmp_path / "solver.py").write_text("from mpi4py import MPI\ndef relax():\n    pass\nrelax()\n")
    words = [bin_dir / "perfield-exec", "/usr/bin/python3", "solver.py"]
    mpirun(2, *words, cwd=tmp_path, env={"PERFIELD_REGIONS": "relax"})
    reported = lines_of(tmp_path / "perfield-run")["regions"]
    assert reported == "no region is called relax; this Python has no perfield, which would find functions"
