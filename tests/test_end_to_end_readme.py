# SPDX-License-Identifier: BSD-3-Clause
"""The programs in README.md do what it says: each compiles with the command given for its language, runs, and
is seen by perfield."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import perfield

README = Path(__file__).resolve().parents[1] / "README.md"
#: Language of a block -> what tells a whole program from a few lines.
WHOLE = {"c": "int main", "cpp": "int main", "fortran": "end program", "python": "perfield.step("}
SUFFIX = {"c": "c", "cpp": "cpp", "fortran": "f90", "python": "py"}


def programs() -> list[tuple[str, str]]:
    """(language, text) of every whole program in README.md."""
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", README.read_text(), re.M | re.S)
    return [(language, text) for language, text in blocks if WHOLE.get(language, "\0") in text]


def test_readme_has_a_program_in_c():
    assert "c" in dict(programs())


@pytest.mark.parametrize(
    ("language", "text"), programs(), ids=[f"{n}-{p[0]}" for n, p in enumerate(programs())]
)
def test_program_of_readme_is_measured_with_its_steps_and_regions(
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
