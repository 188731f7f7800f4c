# SPDX-License-Identifier: BSD-3-Clause
"""perfield open: starts ParaView with the pictures, or gives advice."""

from __future__ import annotations

import os
import re

import pytest

from twins import twin


@pytest.fixture
def run_path(tmp_path):
    """A small run without pictures."""
    return twin.write_run(tmp_path / "run", ranks=2, steps=3)


@pytest.fixture
def paraview(tmp_path):
    """A fake paraview, which prints how it was started; returns the PATH to use."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "paraview"
    program.write_text(
        '#!/bin/sh\necho "started $* PICTURES=$PERFIELD_PICTURES PYTHON=$PYTHONPATH"\n'
        'echo "SEPARATE=$PERFIELD_SEPARATE LAYOUT=$PERFIELD_LAYOUT CONFIG=$XDG_CONFIG_HOME"\n'
        'echo "PLUGINS=$PV_PLUGIN_PATH of $(ls "${PV_PLUGIN_PATH%%:*}")"\n'
        'cat "${XDG_CONFIG_DIRS%%:*}/ParaView.ini"\nexit 3\n'
    )
    program.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_open_writes_pictures_first_and_starts_paraview(perfield_cli, run_path, paraview):
    result = perfield_cli("open", run_path, env={"DISPLAY": ":77", "PATH": paraview})
    assert (run_path / "pictures/geometry.pvd").exists()
    assert "catalyst_scripts/both.py" in result.stdout
    assert f"PICTURES={run_path / 'pictures'}" in result.stdout
    assert "PYTHON=" in result.stdout.split("catalyst_scripts")[1]
    assert result.returncode == 3
    assert "no X server answers at DISPLAY=:77" in result.stderr


def test_no_welcome_window_covers_the_pictures_and_own_settings_stay(
    perfield_cli, run_path, paraview, tmp_path
):
    own = tmp_path / "config"
    environment = {"DISPLAY": ":77", "PATH": paraview, "XDG_CONFIG_HOME": own}
    result = perfield_cli("open", run_path, "--topology", env=environment)
    assert result.stdout.endswith("[General]\nGeneralSettings.ShowWelcomeDialog=false\n")
    assert f"CONFIG={own}\n" in result.stdout and not own.exists()


def test_open_loads_the_plugin_beside_the_users_own(perfield_cli, run_path, paraview):
    environment = {"DISPLAY": ":77", "PATH": paraview, "PV_PLUGIN_PATH": "/opt/mine"}
    said = perfield_cli("open", run_path, "--topology", env=environment).stdout
    assert re.search(r"^PLUGINS=/.*/plugins:/opt/mine of perfield.xml$", said, re.MULTILINE)


def test_views_keep_their_own_arrays_on_request(perfield_cli, run_path, paraview):
    environment = {"DISPLAY": ":77", "PATH": paraview}
    assert "SEPARATE= " in perfield_cli("open", run_path, env=environment).stdout
    assert "SEPARATE=1 " in perfield_cli("open", run_path, "--separate", env=environment).stdout


def test_layout_can_be_chosen_for_paraview(perfield_cli, run_path, paraview):
    environment = {"DISPLAY": ":77", "PATH": paraview}
    assert " LAYOUT=torus " in perfield_cli("open", run_path, "--layout", "torus", env=environment).stdout
    wrong = perfield_cli("open", run_path, "--layout", "rnig", env=environment)
    assert "invalid choice: 'rnig' (choose from 'flat', 'planes', 'ring'," in wrong.stderr


def test_run_without_mesh_and_messages_opens_the_machine(perfield_cli, tmp_path, paraview):
    nothing = twin.without_calls
    path = twin.write_run(tmp_path / "bare", ranks=2, steps=3, mesh=False, change_step=nothing)
    result = perfield_cli("open", path, env={"DISPLAY": ":77", "PATH": paraview})
    assert "catalyst_scripts/topology.py" in result.stdout


@pytest.mark.parametrize("name", ["geometry", "topology"])
def test_option_opens_one_picture_alone(perfield_cli, run_path, paraview, name):
    result = perfield_cli("open", run_path, f"--{name}", env={"DISPLAY": ":77", "PATH": paraview})
    assert f"catalyst_scripts/{name}.py" in result.stdout


def test_picture_of_an_earlier_rendering_is_not_shown(perfield_cli, run_path, paraview):
    perfield_cli("render", run_path)
    perfield_cli("render", run_path, "--topology")
    result = perfield_cli("open", run_path, env={"DISPLAY": ":77", "PATH": paraview})
    assert "catalyst_scripts/topology.py" in result.stdout


def test_existing_pictures_are_not_written_again(perfield_cli, run_path, paraview):
    perfield_cli("render", run_path, "--steps", "2")
    result = perfield_cli("open", run_path, "--topology", env={"DISPLAY": ":77", "PATH": paraview})
    assert "catalyst_scripts/topology.py" in result.stdout
    assert [path.name for path in (run_path / "pictures/geometry").glob("*.vtm")] == ["step_000001.vtm"]


def test_missing_picture_names_the_command_that_writes_it(perfield_cli, run_path, paraview):
    perfield_cli("render", run_path, "--geometry")
    result = perfield_cli("open", run_path, "--topology", env={"DISPLAY": ":77", "PATH": paraview})
    assert result.returncode == 2
    assert f"perfield render {run_path} --topology" in result.stderr


def test_missing_display_gives_advice_to_look_elsewhere(perfield_cli, run_path, paraview):
    result = perfield_cli("open", run_path, env={"DISPLAY": None, "WAYLAND_DISPLAY": None, "PATH": paraview})
    assert result.returncode == 2
    assert "there is no display here. Copy" in result.stderr
    assert "--images" in result.stderr


def test_missing_paraview_names_its_package(perfield_cli, run_path, tmp_path):
    result = perfield_cli("open", run_path, env={"DISPLAY": ":77", "PATH": str(tmp_path)})
    assert result.returncode == 2
    assert "Debian package paraview" in result.stderr
