# SPDX-License-Identifier: BSD-3-Clause
"""What `perfield` prints where no command runs: a start page, help, and the nearest of what was mistyped."""

from __future__ import annotations

import pytest

from perfield.commands import COMMANDS, GROUPS, main


def test_perfield_alone_shows_how_to_begin(capsys):
    assert main([]) == 0
    said = capsys.readouterr().out
    assert "perfield run -n 8 ./a.out" in said and "`perfield help` lists all commands" in said
    assert max(map(len, said.splitlines())) <= 80 and len(said.splitlines()) <= 15


@pytest.mark.parametrize("words", [["help"], ["--help"]])
def test_help_lists_the_commands_by_groups(words, capsys):
    with pytest.raises(SystemExit) as end:
        main(words)
    said = capsys.readouterr().out
    assert end.value.code == 0 and said.startswith("usage: perfield [-h] [--version] COMMAND ...\n")
    listed = said[said.index(f"{next(iter(GROUPS))}:") :].splitlines()
    assert [line.split()[0] for line in listed if line[:2] == "  " and line[2] != " "] == list(COMMANDS)
    assert [line[:-1] for line in listed if line and line[0] != " "] == list(GROUPS)
    assert max(map(len, listed)) <= 80


def test_help_explains_a_command(capsys):
    with pytest.raises(SystemExit):
        main(["help", "report"])
    assert capsys.readouterr().out.startswith("usage: perfield report [-h]")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["rport"], "perfield: there is no command rport; did you mean report? `perfield help` lists"),
        (["help", "xyz"], "perfield: there is no command xyz. `perfield help` lists"),
        (["report", "--txt"], "perfield report: there is no option --txt; did you mean --text? `perfield"),
        (["report", "--zzz=1"], "perfield report: there is no option --zzz. `perfield help report` lists"),
        (["report", "a", "b"], "perfield report: the word b is one too many. `perfield help report` lists"),
    ],
)
def test_the_nearest_of_what_was_mistyped(words, sentence, capsys):
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(sentence)
