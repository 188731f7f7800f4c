# SPDX-License-Identifier: BSD-3-Clause
"""perfield fields: the list of all fields, that of a run, and the page docs/fields.md."""

from __future__ import annotations

import json
from pathlib import Path

from perfield import commands
from twins import twin

PAGE = Path(__file__).resolve().parents[2] / "docs/fields.md"


def test_documentation_matches_the_table(capsys):
    assert commands.main(["fields", "--markdown"]) == 0
    assert capsys.readouterr().out == PAGE.read_text(), (
        "regenerate it: perfield fields --markdown > docs/fields.md"
    )


def test_all_fields_are_listed_with_their_meaning(capsys):
    assert commands.main(["fields"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split()[:2] == ["compute_time_s", "s"] and "without mpi" in line for line in lines)


def test_run_argument_lists_its_own_fields(tmp_path, capsys):
    path = twin.write_run(tmp_path / "run")
    assert commands.main(["fields", str(path)]) == 0
    words = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert "isend_count" in words and "<region>_compute_time_s" in words
    assert "<region>_file_time_s" not in words and "put_count" not in words


def test_json_has_the_rows_of_the_table(tmp_path, capsys):
    path = twin.write_run(tmp_path / "run")
    assert commands.main(["fields", str(path)]) == 0
    table = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert commands.main(["fields", str(path), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["run"] == str(path)
    assert [row["field"] for row in printed["fields"]] == table[1:]
    (compute,) = (row for row in printed["fields"] if row["field"] == "compute_time_s")
    assert compute["unit"] == "s" and "without mpi" in compute["meaning"].lower()


def test_json_without_a_run_lists_all_fields(capsys):
    assert commands.main(["fields", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["run"] is None
    assert "<region>_file_time_s" in [row["field"] for row in printed["fields"]]
