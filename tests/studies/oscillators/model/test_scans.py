# SPDX-License-Identifier: BSD-3-Clause
"""Scans over the parameters of a model, against closed forms."""

from __future__ import annotations

import json

import numpy as np
import pytest

from perfield.studies.oscillators.model import ModelError
from perfield.studies.oscillators.model.scans import scan


def test_zigzag_of_figure_9_has_its_order_for_each_width():
    sigma = np.array([0.6, 1.0, np.pi / 2, np.pi])
    found = scan(
        {"preset": "figure-9", "times": {"count": 201}},
        {"topology.bidirectional": [False, True], "potential.sigma": sigma.tolist()},
    )
    gap = 2 * sigma / 3  # of neighbours: two gaps, then one, none, one, ...
    expected = np.abs(np.exp(2j * gap) + 9 * np.exp(1j * gap) + 8) / 18
    assert found.order_parameter.dims == ("topology_bidirectional", "potential_sigma")
    np.testing.assert_allclose(found.order_parameter.values[0], expected, atol=1e-5)
    np.testing.assert_allclose(found.order_parameter.values[1], expected, atol=1e-3)
    np.testing.assert_allclose(found.spread.values[0], 2 * gap / (2 * np.pi), atol=1e-4)
    assert found.state.values[0].tolist() == ["synchronised", "clusters", "clusters", "clusters"]


def test_both_ways_settle_in_half_the_time_for_twice_the_coupling():
    found = scan({"preset": "figure-6"}, {"coupling.v_p": [1, 2]})
    # Prototype: 79.0 and 39.5 periods; time scales with the coupling.
    np.testing.assert_allclose(found.settled_99.values, [79.0, 39.5], atol=0.3)
    assert json.loads(found.attrs["parameters"])["topology"]["bidirectional"]


def test_a_scan_of_nothing_is_refused():
    with pytest.raises(ModelError, match="a scan needs a key and at least one value"):
        scan({"preset": "figure-6"}, {"coupling.v_p": []})
