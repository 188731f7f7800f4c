# SPDX-License-Identifier: BSD-3-Clause
"""Titles of views show any words."""

from __future__ import annotations

import pytest
from in_paraview import in_paraview

pytest.importorskip("paraview", reason="ParaView's Python modules are not installed")

SHOWN = """
from scene import new_view, set_title
view, words = new_view(), []
for lines in (["salt and pepper"], ["this and that", "and so on and on"]):
    title = set_title(view, "ranks and switches", lines, pv.Sphere())
    title.Expression = title.Expression.replace("[t_index]", "[-1]")  # a sphere has no times
    title.UpdatePipeline()
    table = title.GetClientSideObject().GetOutputDataObject(0)
    words.append(table.GetRowData().GetAbstractArray(0).GetValue(0))
result = words
"""


def test_title_may_contain_the_word_and(tmp_path):
    assert in_paraview(SHOWN, tmp_path) == [
        "ranks and switches\nsalt and pepper",
        "ranks and switches\nand so on and on",
    ]
