# SPDX-License-Identifier: BSD-3-Clause
"""Frames as VTK datasets: on the simulation's mesh (geometry) and on the machine that runs it (topology).

The first use of a name loads VTK.
"""

from __future__ import annotations

import importlib
from typing import Any

_MODULE_OF = {
    "GeometryOptions": "geometry_picture",
    "choose_pieces": "pieces",
    "geometry": "geometry_picture",
    "geometry_messages": "piece_messages",
    "TopologyPicture": "topology_picture",
    "TopologyScene": "topology_picture",
    "topology": "topology_picture",
    "topology_scene": "topology_picture",
    "topology_table": "topology_picture",
}

NEEDS_VTK = (
    "needs VTK's Python modules, which are not installed here; install the Debian package python3-paraview "
    "and use Debian's Python, or call pip install 'perfield[vtk]'."
)

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'perfield.pictures' has no name {name!r}; it has {', '.join(__all__)}.")
    try:
        module = importlib.import_module(f".{_MODULE_OF[name]}", __name__)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("vtk"):
            raise ModuleNotFoundError(f"perfield.pictures.{name} {NEEDS_VTK}", name=error.name) from error
        raise
    return getattr(module, name)
