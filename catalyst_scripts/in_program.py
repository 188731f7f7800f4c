# SPDX-License-Identifier: BSD-3-Clause
"""A pipeline inside the measured program, as perfield.toml wants it: extracts, images, a live connection."""

from __future__ import annotations

import paraview.simple as pv

PIPELINE = "perfield_pipeline_"  # how perfield calls the modules that it gives to Catalyst


def is_pipeline(module: str) -> bool:
    """Whether a script, by its __name__, is run by Catalyst inside the program."""
    return module.startswith(PIPELINE)


class Program:
    """What a pipeline may ask of the program around it.

    channel : "geometry" or "topology"; source : what it holds. options : of Catalyst.
    """

    def __init__(self, channel: str):
        from paraview import catalyst

        from perfield.catalyst.pipelines import settings

        self.channel = channel
        self.settings = settings
        self.source = pv.PVTrivialProducer(registrationName=channel)
        self.options = catalyst.Options()
        self.options.GlobalTrigger = "TimeStep"
        self.options.ExtractsOutputDirectory = settings["folder"]
        live = settings.pop("live", "")  # one connection serves all pipelines
        if live:
            self.options.EnableCatalystLive = 1
            self.options.CatalystLiveURL = live
            self.options.CatalystLiveTrigger = "TimeStep"

    def extract(self, kind: str, extension: str) -> None:
        """Writes the channel at each step, if that is wanted."""
        if not self.settings["extracts"]:
            return
        extractor = pv.CreateExtractor(kind, self.source, registrationName=self.channel)
        extractor.Trigger = "TimeStep"
        extractor.Writer.FileName = f"{self.channel}_{{timestep:06d}}.{extension}"
