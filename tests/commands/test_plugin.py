# SPDX-License-Identifier: BSD-3-Clause
"""perfield setup plugin: writes the plugin and says how to load it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest


def test_plugin_is_written_for_the_user_and_loaded_as_reported(perfield_cli, tmp_path):
    result = perfield_cli("setup", "plugin", env={"XDG_DATA_HOME": tmp_path / "my data"})
    path = tmp_path / "my data/perfield/perfield.xml"
    assert ElementTree.parse(path).getroot().tag == "ServerManagerConfiguration"
    assert result.stdout.startswith(f"wrote {path}\n") and "Tools > Manage Plugins" in result.stdout
    assert f"PV_PLUGIN_PATH='{path.parent}' paraview" in result.stdout


def test_plugin_can_be_written_elsewhere_and_again(perfield_cli, tmp_path):
    for _ in range(2):
        assert not perfield_cli("setup", "plugin", "-o", tmp_path / "new/perfield.xml").returncode
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["perfield.xml"]


def test_missing_paraview_is_reported(perfield_cli, tmp_path):
    result = perfield_cli("setup", "plugin", "-o", tmp_path / "perfield.xml", env={"PATH": str(tmp_path)})
    assert not result.returncode and "the program paraview is not in PATH" in result.stdout


@pytest.mark.parametrize(
    ("name", "text"), [("perfield.txt", "end in .xml"), ("file/perfield.xml", "name another place with -o")]
)
def test_plugin_that_cannot_be_written_is_reported(perfield_cli, tmp_path, name, text):
    (tmp_path / "file").write_text("")
    result = perfield_cli("setup", "plugin", "-o", tmp_path / name)
    assert result.returncode == 2 and text in result.stderr
