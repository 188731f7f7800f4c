# SPDX-License-Identifier: BSD-3-Clause
import json
from dataclasses import dataclass
from datetime import datetime, timezone

import numpy as np

from perfield.text.as_json import plain


@dataclass
class Result:
    table: np.ndarray
    names: tuple[str, ...]


def test_arrays_and_dataclasses_become_lists_and_objects():
    result = Result(np.array([[1, 2], [3, 4]]), ("a", "b"))
    assert plain({"found": result}) == {"found": {"table": [[1, 2], [3, 4]], "names": ["a", "b"]}}


def test_what_is_no_number_becomes_null_at_any_depth():
    values = {"one": np.nan, "all": np.array([1.0, np.inf]), "deep": [(np.float32("nan"),)]}
    assert json.dumps(plain(values), allow_nan=False) == '{"one": null, "all": [1.0, null], "deep": [[null]]}'


def test_a_time_becomes_text():
    assert plain(datetime(2026, 1, 2, 3, tzinfo=timezone.utc)) == "2026-01-02T03:00:00+00:00"
