# SPDX-License-Identifier: BSD-3-Clause
"""perfield setup completions prints scripts for shells, with all commands and their options."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from perfield.commands import COMMANDS, main, module_of
from perfield.commands.completions import SHELLS


@pytest.mark.parametrize("shell", SHELLS)
def test_script_has_all_commands_and_their_options(capsys, shell):
    pytest.importorskip("shtab", reason="shtab is not installed")
    assert main(["setup", "completions", shell]) == 0
    script = capsys.readouterr().out
    assert all(word in script for name in COMMANDS for word in name.split())
    assert "fail-if" in script and "run-directory" in script
    if shell == "bash":
        asked = "COMP_WORDS=(perfield sca); COMP_CWORD=1; _shtab_perfield; echo ${COMPREPLY[@]}"
        answer = subprocess.run(["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True)
        assert answer.stdout.split() == ["scaling"], answer.stderr


def test_fish_completes_commands_with_what_they_are_for_and_runs(capsys, tmp_path):
    pytest.importorskip("shtab", reason="shtab is not installed")
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")
    (tmp_path / "perfield-run").mkdir()
    assert main(["setup", "completions", "fish"]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    asked = 'source script; complete -C "perfield sca"; complete -C "perfield report perf"'
    answer = subprocess.run(["fish", "-c", asked], cwd=tmp_path, capture_output=True, text=True)
    scaling = f"scaling\t{module_of('scaling').HELP}"
    assert answer.stdout.splitlines() == [scaling, "perfield-run/"], answer.stderr


def test_unknown_shell_is_a_sentence(capsys):
    with pytest.raises(SystemExit):
        main(["setup", "completions", "sh"])
    assert "invalid choice: 'sh'" in capsys.readouterr().err
