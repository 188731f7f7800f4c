# SPDX-License-Identifier: BSD-3-Clause
"""perfield setup env: its export lines equal the variables that perfield-exec sets."""

from __future__ import annotations

from conftest import exports, run_command

SHOW = ["sh", "-c", "env | grep -E '^(LD_PRELOAD|PERFIELD_|KOKKOS_|CUDA_INJECTION|OMP_TOOL_|ASAN_)' | sort"]


def test_lines_equal_the_variables_of_perfield_exec(perfield_cli, bin_dir, tmp_path):
    printed = perfield_cli("setup", "env", "sh", cwd=tmp_path)
    assert (printed.returncode, printed.stderr) == (0, "")
    lines = exports(printed.stdout)
    run = {name: lines[name] for name in ("PERFIELD_RUN", "PERFIELD_RUN_ID")}
    given = run_command([bin_dir / "perfield-exec", *SHOW], run, tmp_path, 120)
    found = dict(line.split("=", 1) for line in given.stdout.splitlines())
    found.pop("PERFIELD_FIND_STEPS")  # of all tests
    assert found == lines


def test_shell_can_evaluate_the_lines(perfield_cli, mpirun, tmp_path):
    folder = tmp_path / "it's a case"
    folder.mkdir()
    result = mpirun(1, "sh", "-c", 'eval "$(perfield setup env true)"; echo "$PERFIELD_RUN"', cwd=folder)
    assert result.stdout == f"{folder.resolve()}/perfield-run\n"


def test_each_call_claims_a_new_run(perfield_cli, tmp_path):
    perfield_cli("setup", "env", "true", cwd=tmp_path)
    second = perfield_cli("setup", "env", "true", cwd=tmp_path)
    assert "perfield: perfield-run exists; using perfield-run-2" in second.stderr
    assert "/perfield-run-2'" in second.stdout


def test_missing_program_gives_no_lines(perfield_cli, tmp_path):
    result = perfield_cli("setup", "env", "./nowhere", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (127, "")
    assert "cannot start ./nowhere" in result.stderr


def test_error_asks_for_the_program(perfield_cli):
    result = perfield_cli("setup", "env", "--scorep")
    assert (result.returncode, result.stdout) == (2, "")
    assert "perfield setup env [-h] [--scorep] PROGRAM [ARGS ...]" in result.stderr
    assert result.stderr.endswith("the following arguments are required: PROGRAM\n")


def test_wrong_configuration_gives_no_lines(perfield_cli):
    result = perfield_cli("setup", "env", "true", env={"PERFIELD_SKIP_STEPS": "x"})
    assert (result.returncode, result.stdout) == (1, "")
    assert "PERFIELD_SKIP_STEPS" in result.stderr
