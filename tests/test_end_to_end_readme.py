# SPDX-License-Identifier: BSD-3-Clause
"""The README's example works, and each complete program in docs/ compiles, runs and is measured."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from compiled.fenced_blocks import fenced_blocks
from conftest import run_command

import perfield

REPOSITORY = Path(__file__).resolve().parents[1]
README = REPOSITORY / "README.md"
PAGES = sorted((REPOSITORY / "docs").glob("*.md"))
#: Language of a block -> text that only complete programs contain.
WHOLE = {"c": "int main", "cpp": "int main", "fortran": "end program", "python": "perfield.step("}
SUFFIX = {"c": "c", "cpp": "cpp", "fortran": "f90", "python": "py"}


def programs() -> list[tuple[str, str, str]]:
    """(page, language, text) of each complete program in the pages."""
    return [
        (page.name, language, text)
        for page in PAGES
        for language, text in fenced_blocks(page)
        if WHOLE.get(language, "\0") in text
    ]


def test_every_language_has_a_complete_program():
    assert {language for _, language, _ in programs()} == set(WHOLE)


@pytest.mark.parametrize(("language", "text"), [pytest.param(*words, id=page) for page, *words in programs()])
def test_program_is_measured_with_steps_and_regions(
    mpirun, bin_dir, perfield_flags, tmp_path, language, text
):
    source = tmp_path / f"solver.{SUFFIX[language]}"
    source.write_text(text)
    if language == "python":
        if importlib.util.find_spec("mpi4py") is None and "mpi4py" in text:
            pytest.skip("mpi4py is not installed")
        command = [sys.executable, source]
    else:
        compiler = {"c": "mpicc", "cpp": "mpicxx", "fortran": "mpif90"}[language]
        words = perfield_flags("--fortran" if language == "fortran" else "--cflags")
        built = mpirun(1, compiler, *words, source, "-o", tmp_path / "solver", cwd=tmp_path)
        assert built.returncode == 0, built.stderr
        command = [tmp_path / "solver"]
    result = mpirun(2, bin_dir / "perfield-exec", *command, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    assert (run.state, len(run)) == ("finished", 100)
    assert "solve" in [region.name for region in run.known_regions]
    assert run.frame(0).values["solve_count"].tolist() == [1, 1]
    assert run.mesh(1, 1)[0].extent[:2] == (10, 20)


def test_the_readmes_example_finds_the_rank_that_it_names(bin_dir, tmp_path):
    (script,) = (text for language, text in fenced_blocks(README) if language == "sh")
    program = "testcase/teaching/imbalance.c"
    (tmp_path / program).parent.mkdir(parents=True)
    shutil.copy(REPOSITORY / program, tmp_path / program)
    env = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "PATH": f"{bin_dir}:{os.environ['PATH']}"}
    # Without pictures: they need ParaView, and say nothing about the words.
    script = script.replace("perfield report", "perfield report --no-pictures")
    result = run_command(["bash", "-exc", script], env, tmp_path, timeout=300)
    assert result.returncode == 0, result.stderr
    assert re.search(r"1\. \(up to .*\) Rank 1 computes 2\.\d+ times as long as the mean", result.stdout)
    assert "(it has 440, the mean is 200: 120 % more)" in result.stdout.replace("\n   ", " ")
    assert (tmp_path / "perfield-run/analysis/report.html").exists()
