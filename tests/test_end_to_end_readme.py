# SPDX-License-Identifier: BSD-3-Clause
"""Each complete program in README.md and docs/ compiles as documented, runs, and is measured."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from compiled.fenced_blocks import fenced_blocks

import perfield

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
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
