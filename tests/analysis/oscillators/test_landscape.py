# SPDX-License-Identifier: BSD-3-Clause
"""The landscape of Figure 1."""

from __future__ import annotations

import numpy as np
import pytest

from perfield.analysis.oscillators.landscape import landscape
from perfield.analysis.oscillators.potentials import MexicanHat


def test_the_hat_has_a_hill_and_a_ring_of_minima():
    found = landscape(MexicanHat(radius=1.0, depth=0.5), reach=1.5, points=301)
    assert float(found.surface.sel(x=0, y=0)) == 0
    assert float(found.surface.min()) == pytest.approx(-0.5)
    distance = np.hypot(found.x, found.y)
    ring = found.surface.where(abs(distance - 1.0) < 0.005)
    assert float(ring.max()) == pytest.approx(-0.5, abs=1e-3)
    assert found.section.values == pytest.approx(found.surface.sel(y=0, method="nearest").values)
