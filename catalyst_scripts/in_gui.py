# SPDX-License-Identifier: BSD-3-Clause
"""A pipeline in ParaView's GUI: shows written pictures, coloured by the same field, at the same step."""

from __future__ import annotations

from typing import Any

import machine_picture
import mesh_picture
import paraview.simple as pv
import picks
from follow import follow
from pipeline_options import Options, ended, unknown
from processes import is_here
from reduced import reduced
from scene import Pictures, at_first_step, new_view, panels_at_rest

SHOW = {"geometry": mesh_picture.open_in, "topology": machine_picture.open_in}


def show(names: tuple[str, ...], makes: str) -> None:
    """Opens pictures side by side. names, makes : as for `pipeline_hosts.run`; extractors of images or data
    write when the user chooses File > Save Extracts."""
    pictures = Pictures.from_environment()
    options = pictures.options
    own = pictures.description["own_fields"].values()
    for sentence in unknown(options.fields, pictures.known() | set(own)):
        print(f"PERFIELD_CATALYST_FIELDS: {ended(sentence)}")
    views = [new_view()]
    views += [new_view(beside=views[-1]) for _ in names[1:]]
    if options.size != Options.size:
        pv.GetLayout(views[0]).PreviewMode = [len(names) * options.size[0], options.size[1]]
    pv.RenderAllViews()  # sets the sizes of the views
    with panels_at_rest():
        shown = [SHOW[name](view, pictures) for name, view in zip(names, views)]
    at_first_step(views, shown[0])
    if options.every > 1:
        pv.GetAnimationScene().Stride = options.every
    follow(views, pictures)
    if is_here():  # a pvserver has the data that picks look at
        picks.link(views, pictures)
    if makes == "images":
        for name, view in zip(names, views):
            _extractor("PNG", view, name, options).Writer.ImageResolution = options.size
    elif makes == "extracts":
        for name in names:
            arrays = [pictures.array_of(field) for field in options.fields]
            writer = _extractor("VTM", reduced(pictures.read(name), arrays, name), name, options).Writer
            writer.DataMode, writer.CompressorType = "Binary", "ZLib"


def _extractor(kind: str, source: Any, name: str, options: Options) -> Any:
    extractor = pv.CreateExtractor(kind, source, registrationName=f"{kind} of {name}")
    extractor.Trigger = "TimeStep"
    extractor.Trigger.Frequency = options.every
    ending = "{camera}.png" if kind == "PNG" else ".vtm"
    extractor.Writer.FileName = f"{name}_{{timestep:06d}}{ending}"
    return extractor
