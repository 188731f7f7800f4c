# SPDX-License-Identifier: BSD-3-Clause
"""Titles of views show any words, and a layout is one of perfield's."""

from __future__ import annotations

import json

import pytest
from drivers.in_paraview import in_paraview

pytest.importorskip("paraview", reason="ParaView's Python modules are not installed")

WORDS = {  # what is given: what is shown, where that differs
    "salt and pepper": None,
    "a and and b and and and": None,
    "'] + [__import__('os').abort()] + ['": None,
    '"quoted" \'\'\' """ \\ \\n \\x41 {0} %s #': None,
    "two\nlines\r": "two\nlines\ufffd",
    "a\0b\x1b[31m\x7f": "a\ufffdb\ufffd[31m\ufffd",
    "no UTF-8: \udcff": "no UTF-8: \ufffd",
    "Grüße, 日本語 \U0001f600": None,
    "$x_1$ costs 5$": "\\$x_1\\$ costs 5\\$",  # as VTK wants a dollar
    "import or not in lambda": None,
}
SHOWN = """
import sys
from scene import new_view, set_title
view, words = new_view(), []
for line in json.loads(sys.stdin.read()):
    for lines in ([line], ["first", line]):
        title = set_title(view, line, lines, pv.Sphere())
        title.Expression = title.Expression.replace("[t_index]", "[-1]")  # a sphere has no times
        title.UpdatePipeline()
        table = title.GetClientSideObject().GetOutputDataObject(0)
        words.append(table.GetRowData().GetAbstractArray(0).GetValue(0))
result = words
"""
LAID_OUT = """
import machine_picture
from pathlib import Path
from scene import Pictures
pictures = Pictures(Path("."))
machine = machine_picture._arranged(pv.Sphere(), pictures.layout)
result = [pictures.layout, machine.Script]
"""


def test_titles_show_any_words(tmp_path):
    script = SHOWN.replace("sys.stdin.read()", repr(json.dumps(list(WORDS))))
    shown = [text if text is not None else given for given, text in WORDS.items()]
    assert in_paraview(script, tmp_path) == [f"{text}\n{text}" for text in shown for _ in range(2)]


def test_layout_of_pictures_is_never_code(tmp_path):
    evil = 'ring"; open("ran", "w") #'
    whole = {"steps": [], "run": "", "view": "", "explode": None, "own_fields": {}, "layers": {}}
    about = {**whole, "places": {"host": [], "core": []}, "layout": evil}
    (tmp_path / "pictures.json").write_text(json.dumps(about))
    layout, script = in_paraview(LAID_OUT, tmp_path)
    assert layout == "flat" and script.startswith('layout = "flat"  # one of') and "open" not in script
    assert not (tmp_path / "ran").exists()
