# SPDX-License-Identifier: BSD-3-Clause
"""Shows the topology picture in ParaView: nodes as planes with ranks and measurements, messages as lines.

To start the GUI: `perfield open RUN`. Or in this directory, because the GUI does not tell a script its path:
PYTHONPATH=. PERFIELD_PICTURES=RUN/pictures paraview --script=topology.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if "__file__" in globals():
    sys.path.insert(0, str(Path(__file__).resolve().parent))

import paraview.simple as pv
from colours import TEXT, colour, outline, plain
from follow import follow
from in_program import Program, is_pipeline
from scene import Pictures, at_first_step, fit_camera, new_view, set_title
from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet

LAYERS = ("machine", "ranks", "measurements", "messages", "labels")
ONE_NODE, SEVERAL_NODES = (0.5, -0.6, -1.0), (1.2, -0.9, -1.0)  # more from the side, to see all planes
UP = (0.0, 1.0, 0.0)


def show_layers(pictures: Pictures, view: Any, layer: str, field: str) -> list[Any]:
    """Shows all layers: one coloured by a field, the labels of the rows, and the others as outlines.

    Returns all proxies, the picture itself last.
    """
    reader = pictures.read("topology")
    made = [reader]
    for name in LAYERS:
        block = pv.ExtractBlock(registrationName=name, Input=reader, Selectors=[selector(reader, name)])
        display = pv.Show(block, view)
        display.Ambient, display.Diffuse, display.Specular = 1.0, 0.0, 0.0
        if name == layer:
            block.UpdatePipeline()
            display.LineWidth = 2.5
            colour(display, view, field, pictures.arrays(f"topology/{layer}")[field], names_of(block, field))
        elif name == "labels":
            plain(display, TEXT)
        else:
            outline(display)
        made.insert(0, block)
    bounds = pictures.bounds("topology")
    several = pictures.arrays("topology/machine")["node_id"]["range"][1] > 0
    fit_camera(view, bounds, SEVERAL_NODES if several else ONE_NODE, UP)
    return made


def selector(reader: Any, layer: str) -> str:
    """ParaView's selector for a layer in the reader's data."""
    data = reader.GetClientSideObject().GetOutputDataObject(0)
    nested = isinstance(data.GetBlock(0), vtkCompositeDataSet)
    return f"/Root/Block0/{layer}" if nested else f"/Root/{layer}"


def names_of(block: Any, field: str) -> dict[int, str] | None:
    """The meaning of a category's numbers from the picture's field data; None if it has none."""
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


def open_in(view: Any, pictures: Pictures) -> Any:
    """Fills a view of the GUI; returns the picture's source."""
    field = pictures.first_field()
    layer = "ranks" if field == "rank" else "measurements"
    picture = show_layers(pictures, view, layer, field)[-1]
    title = pictures.arrays(f"topology/{layer}")[field]["title"]
    set_title(view, title, pictures.titles(f"topology/{layer}", field), picture)
    return picture


def main() -> None:
    """Opens the picture in the GUI, coloured by compute time."""
    view, pictures = new_view(), Pictures.from_environment()
    at_first_step([view], open_in(view, pictures))
    follow([view], pictures)


def in_program() -> Program:
    """The pipeline inside the measured program."""
    program = Program("topology")
    program.extract()
    layer = "measurements"
    program.image(
        f"topology/{layer}",
        lambda view, field: pv.Show(show_layers(program, view, layer, field)[-2 - LAYERS.index(layer)], view),
    )
    return program


if __name__ == "__main__":
    main()
elif is_pipeline(__name__):
    program = in_program()
    options, catalyst_execute = program.options, program.step
