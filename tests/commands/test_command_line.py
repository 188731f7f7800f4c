# SPDX-License-Identifier: BSD-3-Clause
"""What `perfield` prints where no command runs: a start page, help, and the nearest of what was mistyped."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from perfield.commands import COMMANDS, FORMER, GROUPS, MORE, main, parsers


def asked(capsys, *words: str) -> str:
    """What `perfield WORDS` prints where that is help."""
    with pytest.raises(SystemExit) as end:
        main([*words])
    assert end.value.code == 0
    return capsys.readouterr().out


def listed(text: str) -> tuple[list[str], list[str]]:
    """(groups, commands) that a help lists, in lines of at most 80 characters."""
    lines = re.search(r"\n([A-Z][^\n]*:\n  .*)", text.partition("--version")[2] or text, re.S)[1].splitlines()
    assert max(map(len, lines)) <= 80
    names = [re.match(r"  ((?:(?:lab|setup) )?\w+)", line) for line in lines]
    return [line[:-1] for line in lines if line[-1:] == ":"], [name[1] for name in names if name]


def test_perfield_alone_shows_how_to_begin(capsys):
    assert main([]) == 0
    said = capsys.readouterr().out
    assert "perfield run -n 8 ./a.out" in said and "`perfield help all` lists all commands" in said
    assert max(map(len, said.splitlines())) <= 80 and len(said.splitlines()) <= 15


@pytest.mark.parametrize("words", [["help"], ["--help"]])
def test_help_lists_the_twelve_commands_of_every_day(words, capsys):
    said = asked(capsys, *words)
    assert said.startswith("usage: perfield [-h] [--version] COMMAND ...\n")
    assert listed(said) == (["Every day"], list(GROUPS["Every day"])) and len(GROUPS["Every day"]) == 12
    assert said.endswith(f"\n\n{MORE}\n")


def test_help_of_all_lists_the_commands_by_groups(capsys):
    assert listed(asked(capsys, "help", "all")) == (list(GROUPS), list(COMMANDS))


@pytest.mark.parametrize("words", [["lab"], ["lab", "--help"], ["help", "lab"]])
def test_first_word_of_a_group_lists_it(words, capsys):
    assert listed(asked(capsys, *words).partition("exit\n")[2]) == (["Lab"], list(GROUPS["Lab"]))


@pytest.mark.parametrize("words", [["help", "setup", "paths"], ["setup", "paths", "-h"], ["help", "report"]])
def test_help_explains_a_command(words, capsys):
    name = " ".join(word for word in words if word not in ("help", "-h"))
    assert asked(capsys, *words).startswith(f"usage: perfield {name} [-h]")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["rport"], "perfield: there is no command rport; did you mean report? `perfield help all` lists"),
        (["help", "xyz"], "perfield: there is no command xyz. `perfield help all` lists"),
        (["paths", "--cflags"], "perfield: the command paths is called `perfield setup paths`.\n"),
        (["rhytm"], "perfield: there is no command rhytm; did you mean lab rhythm? `perfield"),
        (["lab", "rhytm"], "perfield: there is no command lab rhytm; did you mean lab rhythm? `perfield"),
        (["setpu", "env"], "perfield: there is no command setpu; did you mean setup? `perfield"),
        (
            ["setup", "env", "--scorp", "a"],
            "perfield setup env: there is no option --scorp; did you mean --sc",
        ),
        (["report", "--txt"], "perfield report: there is no option --txt; did you mean --text? `perfield"),
        (["report", "--zzz=1"], "perfield report: there is no option --zzz. `perfield help report` lists"),
        (["report", "a", "b"], "perfield report: unexpected argument b. `perfield help report` lists"),
    ],
)
def test_the_nearest_of_what_was_mistyped(words, sentence, capsys):
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(sentence)


def options() -> dict[str, dict[str, str]]:
    """Option -> command -> what it takes, "" for nothing."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for name, parser in parsers().items():
        for line in re.findall(r"^  (-.*)$", parser.format_help(), re.M):
            option, _, takes = re.split(r"  +", line)[0].split(", ")[-1].partition(" ")
            found[option][name] = takes.split()[0].strip("[]") if takes else ""
    del found["--help"]
    return found


def test_option_of_several_commands_takes_the_same_in_each():
    several = {
        "--output",
        "-n",
        "--by",
        "--only",
        "--to",
        "--from",
    }  # a file or folder, as the command writes
    kinds = {option: {*of.values()} for option, of in options().items() if option not in several}
    assert {option: found for option, found in kinds.items() if len(found) > 1} == {}


def test_page_of_commands_explains_each_option_of_several_commands():
    page = Path(__file__).parents[2] / "docs" / "commands.md"
    section = page.read_text().partition("## Options of several commands")[2].partition("\n## ")[0]
    explained = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", section))
    assert {option for option, of in options().items() if len(of) > 1} - explained == set()


def test_option_that_is_called_otherwise_now_leads_to_its_name(capsys):
    named = options()
    for command, former in FORMER.items():
        assert all(command not in named[old] and command in named[new] for old, new in former.items())
    assert main(["steps", "run", "--most", "3"]) == 2
    assert capsys.readouterr().err.startswith(
        "perfield steps: the option --most is called --rows. `perfield help"
    )
    assert main(["lab", "inject", "--messages", "3", "./a.out"]) == 2
    assert "the option --messages is called --draws." in capsys.readouterr().err
