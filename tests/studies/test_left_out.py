# SPDX-License-Identifier: BSD-3-Clause
"""perfield without a study: the rest works, and says nothing of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import clean_environment

import perfield
from twins import twin

PACKAGE = Path(perfield.__file__).parent
WITHOUT = {  # each study, with those that use it
    "hiding": ("hiding",),
    "oscillators": ("oscillators",),
    "regimes": ("regimes", "hiding"),
    "rhythm": ("rhythm", "oscillators"),
}
WORDS = (["--help"], ["info"], ["fields"], ["report", "--text"], ["plot", "--help"], ["compare", "OTHER"])
PROGRAM = """\
import sys
import perfield
from perfield.commands import COMMANDS, main
for words in {words}:
    try:
        code = main([*words[:1], *[sys.argv[1]] * (words[-1] != "--help"), *words[1:]])
    except SystemExit as end:
        code = end.code
    assert not code, words
print("commands:", *COMMANDS)
print("names:", *perfield.__all__)
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    return [twin.write_run(folder / name, ranks=4, steps=8, run_id=n) for n, name in enumerate("ab", 1)]


def test_each_study_is_left_out_once():
    assert set(WITHOUT) == {path.parent.name for path in (PACKAGE / "studies").glob("*/__init__.py")}


@pytest.mark.parametrize("study", WITHOUT)
def test_the_rest_works_without_a_study(study, runs, tmp_path):
    for kept, folder in (
        (PACKAGE, tmp_path / "perfield"),
        (PACKAGE / "studies", tmp_path / "perfield/studies"),
    ):
        folder.mkdir()
        for path in kept.iterdir():
            if path != PACKAGE / "studies" and path.name not in WITHOUT[study]:
                (folder / path.name).symlink_to(path)
    words = [[str(runs[1]) if word == "OTHER" else word for word in line] for line in WORDS]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(words=words), runs[0]],
        env=clean_environment() | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *_, commands, names = done.stdout.splitlines()
    own = {"hiding": "hide", "oscillators": "oscillate"}.get(study, study)
    assert " info" in commands and f" lab {own}" not in commands and " lab " in commands
    assert ("phases_of_run" in names) == (study != "rhythm")
    assert ("regimes_of_run" in names) == (study != "regimes")
