# SPDX-License-Identifier: BSD-3-Clause
"""The tutorial's notebook runs, cell after cell, and its numbers say what its words say."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs/notebook.ipynb"

pytest.importorskip("xarray", reason="xarray is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def test_cells_of_the_notebook_run_and_show_what_it_tells(tmp_path, monkeypatch, bin_dir):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        code = "".join(cell["source"])
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], "outputs would go stale"
        if code.startswith("!"):
            program, *words = code[1:].split()
            subprocess.run([bin_dir / program, *words], check=True, capture_output=True)
        else:
            exec(compile(code, str(NOTEBOOK), "exec"), names)
    shown = names["run"]._repr_html_()
    assert "Steps take longer and longer" in shown and "compute time of each rank in each step" in shown
    compute = names["times"].compute_time_s.mean("step").values
    assert compute[:2].min() > 1.5 * compute[2:].max()
    cells = names["cells"].values
    assert (cells[-1, :2] > 2 * cells[0, :2]).all() and (cells[-1, 2:] < cells[0, 2:]).all()
    per_cell = names["run"].steps.compute_time_s.sum("step").values / cells.sum(axis=0)
    assert per_cell.max() < 1.5 * per_cell.min()
    assert len(names["messages"]) == 12
