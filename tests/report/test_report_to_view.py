# SPDX-License-Identifier: BSD-3-Clause
"""From a finding of the report to the browser view: the link shows its step, its field and its rank there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drivers.driven_chromium import opened_tab
from drivers.served import served

import perfield
from perfield.analysis.findings import Finding, Picture
from perfield.report import report
from perfield.report.page import page, write
from perfield.report.view import ADDRESS
from perfield.serve.page_files import LIBRARY, page_files
from twins import twin

pytest.importorskip("jinja2", reason="jinja2 is not installed")
if LIBRARY not in page_files():
    pytest.skip("installed without vtk.js, which the browser view needs", allow_module_level=True)

LINK = "document.querySelector('a[target=_blank]')"


def test_link_of_a_finding_shows_its_step_field_and_rank(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=4, steps=5)
    made = report(perfield.open(path))
    shown = Picture("heat_map", "waiting_time_s", 3)
    finding = Finding("imbalance", "Rank 2 is late.", 0.01, "Balance.", shown, np.array([2]))
    text = page(replace(made, findings=(finding,)))
    with served(path) as client:
        write(tmp_path / "report.html", text.replace(ADDRESS, f"http://localhost:{client.port}/"))
        with opened_tab((tmp_path / "report.html").as_uri(), tmp_path, webgl=True) as tab:
            tab.until(f"{LINK} !== null")
            tab.value(f"(() => {{ const a = {LINK}; a.target = ''; a.click() }})()")
            tab.until("document.body.dataset.ready === 'true'")
            tab.until("document.getElementById('panel').innerText.toLowerCase().includes('rank 2')")
            assert tab.value("document.getElementById('field').value") == "waiting_time_s"
            assert tab.value("document.getElementById('frame').value") == "3"
            assert tab.value("document.getElementById('message').hidden"), (
                "the page says that it has an error"
            )
            panel = tab.value("document.getElementById('panel').innerText")
            assert "computing, without MPI; all charts from 0" in panel
            assert not tab.complaints
