# SPDX-License-Identifier: BSD-3-Clause
"""A pipeline inside the measured program: extracts, images and a live connection, as perfield.toml sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paraview.simple as pv
from colours import colour
from scene import SIZE, Pictures, new_view, quoted, set_title

CHANNELS = ("geometry", "topology")
PIPELINE = "perfield_pipeline_"  # prefix of the module names that perfield gives to Catalyst


def is_pipeline(module: str) -> bool:
    """Whether Catalyst runs a script inside the program; module : the script's __name__."""
    return module.startswith(PIPELINE)


class Program(Pictures):
    """A channel of the running program, in place of written pictures.

    channel : "geometry" or "topology". options : Catalyst's options.
    """

    layout = ""  # planes, without a filter to choose another

    def __init__(self, channel: str):
        from paraview import catalyst

        from perfield.catalyst.pipelines import settings

        self.channel = channel
        self.settings = settings
        self._source = pv.PVTrivialProducer(registrationName=channel)
        self._image: Image | None = None
        self.options = catalyst.Options()
        self.options.GlobalTrigger = "TimeStep"
        self.options.ExtractsOutputDirectory = settings["folder"]
        live, settings["live"] = settings["live"], ""  # one connection serves all pipelines
        if live:
            self.options.EnableCatalystLive = 1
            self.options.CatalystLiveURL = live
            self.options.CatalystLiveTrigger = "TimeStep"
            for other in CHANNELS:  # ParaView sees only sources that exist when it connects
                if other != channel:
                    pv.PVTrivialProducer(registrationName=other)

    @property
    def description(self) -> dict[str, Any]:
        """The content of pictures.json for the steps so far."""
        return self.settings["description"]

    def read(self, name: str) -> Any:
        """The channel that the program fills."""
        return self._source

    def extract(self) -> None:
        """Writes the channel at each step, if extracts are configured."""
        if self.settings["extracts"]:
            extractor = pv.CreateExtractor("VTM", self._source, registrationName=self.channel)
            extractor.Trigger = "TimeStep"
            extractor.Writer.FileName = f"{self.channel}_{{timestep:06d}}.vtm"
            extractor.Writer.DataMode = "Binary"  # Debian 12's VTK cannot read appended data
            extractor.Writer.CompressorType = "ZLib"

    def image(self, layer: str, show: Callable[[Any, str], Any]) -> None:
        """Draws the layer coloured by `first_field`, if images are configured.

        show : (view, field) -> the coloured display.
        """
        if self.settings["images"]:
            field = self.first_field()
            if field in self.arrays(layer):
                self._image = Image(self, layer, field, show)

    def step(self, info: Any) -> None:
        """Updates colours and title to the current step. info : from Catalyst."""
        if self._image is not None:
            self._image.refresh()


class Image:
    """A view that is saved at each step. Its colours span the range of all steps so far."""

    def __init__(self, program: Program, layer: str, field: str, show: Callable[[Any, str], Any]):
        self._program, self._layer, self._field = program, layer, field
        self._view = new_view(alone=True)
        self._view.ViewSize = SIZE
        self._display = show(self._view, field)
        about = program.arrays(layer)[field]
        self._title = set_title(self._view, about["title"], [""], program.read(layer))
        extractor = pv.CreateExtractor("PNG", self._view, registrationName=f"{program.channel} image")
        extractor.Trigger = "TimeStep"
        extractor.Writer.FileName = f"{program.channel}_{field}_{{timestep:06d}}{{camera}}.png"
        extractor.Writer.ImageResolution = SIZE

    def refresh(self) -> None:
        """Updates the colours to the current ranges, and the title to the current step."""
        about = self._program.arrays(self._layer)[self._field]
        colour(self._display, self._view, self._field, about)
        known = self._program.description
        self._title.Expression = quoted(f"{about['title']}\n{known['run']}, {known['step']}")
