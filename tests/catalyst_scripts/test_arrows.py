# SPDX-License-Identifier: BSD-3-Clause
"""The tubes of messages in pipelines."""

from __future__ import annotations

from drivers.in_paraview import in_paraview

SHOWN = """
import arrows
line = pv.Calculator(Input=pv.Line(), ResultArrayName="radius", Function="0.1")
tubes, _ = arrows.show_arrows(line, pv.CreateRenderView())
result = [tubes.Radius, list(tubes.Scalars)]
"""


def test_tubes_know_their_lines_so_that_the_first_apply_changes_nothing(tmp_path):
    radius, scalars = in_paraview(SHOWN, tmp_path)
    assert radius > 0 and scalars == ["POINTS", "radius"]
