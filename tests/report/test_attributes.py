# SPDX-License-Identifier: BSD-3-Clause
"""The user's own attributes of ranks: the table that lists them, and what the report makes of it."""

from __future__ import annotations

import pytest

from perfield.commands import main
from perfield.report.attributes import AttributesError, read_attributes
from twins import twin


def table(tmp_path, text):
    path = tmp_path / "ranks.csv"
    path.write_bytes(text.encode())
    return path


def test_each_column_gives_a_value_per_rank_and_absent_ones_are_empty(tmp_path):
    path = table(tmp_path, "role, rank ,material\nsolver,1,steel\n\nsolver,3,\nwriter,0,steel\n")
    read = read_attributes(path, 5)
    assert list(read) == ["role", "material"]
    assert read["role"].tolist() == ["writer", "solver", "", "solver", ""]
    assert read["material"].tolist() == ["steel", "steel", "", "", ""]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has the columns none; expected a table with the column rank"),
        ("node,material\n0,a\n", "has the columns node, material; expected"),
        ("rank\n0\n", "has the columns rank; expected"),
        ("rank,a,a\n0,1,2\n", "has the columns rank, a, a; expected"),
        ("rank,a\n0,x\n1\n", "line 3 of "),
        ("rank,a\n0,x\n1,y,z\n", "has 3 values; expected 2: rank, a."),
        ("rank,a\n-1,x\n", "is of rank '-1'; expected one of the ranks 0 to 3 of this run."),
        ("rank,a\n4,x\n", "is of rank '4'; expected"),
        ("rank,a\n\u0662,x\n", "expected one of the ranks 0 to 3"),
        ("rank,a\n0,x\n0,y\n", "line 3 of "),
        ("rank,a\n0,x\n1,x\n2,x\n", "column a of "),
        (
            "rank,a\n0,1.5\n1,2.5\n2,3\n3,4\n",
            "has the values 1.5, 2.5, 3, 4 for 4 ranks, which make no group",
        ),
        ("rank,a\n0,\x00\n1,x\n", "of "),
    ],
)
def test_table_of_no_use_is_refused_with_the_line_and_what_was_expected(tmp_path, text, words):
    with pytest.raises(AttributesError) as error:
        read_attributes(table(tmp_path, text), 4)
    assert words in str(error.value) and "ranks.csv" in str(error.value)


def test_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "ranks.csv").write_bytes(b"\xff\xfe\x00rank")
    for path in (tmp_path / "ranks.csv", tmp_path / "absent.csv", tmp_path):
        with pytest.raises(
            AttributesError, match=r"cannot be read: .*; expected a table with the column rank"
        ):
            read_attributes(path, 4)


def test_report_says_where_too_few_ranks_share_a_value(tmp_path, capsys):
    run = twin.write_run(tmp_path / "run", ranks=4, steps=40)
    path = table(tmp_path, "rank,material\n0,steel\n1,steel\n2,air\n3,air\n")
    assert main(["report", str(run), "--text", "--attributes", str(path)]) == 0
    assert "Too few ranks for a test share a value of material." in " ".join(capsys.readouterr().out.split())
    assert main(["report", str(run), "--text", "--attributes", str(tmp_path / "absent.csv")]) == 2
    assert "absent.csv cannot be read" in capsys.readouterr().err
