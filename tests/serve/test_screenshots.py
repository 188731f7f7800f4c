# SPDX-License-Identifier: BSD-3-Clause
"""What the page looks like, compared by pixels with `fixtures/page/NAME.png`.

Those are small, as letters and edges differ between machines: each of their pixels is the mean of 8 x 8. To
draw them anew, set PERFIELD_DRAW_PAGES=1, and look at what was written.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest
from drivers.driven_chromium import opened_tab
from drivers.served import served
from known_runs.device_runs import write_device_run
from known_runs.foam_cases import write_case
from matplotlib.image import imread, imsave

from perfield.serve.page_files import LIBRARY, page_files
from twins import twin

if LIBRARY not in page_files():
    pytest.skip("installed without vtk.js, which the page needs", allow_module_level=True)

REFERENCES = Path(__file__).resolve().parents[1] / "fixtures" / "page"
EACH = 8  # pixels
FAR, MOST = 24, 0.03  # of 255, and the share of pixels that may be so far off
SIZE = {"width": 1280, "height": 1040, "deviceScaleFactor": 1, "mobile": False}


def of_a_mesh(path: Path) -> Path:
    return twin.write_run(path, 8, 10, hosts=("a", "b"))


def of_files(path: Path) -> Path:
    twin.write_run(path, 2, 3, mesh=False, started_in=".")
    write_case(path, ranks=2)
    return path


RUNS = {
    "mesh": (of_a_mesh, "frame=4&field=compute_time_s&rank=3"),
    "files": (of_files, "frame=1&field=waiting_time_s"),
    "devices": (write_device_run, "frame=1&field=device_kernel_time_s"),
}


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with opened_tab("about:blank", tmp_path_factory.mktemp("browser"), "1280,1200", webgl=True) as shown:
        shown.call("Emulation.setDeviceMetricsOverride", **SIZE)
        yield shown


def seen(tab) -> np.ndarray:
    """The page as (height, width, 3) means of EACH x EACH pixels, 0 to 255."""
    pixels = 255 * imread(io.BytesIO(tab.picture()))[..., :3]
    high, wide = (side // EACH for side in pixels.shape[:2])
    return pixels[: high * EACH, : wide * EACH].reshape(high, EACH, wide, EACH, 3).mean(axis=(1, 3))


@pytest.mark.parametrize("name", RUNS)
def test_page_looks_as_it_did(tab, tmp_path, name):
    write, choice = RUNS[name]
    with served(write(tmp_path / "run")) as client:
        tab.visit(f"http://localhost:{client.port}/#{choice}")
        tab.until("document.body.dataset.ready === 'true' && perfield.heat.heat?.complete")
        tab.until("perfield.matrix.matrix?.complete && perfield.findings.cards !== null")
        tab.until("!document.getElementById('loading').textContent")
        tab.until("perfield.pictures.machine.size.join() === perfield.pictures.machine.wanted.join()")
        now = seen(tab)
        assert not tab.complaints
    reference = REFERENCES / f"{name}.png"
    if os.environ.get("PERFIELD_DRAW_PAGES"):
        REFERENCES.mkdir(parents=True, exist_ok=True)
        imsave(reference, np.round(now).astype(np.uint8))
    before = np.round(255 * imread(reference)[..., :3])
    assert now.shape == before.shape
    far = np.abs(now - before).max(axis=2) > FAR
    imsave(tmp_path / "seen.png", np.round(now).astype(np.uint8))
    assert far.mean() <= MOST, f"{far.mean():.1%} of {tmp_path}/seen.png are not as in {reference}"
