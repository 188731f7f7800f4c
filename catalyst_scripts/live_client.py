# SPDX-License-Identifier: BSD-3-Clause
"""The other end of a live pipeline: waits for the program, or `perfield follow`, and shows what comes.

ParaView's Catalyst > Connect does the same by hand. A client that does not poll holds up the sender.
"""

from __future__ import annotations

import time
from typing import Any

import paraview.simple as pv
from owned_folder import OwnedFolder
from pipeline_options import PICTURES, OptionError, Options, layer_of, unknown
from scene import Pictures, new_view
from shown import Shown

PLACE = "localhost:22222"
NAP_S = 0.02  # between two looks in pvbatch
BEAT_MS = 50  # between two looks in the GUI
LAYERS = {"geometry": ("geometry", "POINTS"), "topology": ("topology/measurements", "CELLS")}


class Received(Pictures):
    """The channels that a sender shows, in place of written pictures. ended : whether the sender has gone."""

    layout = "flat"

    def __init__(self, options: Options):
        from paraview import live

        place = options.live or PLACE
        host, _, port = place.rpartition(":")
        if not (host and port.isdigit()):
            raise OptionError(f"--live: '{place}' is no place to wait at; give host:port, as in {PLACE}")
        self.options, self.ended = options, False
        self._live, self._data, self._has_update, self._steps = live, {}, False, 0
        self._link = live.ConnectToCatalyst(host, int(port))
        self._link.AddObserver("UpdateEvent", lambda *_: setattr(self, "_has_update", True))
        self._link.AddObserver("ConnectionClosedEvent", lambda *_: setattr(self, "ended", True))
        self.description = {"run": place, "own_fields": {}, "layers": {}}
        print(f"waits for a program at {place}", flush=True)

    def look(self) -> bool:
        """Polls for an update; returns whether a step came that is to be shown."""
        self._live.ProcessServerNotifications()
        manager = self._link.GetInsituProxyManager()
        if not self._data and manager is not None and manager.GetNumberOfProxies("sources") >= len(PICTURES):
            self._data = {name: self._live.ExtractCatalystData(self._link, name) for name in PICTURES}
        if not self._data or not self._has_update or self.ended:
            return False
        self._has_update = False
        for source in self._data.values():
            source.UpdatePipeline()
        if self._data["topology"].GetDataInformation().GetNumberOfCells() == 0:
            return False
        self._steps += 1
        self._describe()
        return self._steps % self.options.every == (1 % self.options.every)

    def read(self, name: str) -> Any:
        """A channel that came."""
        return self._data[name]

    @property
    def step(self) -> int:
        """The index of the newest step."""
        return int(self._link.GetTimeStep())

    def _describe(self) -> None:
        """Takes the newest step into the description."""
        self.description["step"] = f"frame {self.step}"
        for name, (layer, association) in LAYERS.items():
            data = self._data[name]
            about = self.description["layers"].setdefault(layer, {"arrays": {}, "bounds": None})
            about["bounds"] = data.GetDataInformation().GetBounds()
            for array in data.PointData.values() if association == "POINTS" else data.CellData.values():
                low, high = array.GetRange(-1 if array.GetNumberOfComponents() > 1 else 0)
                if low > high:
                    continue
                before = about["arrays"].get(array.Name, {"range": (low, high)})["range"]
                in_seconds = array.Name.endswith("_s")
                low = min(low, 0.0) if in_seconds else low
                about["arrays"][array.Name] = {
                    "association": association,
                    "components": array.GetNumberOfComponents(),
                    "range": (min(low, before[0]), max(high, before[1])),
                    "title": array.Name.removesuffix("_s").replace("_", " "),
                    "unit": "s" if in_seconds else "",
                    "absent": False,
                }


class Pair:
    """Both channels in views, as soon as they have the field. views : by name, or made when needed."""

    def __init__(self, received: Received, views: dict[str, Any]):
        self._received, self.views, self._shown = received, views, {}

    def refresh(self) -> dict[str, str]:
        """Shows the newest step; returns the field of each channel that is shown."""
        received, fields = self._received, {}
        for name in PICTURES:
            field = received.first_field(LAYERS[name][0])
            layer = layer_of(received.description["layers"], name, field)
            if layer and name not in self._shown:
                if name not in self.views:
                    self.views[name] = new_view(alone=True)
                    self.views[name].ViewSize = received.options.size
                view = self.views[name]
                self._shown[name] = Shown(received, view, name, layer, field), field
            if name in self._shown:
                self._shown[name][0].refresh()
                fields[name] = self._shown[name][1]
        return fields


def receive(options: Options, output: str | None) -> None:
    """Draws an image of each step that comes, in pvbatch, until the sender has gone. output : the folder."""
    folder = OwnedFolder(output or "perfield-live").make()
    received = Received(options)
    pair, n_images = Pair(received, {}), 0
    while not received.ended:
        if not received.look():
            time.sleep(NAP_S)
            continue
        if not n_images:
            for words in unknown(options.fields, received.known()):
                print(f"--fields: {words}", flush=True)
        for name, field in pair.refresh().items():
            view = pair.views[name]
            file = f"{name}_{field}_{received.step:06d}.png"
            with folder.writing(file) as place:
                pv.SaveScreenshot(str(place), view, ImageResolution=options.size)
            n_images += 1
            print(file, flush=True)
    print(f"the program has gone; {n_images} images are in {folder.path}")


def watch(options: Options) -> None:
    """Shows what comes in the GUI, side by side. The window stays open when the sender has gone."""
    left = new_view()
    views = {"geometry": left, "topology": new_view(beside=left)}
    pv.RenderAllViews()
    received = Received(options)
    pair = Pair(received, views)

    def look(*_: Any) -> None:
        if received.look():
            pair.refresh()
            pv.RenderAllViews()

    clock = left.GetInteractor()
    clock.AddObserver("TimerEvent", look)
    clock.CreateRepeatingTimer(BEAT_MS)
    _kept.append((received, pair))


_kept: list[Any] = []  # what the GUI's timer needs
