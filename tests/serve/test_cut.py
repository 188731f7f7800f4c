# SPDX-License-Identifier: BSD-3-Clause
"""Meshes that are cut, and seen through, on the page of `perfield serve`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from drivers.driven_chromium import opened_tab

from perfield.serve.page_files import LIBRARY, page_files

MESH = "perfield.pictures.mesh"


def test_slice_has_the_cells_and_ranks_that_the_plane_meets(client):
    for axis, share, expected in ((0, 500, {3, 4}), (0, 100, {0}), (1, 500, set(range(8)))):
        arrays, _ = client.packed(f"/api/slice?version=0&axis={axis}&permille={share}")
        points = arrays["points"].reshape(-1, 3)
        assert len(arrays["rank"]) and set(arrays["rank"].tolist()) <= expected
        assert np.ptp(points[:, axis]) < 1e-6
        assert points[:, axis].mean() == pytest.approx(share / 1000, abs=1e-3)
    assert set(arrays["rank"].tolist()) == expected  # along y all slabs are cut
    assert client.refusal("/api/slice?version=0&axis=3&permille=1")[0] == 404
    assert "no mesh of version 9" in client.refusal("/api/slice?version=9&axis=0&permille=1")[1]


def test_slice_holds_the_simulations_own_field(client):
    asked = "/api/slice?version=0&axis={axis}&permille=100&field=temperature&frame={frame}"
    arrays, _ = client.packed(asked.format(axis=0, frame=5))
    assert len(arrays["values"]) == len(arrays["points"])  # it is of points
    assert arrays["values"] == pytest.approx(0.004)  # rank 0's of step 4, the newest that has one
    arrays, _ = client.packed(asked.format(axis=1, frame=0))
    above = arrays["values"][arrays["polys"][1::5]] - arrays["rank"]
    assert set(above.tolist()) <= {0, -1} and (above == 0).mean() > 0.7  # ranks share points between them
    assert (
        "no piece has the field 'x'"
        in client.refusal("/api/slice?version=0&axis=0&permille=1&field=x&frame=0")[1]
    )
    assert (
        "'frame' is missing" in client.refusal("/api/slice?version=0&axis=0&permille=1&field=temperature")[1]
    )


def keydown(tab, key: str) -> None:
    about = json.dumps({"key": key, "bubbles": True})
    tab.value(f"document.body.dispatchEvent(new KeyboardEvent('keydown', {about}))")


@pytest.mark.skipif(LIBRARY not in page_files(), reason="installed without vtk.js")
def test_mesh_is_cut_and_seen_through_by_keys_and_the_address(client, tmp_path):
    with opened_tab("about:blank", tmp_path, "1280,900", webgl=True) as tab:
        tab.visit(f"http://localhost:{client.port}/#frame=2&field=compute_time_s&cut=slice+x+0.1")
        tab.until(f"document.body.dataset.ready === 'true' && !!{MESH}.slice")
        assert tab.value(f"{MESH}.surface.visible") is False
        assert tab.value(f"[...new Set({MESH}.slice.owners)]") == [0]
        assert tab.value(f"{MESH}.slice.actor.getTextures().length") == 1  # values of ranks
        tab.value("perfield.set({own: 'temperature'})")
        tab.until(f"{MESH}.slice.values && {MESH}.slice.actor.getTextures().length === 0")
        assert tab.value(f"{MESH}.slice.values[0]") == pytest.approx(0.002)
        tab.value("perfield.set({frame: 5})")
        tab.until(f"Math.abs({MESH}.slice.values[0] - 0.004) < 1e-6")
        assert tab.value("!!document.querySelector('#mesh .own-legend')")
        tab.value("perfield.set({own: null})")
        tab.until(f"{MESH}.slice.actor.getTextures().length === 1")
        keydown(tab, "s")
        tab.until(f"{MESH}.slice === null && !!{MESH}.surface.isCut")
        assert "cut=clip+x+0.1" in tab.value("location.hash")
        keydown(tab, "PageUp")
        tab.until("location.hash.includes('cut=clip+x+0.15')")
        along = f"{MESH}.surface.points.filter((_, n) => n % 3 === 0)"
        low, high = tab.value(f"[Math.min(...{along}), Math.max(...{along})]")
        planes = f"{MESH}.surface.actor.getMapper().getClippingPlanes()"
        assert tab.value(f"{planes}[0].getOrigin()[0]") == pytest.approx(low + 0.15 * (high - low), rel=1e-5)
        ends = tab.value(f"[{low}, {high}].map((x) => {MESH}.surface.isCut([x, 0, 0]))")
        assert sorted(ends) == [False, True]
        for _ in range(3):  # across y, z, then none
            keydown(tab, "x")
        tab.until(f"!location.hash.includes('cut=') && {planes}.length === 0")
        tab.value("perfield.set({rank: 3})")
        keydown(tab, "t")
        assert tab.value(f"[...new Set({MESH}.opaque.owners)]") == [3]
        assert tab.value(f"{MESH}.surface.actor.getProperty().getOpacity()") < 0.5
        keydown(tab, "Escape")
        assert tab.value(f"[{MESH}.opaque, {MESH}.surface.actor.getProperty().getOpacity()]") == [None, 1]
        assert not tab.complaints
