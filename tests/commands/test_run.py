# SPDX-License-Identifier: BSD-3-Clause
"""perfield run: how it splits its words, what the launcher gets, and the closing lines."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from compiled.c_programs import mpi_program

RANKS = mpi_program("MPI_Barrier(MPI_COMM_WORLD);", after="return argc > 1 ? atoi(argv[1]) : 0;")


@pytest.fixture
def ranks(build_c) -> Path:
    """An MPI program whose argument is its exit code."""
    return build_c(RANKS, name="ranks.c")


@pytest.fixture
def line(perfield_cli):
    """line(*words): the words of the command that `perfield run` would start."""

    def dry(*words: object, **options) -> list[str]:
        result = perfield_cli("run", "--dry-run", *words, **options)
        assert result.returncode == 0, result.stderr
        return shlex.split(result.stdout)

    return dry


def without_forwarded(words: list[str]) -> list[str]:
    """The line without -x PERFIELD_... and without the folder of perfield-exec."""
    kept, at = [], 0
    while at < len(words):
        if words[at] == "-x" and words[at + 1].startswith("PERFIELD_"):
            at += 2
            continue
        kept.append(Path(words[at]).name if words[at].endswith("/perfield-exec") else words[at])
        at += 1
    return kept


@pytest.mark.parametrize(
    ("typed", "options", "program"),
    [
        ("-n 2 -- true x", "-n 2", "true x"),
        ("-n 2 true x", "-n 2", "true x"),
        ("-n2 true", "-n2", "true"),
        ("--oversubscribe -np 2 true", "--oversubscribe -np 2", "true"),
        ("-oversubscribe true --set a", "-oversubscribe", "true --set a"),
        ("-n 2 --mca btl self true -n 3", "-n 2 --mca btl self", "true -n 3"),
        ("--bind-to core --map-by=slot true", "--bind-to core --map-by=slot", "true"),
        ("-n 2 --unheard-of a b -- true", "-n 2 --unheard-of a b", "true"),
        ("-n 2 --set group=x true", "-n 2", "true"),
        ("-o out -n 2 true -o x", "-n 2", "true -o x"),
        ("true", "", "true"),
    ],
)
def test_line_splits_into_launcher_options_and_program(line, typed, options, program):
    words = without_forwarded(line(*typed.split()))
    assert words == ["mpirun", *options.split(), "perfield-exec", "--", *program.split()]


def test_perfield_variables_are_forwarded_to_other_nodes(line):
    words = line(
        "-n", "2", "--set", "group=x", "-x", "PERFIELD_GROUP", "true", env={"PERFIELD_CLOCK": "counter"}
    )
    forwarded = {words[i + 1] for i, word in enumerate(words) if word == "-x"}
    assert sorted(forwarded - {"PERFIELD_FIND_STEPS"}) == [  # that is of the tests
        "PERFIELD_ALL_RANKS",
        "PERFIELD_CLOCK",
        "PERFIELD_GROUP",
        "PERFIELD_RUN_ID",
        "PERFIELD_SUMMARY",
    ]


def test_run_directory_has_the_short_option_of_all_output(line):
    for option in ("-o", "--run-directory"):
        assert "PERFIELD_RUN_DIRECTORY" in line(option, "out", "-n", "2", "true")


@pytest.mark.parametrize(
    ("typed", "vouches"),
    [
        ("-n 2 true", True),
        ("-n 1 true : -n 1 true", False),
        ("--set enabled=false -n 2 true", False),
        ("--launcher env true", False),  # unknown: it may start anything
    ],
)
def test_vouch_for_all_ranks_needs_one_measured_program_and_a_known_launcher(line, typed, vouches):
    """Another launch may have left a vouch in the environment."""
    words = line(*typed.split(), env={"PERFIELD_ALL_RANKS": "stale"})
    assert ("PERFIELD_ALL_RANKS" in words) == vouches


def test_all_programs_of_a_line_are_measured(line):
    words = line("-n", "1", "true", "a", ":", "-n", "2", "echo", "b")
    assert without_forwarded(words) == shlex.split(
        "mpirun -n 1 perfield-exec -- true a : -n 2 perfield-exec -- echo b"
    )
    assert words.count("PERFIELD_RUN_ID") == 2


def test_launcher_option_names_another_launcher(line, tmp_path):
    srun = tmp_path / "srun"  # a fake: the test only looks at its arguments
    srun.write_text("#!/bin/sh\nexit 0\n")
    srun.chmod(0o755)
    words = line("--launcher", f"{srun} -n 64", "--cpu-bind=cores", "--", "true", ":", "x")
    assert [Path(words[0]).name, *without_forwarded(words[1:])] == shlex.split(
        "srun -n 64 --cpu-bind=cores perfield-exec -- true : x"
    )


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("-n 2", "found no program in '-n 2'"),
        ("-n 2 ./nowhere", "took ./nowhere for the program, but it cannot be started"),
        (
            "-- srun -n 8 ./solver",
            "srun starts ranks itself; write perfield run --launcher 'srun OPTIONS' -- ",
        ),
        ("--set grop=x true", "--set grop=x: there is no key 'grop'; did you mean group?"),
        ("--set group true", "--set group has no '='; write --set KEY=VALUE"),
        (
            "--set measure_every=often true",
            '--set measure_every=often: found the text "often", expected an integer (steps); ',
        ),
        ("--set summary=maybe true", 'found the text "maybe", expected true or false'),
        (
            "--set clock=sun true",
            '--set clock=sun: found the text "sun", expected auto, counter or monotonic',
        ),
        ("--set measure_every=0 true", "--set measure_every=0: found the integer 0, expected at least 1"),
        ("--set measure_every=2 --set sum_every=2 true", "exclude each other"),
        ("--launcher nosuchlauncher true", "found no nosuchlauncher in PATH"),
    ],
)
def test_wrong_line_gives_a_sentence(perfield_cli, typed, sentence, tmp_path):
    result = perfield_cli("run", *typed.split(), cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.startswith("perfield run: ")
    assert sentence in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", [0, 7])
def test_exit_code_is_the_programs(perfield_cli, ranks, code, tmp_path):
    result = perfield_cli("run", "-n", "2", "--oversubscribe", ranks, code, cwd=tmp_path)
    assert result.returncode == code


def test_closing_lines_are_printed_once(perfield_cli, ranks, tmp_path):
    result = perfield_cli("run", "-n", "3", "--oversubscribe", ranks, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    lines = result.stderr.splitlines()
    assert 1 < len(lines) <= 12, result.stderr
    assert sum("perfield report" in line for line in lines) == 1
    assert "check in" not in result.stderr
    facts = json.loads((tmp_path / "perfield-run/run.json").read_text())
    assert facts["size"] == 3
    assert [path.name for path in tmp_path.iterdir()] == ["perfield-run"]


def test_settings_of_the_line_take_effect(perfield_cli, ranks, tmp_path):
    perfield_cli(
        *("run", "--run-directory", "runs/one", "--set", "skip_steps=3", "-n", "1", ranks), cwd=tmp_path
    )
    facts = json.loads((tmp_path / "runs/one/run.json").read_text())
    assert facts["configuration"]["skip_steps"] == 3


def test_summary_can_be_switched_off(perfield_cli, ranks, tmp_path):
    result = perfield_cli("run", "-n", "1", ranks, cwd=tmp_path, env={"PERFIELD_SUMMARY": "false"})
    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "perfield-run").is_dir()


def test_region_that_does_not_exist_is_reported_without_a_summary_too(perfield_cli, ranks, tmp_path):
    words = ["run", "-n", "1", "--set", "regions=nosuchregion", "--set", "summary=false", ranks]
    result = perfield_cli(*words, cwd=tmp_path)
    assert result.stderr == "regions    no region is called nosuchregion; the program has no other regions\n"


def test_closing_lines_describe_this_run_if_the_name_was_taken(perfield_cli, ranks, tmp_path):
    perfield_cli("run", "-n", "1", ranks, cwd=tmp_path)
    result = perfield_cli("run", "-n", "1", ranks, cwd=tmp_path)
    assert "perfield: perfield-run exists; using perfield-run-2" in result.stderr
    assert "perfield report perfield-run-2" in result.stderr


def test_ranks_that_never_checked_in_are_named(perfield_cli, ranks, tmp_path):
    bare = f"unset LD_PRELOAD; exec {ranks}"
    words = ["run", "-n", "1", ranks, ":", "-n", "2", "--oversubscribe", "sh", "-c", bare]
    result = perfield_cli(*words, cwd=tmp_path, timeout=60)
    assert result.returncode == 0, result.stderr
    assert result.stderr.startswith("missing    ranks 1-2 of 3 wrote nothing here: not started by")
    assert "perfield report perfield-run" in result.stderr


def test_program_without_mpi_gives_a_warning(perfield_cli, tmp_path):
    result = perfield_cli("run", "-n", "2", "--oversubscribe", "true", cwd=tmp_path)
    assert result.returncode == 0
    assert "perfield: none of the ranks (2) was measured: " in result.stderr


def test_start_script_that_clears_the_environment_is_reported_where_to_put_perfield(
    perfield_cli, build_c, tmp_path
):
    ranks = build_c(mpi_program("sleep(1);", before="#include <unistd.h>"))
    script = tmp_path / "start.sh"
    script.write_text(f'#!/bin/sh\nexec env -i PATH="$PATH" {ranks}\n')
    script.chmod(0o755)
    result = perfield_cli("run", "--launcher", "", "--", script, cwd=tmp_path)
    said = [line for line in result.stderr.splitlines() if "none of the ranks (1) was measured" in line]
    assert len(said) == 1 and f"{ranks} (process " in said[0], result.stderr
    assert f"{script} or a program that it starts removes LD_PRELOAD and the variables PERFIELD_*" in said[0]
    assert "or put perfield-exec into it, right before the program" in said[0]


def test_program_that_starts_itself_again_without_ld_preload_is_named(perfield_cli, build_c, tmp_path):
    again = 'if (getenv("LD_PRELOAD")) { unsetenv("LD_PRELOAD"); execv("/proc/self/exe", argv); }'
    program = build_c(
        "#include <mpi.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
        f"int main(int argc, char** argv) {{ {again} MPI_Init(0, 0); sleep(1); MPI_Finalize(); return 0; }}"
    )
    result = perfield_cli("run", "-n", 2, "--oversubscribe", "--", program, cwd=tmp_path)
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("perfield: ")]
    assert line.startswith(f"perfield: none of the ranks (2) was measured: {program} (process ")
    assert line.endswith(
        "has loaded MPI but not perfield: it started itself again without LD_PRELOAD; keep LD_PRELOAD and "
        "the variables PERFIELD_* there"
    )


def test_why_calls_were_not_seen_is_said_once(perfield_cli, build_c, tmp_path):
    own = "#include <mpi.h>\nint MPI_Init(int* c, char*** v) { return PMPI_Init(c, v); }\n"
    program = build_c(f"{own}int main(void) {{ MPI_Init(0, 0); MPI_Finalize(); return 0; }}")
    result = perfield_cli("run", "-n", 2, "--oversubscribe", "--", program, cwd=tmp_path)
    said = [line for line in result.stderr.splitlines() if line.startswith("perfield: ")]
    assert len(said) == 1 and "this program has an MPI_Init of its own" in said[0], result.stderr


@pytest.fixture
def narrow(tmp_path):
    """A hostfile that gives Open MPI one slot on this host."""
    file = tmp_path / "hosts"
    file.write_text("localhost slots=1\n")
    return file


@pytest.mark.parametrize(("options", "allowed"), [([], "0"), (["--oversubscribe"], "0"), ([], "1")])
def test_too_few_slots_suggest_oversubscribe(perfield_cli, ranks, narrow, tmp_path, options, allowed):
    words = ["run", "--hostfile", narrow, *options, "-n", "2", ranks]
    result = perfield_cli(*words, cwd=tmp_path, env={"OMPI_MCA_rmaps_base_oversubscribe": allowed})
    hint = "perfield: perhaps there were not enough slots: Open MPI starts at most one rank per core"
    if options or allowed == "1":
        assert result.returncode == 0 and hint not in result.stderr
    else:
        assert result.returncode == 1
        assert hint in result.stderr and "perfield run --oversubscribe" in result.stderr


def test_exit_code_is_the_programs_without_a_launcher(perfield_cli, tmp_path):
    result = perfield_cli("run", "--launcher", "", "--", "sh", "-c", "exit 4", cwd=tmp_path)
    assert result.returncode == 4


def test_program_runs_despite_wrong_configuration(perfield_cli, tmp_path):
    (tmp_path / "perfield.toml").write_text("grop = 1\n")
    result = perfield_cli("run", "-n", "2", "--oversubscribe", "echo", "hello", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "hello\nhello\n")
    assert result.stderr.count("unknown key 'grop'; did you mean group?") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["perfield.toml"]


@pytest.mark.parametrize("way", ["environment", "file"])
def test_value_of_the_wrong_type_is_reported_and_the_program_runs(perfield_cli, tmp_path, way):
    env = {"PERFIELD_SKIP_STEPS": "few"} if way == "environment" else {}
    if way == "file":
        (tmp_path / "perfield.toml").write_text('skip_steps = "few"\n')
    result = perfield_cli("run", "-n", "1", "--set", "group=x", "echo", "hello", cwd=tmp_path, env=env)
    assert (result.returncode, result.stdout) == (0, "hello\n")
    where = "PERFIELD_SKIP_STEPS" if way == "environment" else "perfield.toml:1: skip_steps"
    assert (
        f'perfield: {where}: found the text "few", expected an integer (steps); the default is 0'
        in result.stderr
    )
    assert "runs unmeasured until you correct this" in result.stderr


def test_setting_of_the_line_mends_a_wrong_one(perfield_cli, ranks, tmp_path):
    env = {"PERFIELD_SKIP_STEPS": "few"}
    result = perfield_cli("run", "-n", "1", "--set", "skip_steps=3", ranks, cwd=tmp_path, env=env)
    assert "few" not in result.stderr
    assert (tmp_path / "perfield-run/run.json").exists()


def test_all_wrong_settings_are_reported_at_once(perfield_cli, tmp_path):
    words = ["--set", "measure_every=often", "--set", "record_limit=much"]
    result = perfield_cli("run", *words, "true", cwd=tmp_path)
    assert result.returncode == 2
    assert "--set measure_every=often: " in result.stderr and "--set record_limit=much: " in result.stderr
