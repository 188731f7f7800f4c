# SPDX-License-Identifier: BSD-3-Clause
"""JSON in run directories that nests too deep for Python."""

from __future__ import annotations

import json

import pytest

import perfield
from perfield import _bridge
from perfield.run import RunError
from perfield.run.json_text import MOST_LEVELS, NestedTooDeepError, parse_json
from twins import twin

DEPTHS = [MOST_LEVELS + 1, 900, 100_000]  # 900: Python parses it, but cannot walk it


def nested(depth: int) -> str:
    return '{"size":1,"a":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_entry_is_a_run_error_that_names_it(tmp_path, depth):
    run = twin.write_run(tmp_path / "run", ranks=1)
    (stream,) = (run / "stream").glob("*.pf")
    at = stream.stat().st_size
    twin.Writer(stream, 0).add("end", nested(depth).encode())
    with pytest.raises(RunError) as error:
        perfield.open(run)
    assert f"{stream}: the end entry at byte {at} was not written by perfield" in str(error.value)
    assert f"deeper than {MOST_LEVELS} levels" in str(error.value)


@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_run_json_is_a_run_error(tmp_path, depth):
    run = twin.write_run(tmp_path / "run", ranks=1)
    (run / "run.json").write_text(nested(depth))
    with pytest.raises(RunError, match=rf"run\.json cannot be read .*deeper than {MOST_LEVELS} levels"):
        perfield.open(run)


@pytest.mark.parametrize("depth", DEPTHS)
def test_mesh_with_a_deep_description_is_not_shown(tmp_path, depth):
    run = twin.write_run(tmp_path / "run", ranks=1)
    (mesh,) = (run / "mesh").glob("*.pf")
    text = twin.padded(nested(depth).encode())
    twin.Writer(mesh, 0).add("mesh", twin.struct.pack("<II", len(text), 0) + text, index=7)
    opened = perfield.open(run)
    assert opened.mesh(0, 7) == []
    assert any("rank 0, version 7, cannot be read" in sentence for sentence in opened.damage)


@pytest.mark.parametrize("depth", DEPTHS)
def test_closing_lines_survive_deep_entries(tmp_path, depth):
    run = twin.write_run(tmp_path / "run", ranks=2)
    expected = _bridge.summary_lines(str(run))
    (stream,) = (run / "stream").glob("*.pf")
    twin.Writer(stream, 0).add("place", nested(depth).encode())
    assert len(_bridge.summary_lines(str(run))) == len(expected)


def test_newest_run_is_found_beside_a_deep_run_json(tmp_path, perfield_cli):
    twin.write_run(tmp_path / "perfield-run", ranks=1)
    (tmp_path / "perfield-run-2").mkdir()
    (tmp_path / "perfield-run-2" / "run.json").write_text(nested(100_000))
    result = perfield_cli("info", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "perfield-run" in result.stdout


def test_values_within_the_limit_are_parsed():
    text = nested(MOST_LEVELS)
    assert parse_json(text) == json.loads(text)
    with pytest.raises(NestedTooDeepError, match="expected fewer"):
        parse_json(nested(MOST_LEVELS + 1))


def test_one_damaged_rank_number_makes_no_room_for_millions(tmp_path):
    run = twin.write_run(tmp_path / "run", ranks=2)
    (stream,) = (run / "stream").glob("*.pf")
    twin.Writer(stream, 10_000_000).add("step", twin.step_body(), index=3)
    values = twin.rank_values(1, 2, "node0", size=12_000_000)
    twin.Writer(stream, 10_000_001).add("rank", twin.json_body(values))
    assert perfield.open(run).n_ranks == 2


WRONG = [
    ("size", "4"),
    ("size", True),
    ("host", 7),
    ("cpuset", {"a": 1}),
    ("sources", [1]),
    ("sources", "pmpi"),
]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_value_of_a_wrong_type_counts_as_absent(tmp_path, key, value):
    def change(rank, values):
        if rank == 1:
            values[key] = value

    run = perfield.open(twin.write_run(tmp_path / "run", ranks=2, change_rank=change))
    assert run.n_ranks == len(run.ranks) == 2
    assert key not in run.rank_entries[1]
    assert key in run.rank_entries[0]


@pytest.mark.parametrize("run_id", ["-1", "123456789abcdef01"])
def test_run_id_beyond_64_bits_is_a_run_error(tmp_path, run_id):
    run = twin.write_run(tmp_path / "run", ranks=1)
    (run / "run.json").write_text(json.dumps({"run_id": run_id}))
    with pytest.raises(RunError, match=r"names no run id .*expected 16 hexadecimal digits"):
        perfield.open(run)


def test_mesh_described_by_no_object_is_not_shown(tmp_path):
    run = twin.write_run(tmp_path / "run", ranks=1)
    (mesh,) = (run / "mesh").glob("*.pf")
    twin.Writer(mesh, 0).add("mesh", twin.struct.pack("<II", 8, 0) + b"7       ", index=7)
    assert perfield.open(run).mesh(0, 7) == []


def test_closing_lines_show_names_that_are_no_utf_8(tmp_path):
    run = twin.write_run(tmp_path / "run", ranks=2)
    (stream,) = (run / "stream").glob("*.pf")
    body = twin.json_body({"id": 1, "name": "so?ve", "block": -1, "armed_at": 0})
    for rank in range(2):
        writer = twin.Writer(stream, rank)
        writer.sequence = 1000  # an earlier number would be an entry that has come twice
        writer.add("region", body.replace(b"?", b"\xff"), index=1)
    assert any("so\ufffdve" in line for line in _bridge.summary_lines(str(run)))


@pytest.mark.parametrize("size", [10_000_000, 9_000_000_000_000_000_000, -1])
def test_closing_lines_take_the_size_that_most_ranks_state(tmp_path, size):
    run = twin.write_run(tmp_path / "run", ranks=3)
    (stream,) = (run / "stream").glob("*.pf")
    expected = _bridge.summary_lines(str(run))
    twin.Writer(stream, 2).add("rank", twin.json_body(twin.rank_values(2, 3, "node0", size=size)))
    lines = [line for line in _bridge.summary_lines(str(run)) if not line.startswith("world ")]
    assert lines[0] == expected[0]


def test_region_row_of_a_quantity_of_the_rank_is_passed_over(tmp_path):
    def change(rank, step, values):
        values["quantities"] = [
            {"region": region, "quantity": twin.FILE_WRITE, "value": 1 << 40} for region in (0, 1, 2)
        ]

    run = perfield.open(twin.write_run(tmp_path / "run", ranks=1, change_step=change))
    for frame in run.frames():
        assert all(not (values > 1 << 30).any() for values in frame.values.values())
