# SPDX-License-Identifier: BSD-3-Clause
"""Colours what the plugin makes when the GUI shows it first.

ParaView alone gives each block of several kinds a colour of its own, and ends a scale at the least and the
largest value of one step. Here the array that says most is chosen, and its scale begins at 0, or has 0 in its
middle for differences. What the user has styled stays, and remote servers and scripts are left alone.
"""

from __future__ import annotations

from typing import Any

from vtkmodules.vtkCommonDataModel import vtkDataObject

from perfield.paraview.runs import blocks_of
from perfield.pictures.compared import DIFFERENCE

PLUGIN = "Perfield"  # begins the name of each proxy of the plugin
ABSENT = (0.72, 0.72, 0.72)  # of values that were not measured: presets have red or yellow, which seem high
GROW = "Grow and update every timestep"
ASSOCIATIONS = {"POINTS": vtkDataObject.POINT, "CELLS": vtkDataObject.CELL}
VIRIDIS, AROUND_0 = "Viridis (matplotlib)", "Cool to Warm"
_watched: list[Any] = []  # the session that is watched, and the displays that were seen


def watch() -> None:
    """From now on, colours what the plugin makes as soon as it is shown, where ParaView's GUI is."""
    if _watched:
        return
    from paraview.modules.vtkRemotingServerManager import vtkSMProxyManager

    manager = vtkSMProxyManager.GetProxyManager()
    session = manager.GetActiveSessionProxyManager() if manager is not None else None
    if session is None or session.GetSelectionModel("ActiveSources") is None:  # no GUI
        return
    _watched.extend([session, set()])
    session.AddObserver("RegisterEvent", _look_at_new)


def _look_at_new(*_: object) -> None:
    """Styles the displays that were registered since the last call."""
    import paraview.simple as pv

    session, seen = _watched
    for number in range(session.GetNumberOfProxies("representations")):
        name = session.GetProxyName("representations", number)
        if name in seen:
            continue
        seen.add(name)
        display = pv.servermanager._getPyProxy(session.GetProxy("representations", name))
        source = getattr(display, "Input", None)
        if not hasattr(display, "ColorArrayName") or source is None:
            continue
        if source.GetXMLName().startswith(PLUGIN):
            colour(display, source)


def colour(display: Any, source: Any) -> None:
    """Colours a display by the array that says most, of the first block of its source that has one."""
    import paraview.simple as pv

    found = main_array(source.GetClientSideObject().GetOutputDataObject(source.Port))
    if found is None:
        return
    association, name = found
    table = pv.GetColorTransferFunction(name)
    fresh = not table.ScalarRangeInitialized
    if not fresh and table.AutomaticRescaleRangeMode == GROW:
        _keep(table)
    display.SetScalarColoring(name, ASSOCIATIONS[association])  # ColorBy of paraview.simple would rescale
    data = source.PointData if association == "POINTS" else source.CellData
    array = data[name]
    if not fresh or array is None or array.GetNumberOfComponents() != 1:
        return
    ends = scale(name, *array.GetRange())
    if ends is not None:
        table.ApplyPreset(AROUND_0 if ends[0] < 0 else VIRIDIS, True)
        table.RescaleTransferFunction(*ends)
        table.NanColor = ABSENT
        table.ScalarRangeInitialized = 1
        table.AutomaticRescaleRangeMode = "Never"
        if ends[0] == 0:
            _keep(table)


def _keep(table: Any) -> None:
    """Keeps the ends of a scale until a view is drawn, then lets it grow with later steps.

    The Apply that shows a source first would end the scale at the source's least and largest value.
    """
    import paraview.simple as pv

    table.AutomaticRescaleRangeMode = "Never"
    views = [view.SMProxy for view in pv.GetRenderViews()]
    tags = []

    def drawn(*_: object) -> None:
        table.AutomaticRescaleRangeMode = GROW
        while tags:
            view, tag = tags.pop()
            view.RemoveObserver(tag)

    tags += [(view, view.AddObserver("EndEvent", drawn)) for view in views]


def main_array(dataset: vtkDataObject) -> tuple[str, str] | None:
    """Association, "POINTS" or "CELLS", and name of the active scalars of the first block that has some."""
    for block in blocks_of(dataset).values():
        for association, data in (("POINTS", block.GetPointData()), ("CELLS", block.GetCellData())):
            scalars = data.GetScalars()
            if scalars is not None and scalars.GetName():
                return association, scalars.GetName()
    return None


def scale(name: str, low: float, high: float) -> tuple[float, float] | None:
    """Both ends of an array's scale: from 0, or around 0 for a difference; None leaves it to ParaView."""
    if name.endswith(DIFFERENCE):
        most = max(abs(low), abs(high)) or 1.0  # no change has the colour in the middle
        return -most, most
    return (0.0, high) if 0 <= low <= high and high > 0 else None
