# SPDX-License-Identifier: BSD-3-Clause
"""perfield completions prints scripts for shells, with all commands and their options."""

from __future__ import annotations

import subprocess

import pytest

from perfield.commands import COMMANDS, main
from perfield.commands.completions import SHELLS


@pytest.mark.parametrize("shell", SHELLS)
def test_script_has_all_commands_and_their_options(capsys, shell):
    pytest.importorskip("shtab", reason="shtab is not installed")
    assert main(["completions", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in COMMANDS)
    assert "fail-if" in script and "run-directory" in script
    if shell == "bash":
        asked = "COMP_WORDS=(perfield sca); COMP_CWORD=1; _shtab_perfield; echo ${COMPREPLY[@]}"
        answer = subprocess.run(["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True)
        assert answer.stdout.split() == ["scaling"], answer.stderr


def test_unknown_shell_is_a_sentence(capsys):
    with pytest.raises(SystemExit):
        main(["completions", "sh"])
    assert "invalid choice: 'sh'" in capsys.readouterr().err
