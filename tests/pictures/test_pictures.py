# SPDX-License-Identifier: BSD-3-Clause
"""perfield.pictures has all its names, and it loads VTK only when needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from perfield import pictures


def test_all_names_of_pictures_exist():
    pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")
    for name in pictures.__all__:
        assert callable(getattr(pictures, name)), name


def test_unknown_name_is_refused_with_known_names():
    with pytest.raises(AttributeError, match=r"no name 'geometri'; it has .*geometry, .*topology"):
        _ = pictures.geometri


def test_first_use_of_a_picture_loads_vtk():
    program = (
        "import sys, perfield.pictures, perfield.topology\n"
        "assert not [name for name in sys.modules if name.startswith('vtk')]\n"
        "sys.modules['vtkmodules'] = None\n"
        "try:\n"
        "    perfield.pictures.topology\n"
        "except ModuleNotFoundError as error:\n"
        "    print(error)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "install the Debian package python3-paraview" in result.stdout
