# SPDX-License-Identifier: BSD-3-Clause
"""perfield-exec for programs built with Score-P: Score-P loads perfield's plugin."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import exports

import perfield

LIBRARIES = Path(perfield.__file__).resolve().parent / "lib"
PLUGIN_VARIABLES = ("SCOREP_SUBSTRATE_PLUGINS", "LD_LIBRARY_PATH")


@pytest.fixture
def program(build_c) -> Path:
    """A program that needs a library with Score-P's name and calls the hooks of compiled functions."""
    hook = "void __cyg_profile_func_enter(void *a, void *b)"
    library = build_c(hook + " {}\n", "-shared", "-fPIC", name="libscorep_measurement.so.c", mpi=False)
    needed = f"-L{library.parent}", "-lscorep_measurement", f"-Wl,-rpath,{library.parent}"
    calls = hook + ";\nint main(void) { __cyg_profile_func_enter(0, 0); }\n"
    return build_c(calls, *needed, mpi=False)


def test_score_p_program_gets_the_plugin(execute, program):
    variables = exports(execute("perfield-exec", "--print", program).stdout)
    assert variables["SCOREP_SUBSTRATE_PLUGINS"] == "perfield"
    folder = Path(variables["LD_LIBRARY_PATH"].split(":")[0])
    assert folder.samefile(LIBRARIES)
    assert (folder / "libscorep_substrate_perfield.so").exists()


def test_score_p_keeps_the_hooks_of_compiled_functions(execute, program):
    assert (
        "libperfield_functions"
        not in exports(execute("perfield-exec", "--print", program).stdout)["LD_PRELOAD"]
    )


def test_other_programs_get_the_plugin_on_request_only(execute):
    plain = exports(execute("perfield-exec", "--print", "true").stdout)
    assert not set(PLUGIN_VARIABLES) & set(plain)
    asked = exports(execute("perfield-exec", "--scorep", "--print", "true").stdout)
    assert set(PLUGIN_VARIABLES) <= set(asked)


@pytest.mark.parametrize(
    ("before", "after"),
    [("other", "other,perfield"), ("perfield,other", "perfield,other"), ("Catalyst", "Catalyst")],
)
def test_plugin_is_added_once(execute, program, before, after):
    result = execute("perfield-exec", "--print", program, env={"SCOREP_SUBSTRATE_PLUGINS": before})
    assert exports(result.stdout)["SCOREP_SUBSTRATE_PLUGINS"] == after


def test_users_library_path_is_kept(execute, program, tmp_path):
    before = {"LD_LIBRARY_PATH": str(tmp_path)}
    once = exports(execute("perfield-exec", "--print", program, env=before).stdout)["LD_LIBRARY_PATH"]
    assert once.split(":")[1:] == [str(tmp_path)]
    again = execute("perfield-exec", "--print", program, env={"LD_LIBRARY_PATH": once})
    assert exports(again.stdout)["LD_LIBRARY_PATH"] == once


def test_perfield_run_and_env_pass_the_option_on(perfield_cli, tmp_path):
    line = perfield_cli("run", "--scorep", "--dry-run", "-n", 2, "true", cwd=tmp_path).stdout
    assert "perfield-exec --scorep -- true" in line
    assert set(PLUGIN_VARIABLES) <= set(
        exports(perfield_cli("setup", "env", "--scorep", "true", cwd=tmp_path).stdout)
    )
