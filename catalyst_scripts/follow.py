# SPDX-License-Identifier: BSD-3-Clause
"""Keeps titles, legends and colours true while the user chooses other arrays in ParaView's own toolbar.

Before a view is drawn, its displays are compared with what was styled last. An array that was chosen since
gets perfield's colours and legend, the title names it, and the other views follow the choice where they have
the array. Texts stay legible on a background of any colour.
"""

from __future__ import annotations

import os
import traceback
from typing import Any

import paraview.simple as pv
from colours import colour, plain
from palette import TEXT
from scene import Pictures, write_title
from vtkmodules.util.misc import calldata_type
from vtkmodules.util.vtkConstants import VTK_INT

LIGHT_TEXT = (0.95, 0.95, 0.95)
RANKS, PARTS = "topology/measurements", "topology/machine"
MAIN = ("geometry", RANKS, "topology/ranks", PARTS)  # these follow other views
NOTHING = (1.0, 1.0, 1.0)  # of parts of the machine that have no values
_observed: list[Any] = []  # keeps the observers' objects alive


def follow(views: list[Any], pictures: Pictures) -> Follower:
    """Watches views of the GUI from now on.

    With PERFIELD_SEPARATE=1 a choice in one view does not change the others.
    """
    follower = Follower(views, pictures, together=os.environ.get("PERFIELD_SEPARATE") != "1")
    watch(views, follower)
    return follower


def watch(views: list[Any], watcher: Watcher) -> None:
    """Lets a watcher look whenever one of these views is drawn."""
    _observed.append(watcher)
    for view in views:
        view.SMProxy.AddObserver("StartEvent", _before_drawing(watcher, view))
        view.SMProxy.AddObserver("EndEvent", lambda *_: watcher.after_drawing())


def _before_drawing(watcher: Watcher, view: Any) -> Any:
    @calldata_type(VTK_INT)
    def before(proxy: Any, event: str, interactive: int) -> None:
        if not interactive:  # while the mouse turns a view, nothing is chosen
            watcher.before_drawing(view)

    return before


class Watcher:
    """Looks at a view before it is drawn, and then draws the views in `_to_draw`, which changed by that."""

    def __init__(self) -> None:
        self._to_draw: list[Any] = []
        self._busy = False

    def look(self, view: Any) -> None:
        """Takes over what the user changed since the view was drawn last."""
        raise NotImplementedError

    def before_drawing(self, view: Any) -> None:
        """Looks at a view, unless this watcher itself draws it."""
        if self._busy:
            return
        self._busy = True
        try:
            self.look(view)
        except Exception:  # an error must not reach the program that draws
            traceback.print_exc()
        finally:
            self._busy = False

    def after_drawing(self) -> None:
        """Draws the views that changed."""
        while self._to_draw and not self._busy:
            pv.Render(self._to_draw.pop())


