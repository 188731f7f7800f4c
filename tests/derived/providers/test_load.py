# SPDX-License-Identifier: BSD-3-Clause
"""How much longer a rank computes than the others."""

from __future__ import annotations

import numpy as np
import pytest

import perfield
from twins import twin

NAME = "relative_compute_time"


def test_largest_value_is_the_imbalance_of_the_step(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=3))
    computing, relative = run.values(["compute_time_s", NAME]).swapaxes(0, 1)
    assert relative.mean(axis=1) == pytest.approx([1, 1, 1])
    assert relative.max(axis=1) == pytest.approx(computing.max(axis=1) / computing.mean(axis=1))


def test_rank_that_is_absent_does_not_count(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=3, steps=1, change_rank=None))
    known = np.array([[1.0, np.nan, 3.0]])
    run.values = lambda names, positions: known[:, np.newaxis]
    found = run.all_fields.provider_of(NAME)
    found.run = run
    np.testing.assert_array_equal(found.compute([NAME], [0])[NAME], [[0.5, np.nan, 1.5]])
