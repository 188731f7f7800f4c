# SPDX-License-Identifier: BSD-3-Clause
"""What the OpenFOAM demo prints, with a fake perfield and no OpenFOAM."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "testcase/openfoam"
FAKE = """\
#!/bin/sh
if [ "$1" = run ]; then
  echo "of the solver"
  echo "steps      3 on 4 ranks" >&2
  echo "next       perfield report perfield-run" >&2
else
  [ -d "$(dirname "$3")" ] && echo "look at them: perfield open $3"
fi
"""


@pytest.fixture
def demo(monkeypatch, tmp_path):
    """The module testcase/openfoam/run_demo.py with a fake perfield, in a fresh working directory."""
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("openfoam_run_demo", FOLDER / "run_demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.delitem(sys.modules, "cases")
    fake = tmp_path / "perfield"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    monkeypatch.setattr(module, "PERFIELD", str(fake))
    monkeypatch.setattr(module, "prepare", lambda case, folder: folder.mkdir(parents=True))
    monkeypatch.chdir(tmp_path)
    return module


def test_look_line_appears_once_relative_to_the_user(demo, capfd):
    demo.run_measured("icoFoam", Path("demo/icoFoam"))
    printed = capfd.readouterr().out.splitlines()
    assert [line for line in printed if "perfield open" in line] == [
        "look at them: perfield open demo/icoFoam/perfield-run"
    ]
    assert "steps      3 on 4 ranks" in printed
    assert Path("demo/icoFoam/log.icoFoam").read_text() == "of the solver\n"
