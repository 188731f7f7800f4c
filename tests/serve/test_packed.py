# SPDX-License-Identifier: BSD-3-Clause
"""Arrays as bytes for browsers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from perfield.serve.packed import as_json, packed, unpacked


def test_arrays_come_back_aligned_and_little_endian():
    given = {
        "odd": np.arange(3, dtype=np.uint8),
        "empty": np.zeros((0, 3), np.float32),
        "turned": np.arange(6, dtype=">f8").reshape(2, 3).T,
        "flag": np.array([7], np.int32),
    }
    data = packed(given, name="a mesh", values=[float("nan"), np.float32(2)])
    arrays, header = unpacked(data)
    assert header == {"name": "a mesh", "values": [None, 2.0]}
    for name, array in given.items():
        assert np.array_equal(arrays[name], array) and not arrays[name].dtype.str.startswith(">")
    length = int.from_bytes(data[:4], "little")
    begin = -(-(4 + length) // 8) * 8
    reported = json.loads(data[4 : 4 + length])["arrays"]
    assert all(about["offset"] % 8 == 0 for about in reported)
    assert np.frombuffer(data[begin + reported[3]["offset"] :][:4], "<i4")[0] == 7


def test_numbers_that_json_lacks_become_null():
    odd = {"a": [np.inf, -np.inf, {"b": np.nan}], 1: np.array([1.5, np.nan]), "c": np.int64(3)}
    assert json.loads(as_json(odd)) == {"a": [None, None, {"b": None}], "1": [1.5, None], "c": 3}


def test_what_has_no_form_in_json_is_an_error():
    with pytest.raises(TypeError, match="no form in JSON"):
        as_json({"a": object()})