class Follower(Watcher):
    """What was styled last in some views. together : a choice in one view is followed by the others."""

    def __init__(self, views: list[Any], pictures: Pictures, together: bool = True):
        super().__init__()
        self._views, self._pictures, self._together = views, pictures, together
        self._styled = {
            display.SMProxy: _choice(display) for view in views for display, _ in shown_layers(view, pictures)
        }
        self._backgrounds = {view.SMProxy: None for view in views}
        self._blank: set[Any] = set()  # displays of parts of the machine without the chosen array

    def look(self, view: Any) -> None:
        """Styles what was chosen in a view since it was drawn last."""
        for display, layer in shown_layers(view, self._pictures):
            chosen, before = _choice(display), self._styled.get(display.SMProxy, ("", ""))
            if before != chosen:
                self._style(view, display, layer, before[1])
                if layer in MAIN:
                    self._update_others(view, display, chosen[1])
        self._adapt_texts(view)

    def _style(self, view: Any, display: Any, layer: str, before: str) -> None:
        """Gives a display the colours, legend and title of the array that was chosen for it. before : the
        array that it showed."""
        from machine_picture import names_of  # it imports this module

        _, field = self._styled[display.SMProxy] = _choice(display)
        about = self._pictures.arrays(layer).get(field)
        if about is not None:
            colour(display, view, field, about, names_of(display.Input, field))
        elif field:  # an array of ParaView itself, or of a filter
            legend = pv.GetScalarBar(pv.GetColorTransferFunction(field), view)
            legend.TitleColor = legend.LabelColor = _text_on(view)
        title = _title_of(view)
        if title is not None:
            heading = about["title"] if about is not None else field or "one colour"
            heading += " (exploded view)" if "exploded view" in _names_up(display.Input) else ""
            write_title(title, heading, self._pictures.titles(layer, field))
        if before:
            pv.HideScalarBarIfNotNeeded(pv.GetColorTransferFunction(before), view)
        self._backgrounds[view.SMProxy] = None  # new legends take the texts' colour

    def _update_others(self, view: Any, chosen: Any, field: str) -> None:
        """Colours the other main displays by the same array, where they have it, also in the other views."""
        for other in self._views if self._together else [view]:
            for display, layer in shown_layers(other, self._pictures):
                _, before = _choice(display)
                own = display.SMProxy is chosen.SMProxy or layer not in MAIN
                if own or before == field or not (before or display.SMProxy in self._blank):
                    continue
                about = self._pictures.arrays(layer).get(field)
                if about is not None:
                    self._blank.discard(display.SMProxy)
                    pv.ColorBy(display, (about["association"], field))
                    self._style(other, display, layer, before)
                elif layer == PARTS and before and field in self._pictures.arrays(RANKS):
                    self._blank.add(display.SMProxy)
                    plain(display, NOTHING)
                    self._styled[display.SMProxy] = _choice(display)
                    pv.HideScalarBarIfNotNeeded(pv.GetColorTransferFunction(before), other)
                else:
                    continue
                if other.SMProxy is not view.SMProxy and other not in self._to_draw:
                    self._to_draw.append(other)

    def _adapt_texts(self, view: Any) -> None:
        """Makes texts light on a dark background and dark on a light one."""
        text = _text_on(view)
        if self._backgrounds.get(view.SMProxy) == text:
            return
        self._backgrounds[view.SMProxy] = text
        for shape in view.Representations:
            if shape.GetXMLName() == "ScalarBarWidgetRepresentation":
                shape.TitleColor = shape.LabelColor = text
            elif shape.GetXMLName() == "TextSourceRepresentation":
                if list(shape.BackgroundColor)[3] < 0.5:  # others bring a light background along
                    shape.Color = text
            elif _name(getattr(shape, "Input", None)) == "labels":
                plain(shape, text)


def shown_layers(view: Any, pictures: Pictures) -> list[tuple[Any, str]]:
    """The visible displays of a view that can be coloured, and the layer that each shows."""
    shown = []
    for display in view.Representations:
        if getattr(display, "Visibility", 0) and hasattr(display, "ColorArrayName"):
            layer = _layer(getattr(display, "Input", None), pictures)
            if layer:
                shown.append((display, layer))
    return shown


def _choice(display: Any) -> tuple[str, str]:
    """The association and the name of the array that colours a display; empty for one colour."""
    association, name = list(display.ColorArrayName)[:2]
    return (str(association), str(name)) if name else ("", "")


def _layer(source: Any, pictures: Pictures) -> str | None:
    """The layer of pictures.json that a source shows, also through the user's own filters."""
    names = _names_up(source)
    layers = pictures.description["layers"]
    for number, name in enumerate(names):
        in_topology = f"topology/{name}"
        if "topology" in names[number + 1 :] and in_topology in layers:
            return in_topology
        if name in layers:
            return name
    return None


def _names_up(source: Any) -> list[str]:
    """The names of a source and of all that it is made from."""
    names = []
    while source is not None:
        names.append(_name(source))
        source = getattr(source, "Input", None)
        if isinstance(source, pv.servermanager.InputProperty):  # of filters that take several
            source = source[0] if len(source) else None
    return names


def _name(source: Any) -> str:
    """The name of a source in the pipeline browser."""
    if source is None:
        return ""
    proxy = getattr(source, "SMProxy", source)
    return pv.servermanager.ProxyManager().GetProxyName("sources", proxy) or ""


def _title_of(view: Any) -> Any:
    """The title that a pipeline put into a view; None if the user removed it."""
    for shape in view.Representations:
        source = getattr(shape, "Input", None)
        if source is not None and source.GetXMLName() == "PythonAnnotation":
            return source
    return None


def _text_on(view: Any) -> tuple[float, float, float]:
    """The colour of text that is legible on a view's background."""
    if view.UseColorPaletteForBackground:
        behind = list(pv.GetSettingsProxy("ColorPalette").BackgroundColor)
    else:
        behind = list(view.Background)
        if view.BackgroundColorMode == "Gradient":
            behind = [(a + b) / 2 for a, b in zip(behind, view.Background2)]
    red, green, blue = behind
    return TEXT if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else LIGHT_TEXT
