# SPDX-License-Identifier: BSD-3-Clause
"""A damaged pictures.json costs a sentence that says where it is wrong."""

from __future__ import annotations

import json

import pytest

from perfield.catalyst_scripts.pictures_json import read_description

ARRAY = {
    "range": [0.0, 1.0], "association": "CELLS", "components": 1, "absent": False, "title": "a", "unit": "s",
    "scale": None, "beyond": {"3": {"peak": 2.0, "scale": [0, 2]}}, "names": {"-1": "none"},
}  # fmt: skip
GEOMETRY = ("layers", "geometry")
OF_ARRAY = (*GEOMETRY, "arrays", "a")
STEP = {"frame": 0, "shown_at": 0.5, "title": "step 1", "mesh_age": "", "fields_age": ""}
WHOLE = {
    "steps": [STEP], "run": "run", "view": "auto", "explode": None, "own_fields": {"t": "T"},
    "places": {"host": ["node0"], "core": ["core 0"]}, "layout": "planes", "anything": [1],
    "layers": {"geometry": {"bounds": [0, 1] * 3, "spread": None, "arrays": {"a": ARRAY}}},
}  # fmt: skip


def with_value(value: object, *path: str | int) -> bytes:
    """The description with one value at a path; `...` removes it."""
    changed = json.loads(json.dumps(WHOLE))
    at = changed
    for key in path[:-1]:
        at = at[key]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return json.dumps(changed).encode()


def test_whole_description_is_as_it_was_written():
    assert read_description(json.dumps(WHOLE).encode()) == WHOLE


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"[1]", "has [1], expected an object"),
        (b"{", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[" * 100_000, "nests too deep"),
        (with_value(..., "steps"), "lacks steps"),
        (with_value(..., "steps", 0, "mesh_age"), "lacks mesh_age at /steps/0"),
        (with_value([1], "places", "host"), "has 1 at /places/host/0, expected a text"),
        (with_value(True, "explode"), "has True at /explode, expected a number or null"),
        (with_value([1], *GEOMETRY, "bounds"), "has 1 items at /layers/geometry/bounds, expected six"),
        (with_value("X", *OF_ARRAY, "association"), "'X' at /layers/geometry/arrays/a"),
        (with_value([0, 1e308], *OF_ARRAY, "range"), "expected a number below 1e+300"),
        (with_value({"x": "y"}, *OF_ARRAY, "names"), "expected whole numbers"),
    ],
)  # fmt: skip
def test_damaged_description_says_where(data, expected):
    with pytest.raises(ValueError) as raised:
        read_description(data)
    assert expected in str(raised.value) and "perfield render RUN" in str(raised.value)
