# SPDX-License-Identifier: BSD-3-Clause
"""Outputs show whatever a run calls its hosts, regions, fields and programs, and obey none of it."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest

from perfield.commands import main
from twins import twin

TEXTS = {
    "code and markup": "a and and b '] + [__import__('os').abort()] + [\"\"\" ''' \\ \\n {0} {{7*7}} %s; "
    "`touch ran`"
    "</script></title><evil onload=x>&amp;<script>alert(1)</script><!-- ]]> $\\frac{$ $x_{$",
    "control": "a\0b\x1b[31m\r\n\t\x07\x7f\x85\u2028\u202e\x01",
    "no UTF-8": "../../x\udcff\ud800 \ufffe\uffff " + "name " * 400,
}
COMMANDS = {
    "info": ("info", "RUN"),
    "info of all": ("info", "RUN", "--regions", "--ranks", "--messages"),
    "steps": ("steps", "RUN"),
    "fields": ("fields", "RUN"),
    "placement": ("placement", "RUN"),
    "rhythm": ("lab", "rhythm", "RUN"),
    "report as text": ("report", "RUN", "--text"),
    "report as JSON": ("report", "RUN", "--json"),
    "report": ("report", "RUN", "--no-pictures", "-o", "page.html"),
    "plot": ("plot", "RUN", "--only", "regions", "-o", "plot.png"),
    "flame": ("plot", "RUN", "--flame", "-o", "flame.png"),
    "timeline": ("export", "RUN", "--to", "perfetto", "-o", "steps.pftrace"),
    "render": ("render", "RUN", "--steps", "1:3", "-o", "pictures"),
}
OBEYED = {chr(n) for n in (*range(9), *range(11, 32), *range(127, 160), 0x2028, 0x202E)}


class Page(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list) -> None:
        """Notes an element and its attributes."""
        self.found |= {tag, *(name for name, _ in attrs)}


@pytest.fixture(params=TEXTS)
def run(request, tmp_path, monkeypatch) -> Path:
    """A run in which each name is one of the texts."""
    text = TEXTS[request.param]

    def named(rank: int, values: dict) -> None:
        values |= {"program": text, "group": text, "mpi": text, "host_long": text, "arguments": text}
        values |= {"host": f"{text}{rank // 2}", "cpuset": values.get("cpuset", "")}

    def field(rank: int, step: int) -> bytes:
        array = {"role": "field", "name": text, "association": "point", "type": "f8"}
        return twin.array_body({"block": 0}, [{**array, "values": [rank + step / 1000] * 125}])

    writer = twin.Writer

    def plainly_named(path: Path, *more: int) -> twin.Writer:
        room = "mesh" if f"{tmp_path}/run/mesh/" in str(path) else "stream"
        return writer(tmp_path / "run" / room / "a.pf", *more)

    monkeypatch.setattr(twin, "slab_field", field)
    monkeypatch.setattr(twin, "Writer", plainly_named)
    first, *others = twin.QUANTITIES
    quantities = ((text, *first[1:]), *others)
    names = (text, f"{text} ", "solve")
    twin.write_run(tmp_path / "run", 4, 6, regions=names, quantities=quantities, change_rank=named)
    info = json.loads((tmp_path / "run/run.json").read_text())
    info |= {"command": [text], "working_directory": text, "host": text, "perfield": text}
    (tmp_path / "run/run.json").write_text(json.dumps(info))
    name = text.replace("/", "|").replace("\0", "").encode("utf-8", "replace")[:100]
    path = tmp_path / os.fsdecode(name)
    (tmp_path / "run").rename(path)
    monkeypatch.chdir(tmp_path)
    return path


def test_outputs_show_any_text_and_obey_none(run, capfd):
    for name, words in COMMANDS.items():
        code = main([str(run) if word == "RUN" else word for word in words])
        out, err = capfd.readouterr()
        assert code == 0, (name, err)
        assert not OBEYED & set(out + err), (name, ascii(out + err))
        if name == "report as JSON":
            assert json.loads(out)
    written = {"page.html", "plot.png", "flame.png", "steps.pftrace", "pictures"}
    assert {path.name for path in run.parent.iterdir()} == {run.name, *written}
    page = Page()
    page.feed(Path("page.html").read_text("utf-8"))
    assert page.found and not {"script", "onload", "evil"} & page.found
    described = json.loads(Path("pictures/pictures.json").read_text("utf-8"))
    assert described["steps"] and described["own_fields"]
    listed = [
        file.parent / element.attrib["file"]
        for file in (*Path("pictures").rglob("*.pvd"), *Path("pictures").rglob("*.vtm"))
        for element in ElementTree.parse(file).iter("DataSet")
    ]
    assert listed and all(file.is_file() for file in listed)
