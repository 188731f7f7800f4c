# SPDX-License-Identifier: BSD-3-Clause
"""A pipeline inside the measured program or `perfield follow`: extracts, images and a live connection."""

from __future__ import annotations

from typing import Any

import paraview.simple as pv
from pipeline_options import PICTURES, ended, from_settings, layer_of, unknown
from reduced import reduced
from scene import Pictures, new_view
from shown import Shown

LIVE = "localhost:22222"  # where ParaView waits by default


class Program(Pictures):
    """Channels of the running program, in place of written pictures.

    names : of the channels. makes : as for `pipeline_hosts.run`. catalyst : Catalyst's options.
    """

    layout = "flat"

    def __init__(self, names: tuple[str, ...], makes: str):
        from paraview import catalyst

        from perfield.catalyst.pipelines import settings

        self._names, self.settings = names, settings
        self.options = from_settings(settings)
        self._draws = settings["images"] and makes in ("", "images")
        self._sources = {name: pv.PVTrivialProducer(registrationName=name) for name in names}
        self._images: dict[tuple[str, str], Image] = {}
        self._has_warned = False
        self.catalyst = catalyst.Options()
        self.catalyst.GlobalTrigger = "TimeStep"
        self.catalyst.ExtractsOutputDirectory = settings["folder"]
        self._connect(settings["live"] or (LIVE if makes == "live" else ""))
        self._writes = makes == "extracts" or (not makes and settings["extracts"])
        self._extracted: set[str] = set()

    @property
    def description(self) -> dict[str, Any]:
        """The content of pictures.json for the steps so far."""
        return self.settings["description"]

    def read(self, name: str) -> Any:
        """A channel that the program fills."""
        return self._sources[name]

    def _connect(self, live: str) -> None:
        """Lets ParaView connect. live : host:port; "" for no connection."""
        self.settings["live"] = ""  # one connection serves all pipelines
        if live:
            self.catalyst.EnableCatalystLive = 1
            self.catalyst.CatalystLiveURL = live
            self.catalyst.CatalystLiveTrigger = "TimeStep"
            for other in PICTURES:  # ParaView sees only sources that exist when it connects
                if other not in self._names:
                    pv.PVTrivialProducer(registrationName=other)

    def _extract(self) -> None:
        """Writes the channels from now on; the mesh once a rank has one, as VTK cannot write nothing."""
        for name, source in self._sources.items():
            if name in self._extracted or (name == "geometry" and not self.settings["has_mesh"]):
                continue
            self._extracted.add(name)
            few = reduced(source, [self.array_of(field) for field in self.options.fields], name)
            extractor = pv.CreateExtractor("VTM", few, registrationName=name)
            extractor.Trigger = "TimeStep"
            extractor.Writer.FileName = f"{name}_{{timestep:06d}}.vtm"
            extractor.Writer.DataMode = "Binary"  # Debian 12's VTK cannot read appended data
            extractor.Writer.CompressorType = "ZLib"

    def step(self, info: Any) -> None:
        """Updates colours and titles to the current step, and draws what appears in it. info : Catalyst's."""
        if self.options.fields and not self._has_warned:
            self._warn_of_unknown()
        if self._writes:
            self._extract()
        if not self._draws:
            return
        for name in self._names:
            for field in map(self.array_of, self.options.fields or [self.first_field()]):
                layer = layer_of(self.description["layers"], name, field)
                if layer and (name, field) not in self._images:
                    self._images[name, field] = Image(self, name, layer, field)
        for image in self._images.values():
            image.refresh()

    def _warn_of_unknown(self) -> None:
        """Warns, before anything is drawn, of fields that this step does not have."""
        self._has_warned = True
        known = self.known(*self._names) | set(self.description["own_fields"].values())
        for sentence in unknown(self.options.fields, known):
            words = f"catalyst_fields: {ended(sentence)} It is shown as soon as a step has it"
            self.settings["warn"]("catalyst-fields", words)


class Image:
    """A view that is saved at each step. Its colours span the range of all steps so far."""

    def __init__(self, program: Program, name: str, layer: str, field: str):
        size = program.options.size
        view = new_view(alone=True)
        view.ViewSize = size
        self._shown = Shown(program, view, name, layer, field)
        extractor = pv.CreateExtractor("PNG", view, registrationName=f"{name} {field}")
        extractor.Trigger = "TimeStep"
        extractor.Writer.FileName = f"{name}_{field}_{{timestep:06d}}{{camera}}.png"
        extractor.Writer.ImageResolution = size

    def refresh(self) -> None:
        """Updates the colours to the current ranges, and the title to the current step."""
        self._shown.refresh()
