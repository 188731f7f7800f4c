# SPDX-License-Identifier: BSD-3-Clause
"""The topology picture in ParaView: nodes as planes, ranks and measurements in them, messages as lines below.

In the GUI: `perfield open RUN`, or, in this directory, since the GUI does not tell a script where it lies:
PYTHONPATH=. PERFIELD_PICTURES=RUN/pictures paraview --script=topology.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if "__file__" in globals():
    sys.path.insert(0, str(Path(__file__).resolve().parent))

import paraview.simple as pv
from colours import ABSENT, CATEGORIES, colour, plain
from scene import Pictures, fit_camera, new_view, set_title
from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet

LAYERS = ("machine", "ranks", "measurements", "messages")
ONE_NODE, SEVERAL_NODES = (0.5, -0.6, -1.0), (1.2, -0.9, -1.0)  # more from the side, so that planes part
UP = (0.0, 1.0, 0.0)


def show_layers(pictures: Pictures, view: Any, layer: str, field: str) -> list[Any]:
    """Shows all layers, one of them coloured by a field, the others plain; returns what was made."""
    reader = pictures.read("topology")
    made = [reader]
    for name in LAYERS:
        block = pv.ExtractBlock(registrationName=name, Input=reader, Selectors=[selector(reader, name)])
        display = pv.Show(block, view)
        display.Ambient, display.Diffuse, display.Specular = 1.0, 0.0, 0.0
        if name == layer:
            block.UpdatePipeline()
            display.LineWidth = 2.5
            names = _names(block, field)
            bounds, end = pictures.bounds("topology", field), pictures.beyond("topology", field)
            colour(display, view, field, "CELLS", bounds, names, field not in CATEGORIES, end)
        else:
            plain(display, ABSENT, 0.35)
        made.insert(0, block)
    bounds = reader.GetDataInformation().GetBounds()
    fit_camera(view, bounds, SEVERAL_NODES if bounds[5] > bounds[4] else ONE_NODE, UP)
    return made


def selector(reader: Any, layer: str) -> str:
    """How ParaView names a layer in the data that the reader gives."""
    data = reader.GetClientSideObject().GetOutputDataObject(0)
    nested = isinstance(data.GetBlock(0), vtkCompositeDataSet)
    return f"/Root/Block0/{layer}" if nested else f"/Root/{layer}"


def _names(block: Any, field: str) -> dict[int, str] | None:
    """What the numbers of a category mean, as the picture's field data says; None if it does not."""
    data = block.GetClientSideObject().GetOutputDataObject(0)
    leaves = [data] if not isinstance(data, vtkCompositeDataSet) else _leaves(data)
    for leaf in leaves:
        texts = leaf.GetFieldData().GetAbstractArray(f"{field}_names")
        values = leaf.GetCellData().GetArray(field)
        if texts is not None and values is not None:
            used = {int(values.GetValue(cell)) for cell in range(values.GetNumberOfTuples())}
            return {value: texts.GetValue(value) for value in sorted(used)}
    return None


def _leaves(data: Any) -> list[Any]:
    iterator = data.NewIterator()
    iterator.InitTraversal()
    leaves = []
    while not iterator.IsDoneWithTraversal():
        leaves.append(iterator.GetCurrentDataObject())
        iterator.GoToNextItem()
    return leaves


def main() -> None:
    """Opens the picture in the GUI, the machine coloured by type, messages by source."""
    pictures = Pictures.from_environment()
    view = new_view()
    show_layers(pictures, view, "machine", "topology_type")
    set_title(view, ("topology type", pictures.description["run"]))
    pv.Render(view)


if __name__ == "__main__":
    main()
