# SPDX-License-Identifier: BSD-3-Clause
"""Lets a pipeline draw in several processes of ParaView: `mpirun -n 4 pvbatch`, or a pvserver.

The script itself runs in the first process, or in the client. The pieces of the mesh lie in all processes,
and all else that is drawn in the first one, as it is small. What the script decides by is fetched: the
surfaces of all pieces. Lines to names come from a source with a script, since objects that a script makes
exist in its own process only.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from drawing import IN_PARAVIEW, pv
from vtkmodules.vtkCommonDataModel import vtkPolyData
from vtkmodules.vtkParallelCore import vtkMultiProcessController

NOTHING = 2**20  # so many parts no picture has blocks for, so the last part is empty
FIRST_ALONE = f"""\
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as Pipeline
from vtkmodules.vtkParallelCore import vtkMultiProcessController
is_first = vtkMultiProcessController.GetGlobalController().GetLocalProcessId() == 0
requested = self.GetInputInformation(0, 0)
requested.Set(Pipeline.UPDATE_NUMBER_OF_PIECES(), 1 if is_first else {NOTHING})
requested.Set(Pipeline.UPDATE_PIECE_NUMBER(), 0 if is_first else {NOTHING - 1})
"""


def runs_everywhere() -> bool:
    """Whether each process runs the script, as `pvbatch --sym` has it."""
    return bool(pv.servermanager.vtkProcessModule.GetProcessModule().GetSymmetricMPIMode())


def n_processes() -> int:
    """How many processes hold data; VTK alone has one."""
    return pv.servermanager.ActiveConnection.GetNumberOfDataPartitions() if IN_PARAVIEW else 1


def is_here() -> bool:
    """Whether the first of these processes is this one, and not one of a pvserver."""
    return not IN_PARAVIEW or not pv.servermanager.ActiveConnection.IsRemote()


def on_first(reader: Any) -> Any:
    """What a reader of composite data reads, all in the first process; the reader itself if it is alone."""
    if n_processes() == 1:
        return reader
    name = pv.servermanager.ProxyManager().GetProxyName("sources", reader)
    alone = pv.ProgrammableFilter(registrationName=f"{name} in one process", Input=reader)
    alone.OutputDataSetType = "Same as Input"
    alone.RequestUpdateExtentScript = FIRST_ALONE
    alone.Script = "self.GetOutputDataObject(0).ShallowCopy(self.GetInputDataObject(0, 0))"
    return alone


def of_first(source: Any) -> Any:
    """The data of a source in the first process. Collective where each process runs the script."""
    if not is_here():
        return pv.servermanager.Fetch(source, 0)
    data = source.GetClientSideObject().GetOutputDataObject(0)
    return _sent_to_all(data) if n_processes() > 1 and runs_everywhere() else data


def _sent_to_all(data: Any) -> Any:
    """The first process's data, in each: all must decide alike what to draw, as drawing is collective."""
    controller = vtkMultiProcessController.GetGlobalController()
    data = data if controller.GetLocalProcessId() == 0 else data.NewInstance()
    controller.Broadcast(data, 0)
    return data


def surfaces(mesh: Any) -> Any:
    """What `all_of` needs to bring: the mesh if it is here, else the surfaces of its pieces."""
    if n_processes() == 1 and is_here():
        return mesh
    return pv.ExtractSurface(registrationName="surfaces to look at", Input=mesh)


def all_of(source: Any, time: float) -> Any:
    """The data of a source at a time, of all processes."""
    source.UpdatePipeline(time)
    if n_processes() == 1 and is_here():
        return source.GetClientSideObject().GetOutputDataObject(0)
    return pv.servermanager.Fetch(source)


def _fill(output: Any, places: Any, lines: Any, dots: Any) -> None:
    """Fills a vtkPolyData. This text runs in the processes of a pvserver, too."""
    from vtkmodules.vtkCommonCore import vtkPoints
    from vtkmodules.vtkCommonDataModel import vtkCellArray

    points = vtkPoints()
    for place in places:
        points.InsertNextPoint(place)
    output.SetPoints(points)
    for shapes, take in ((lines, output.SetLines), (dots, output.SetVerts)):
        cells = vtkCellArray()
        for shape in shapes:
            cells.InsertNextCell(len(shape), shape)
        take(cells)


class Lines:
    """A source of lines and dots, which any process can draw."""

    def __init__(self, name: str):
        self._is_alone = n_processes() == 1 and is_here()
        if self._is_alone:
            self.proxy = pv.PVTrivialProducer(registrationName=name)
        else:
            self.proxy = pv.ProgrammableSource(registrationName=name, OutputDataSetType="vtkPolyData")
        self.set(np.zeros((0, 3)), [], [])

    def set(self, points: Any, lines: Sequence[Sequence[int]], dots: Sequence[Sequence[int]]) -> None:
        """Takes points (n, 3), and the numbers of those in each line and dot."""
        shapes = ([[int(point) for point in shape] for shape in kind] for kind in (lines, dots))
        given = (np.asarray(points, np.float32).reshape(-1, 3).tolist(), *shapes)
        if self._is_alone:  # a script takes 25 ms, while the user turns the camera
            data = vtkPolyData()
            _fill(data, *given)
            self.proxy.GetClientSideObject().SetOutput(data)
            self.proxy.MarkModified(self.proxy.SMProxy)
        else:
            self.proxy.Script = "\n".join(
                [
                    "from typing import Any",
                    "from vtkmodules.vtkParallelCore import vtkMultiProcessController",
                    inspect.getsource(_fill),
                    "if vtkMultiProcessController.GetGlobalController().GetLocalProcessId() == 0:",
                    "    import json",
                    f"    _fill(self.GetOutputDataObject(0), *json.loads({json.dumps(given)!r}))",
                ]
            )
        self.proxy.UpdatePipeline()
