# SPDX-License-Identifier: BSD-3-Clause
"""The compiled module perfield._bridge: its documentation, and agreement with the tables in bridge/."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from perfield import _bridge
from twins import twin

REPOSITORY = Path(__file__).resolve().parents[3]


def test_everything_public_is_documented():
    names = [name for name in dir(_bridge) if not name.startswith("_") and name != "version"]
    things = {name: getattr(_bridge, name) for name in names}
    things = {name: thing for name, thing in things.items() if not isinstance(thing, np.dtype)}
    for name, thing in list(things.items()):
        if isinstance(thing, type):
            things |= {f"{name}.{m}": getattr(thing, m) for m in vars(thing) if not m.startswith("_")}
    silent = [name for name, thing in things.items() if "." not in (thing.__doc__ or "").split("\n", 1)[-1]]
    assert names and not silent


def test_calls_match_the_table():
    text = (REPOSITORY / "bridge" / "format" / "calls.def").read_text()
    table = re.findall(r"^PERFIELD_CALL\((\d+), (\w+), (\w+), (\w+)\)", text, re.MULTILINE)
    assert _bridge.calls() == [(int(number), *words) for number, *words in table]
    assert len({number for number, *_ in _bridge.calls()}) == len(table) < 128


def test_columns_have_the_names_of_the_twin(tmp_path):
    stream = next((twin.write_run(tmp_path / "run") / "stream").iterdir())
    read = _bridge.read_steps(str(stream), [], [])
    assert read["steps"].dtype.names[: len(twin.STEP_KEYS)] == tuple(twin.STEP_KEYS)
    assert read["steps"].dtype.itemsize == twin.STEP.size
    for name, (layout, columns) in twin.TABLES.items():
        columns = ["sizes" if column == "size_0" else column for column in columns]
        columns = [column for column in columns if not column.startswith("size_")]
        assert [column or "zero" for column in columns] == list(read[name].dtype.names)
        assert read[name].dtype.itemsize == layout.size


def test_arrays_outlive_their_source(tmp_path):
    stream = next((twin.write_run(tmp_path / "run", ranks=1, steps=1) / "stream").iterdir())
    index = _bridge.StreamIndex(str(stream))
    index.refresh()
    places = index.places
    del index
    stream.unlink()
    assert places["sequence"].tolist() == list(range(len(places)))
