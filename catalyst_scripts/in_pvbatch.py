# SPDX-License-Identifier: BSD-3-Clause
"""A pipeline in pvbatch: draws images of written pictures, or writes extracts of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import images
import paraview.simple as pv
from owned_folder import OwnedFolder
from pipeline_options import OptionError, Options, layer_of, unknown
from reduced import reduced
from scene import Pictures


def make(path: Path, names: tuple[str, ...], makes: str, options: Options, output: str | None) -> None:
    """Makes what a pipeline says of the pictures in `path`, and prints each file.

    names, makes : as for `pipeline_hosts.run`. output : the folder of the files; None: pipeline/ in `path`.
    Raises OptionError if there are no such pictures or fields, and NotOursError.
    """
    try:
        pictures = Pictures(path, options)
    except (OSError, ValueError) as error:
        raise OptionError(
            f"{path} holds no pictures ({error}); write them with `perfield render RUN` and give RUN/pictures"
        ) from error
    there = {layer.partition("/")[0] for layer in pictures.description["layers"]}
    names = tuple(name for name in names if name in there)
    if not names:
        raise OptionError(f"{path} holds no such picture, only {', '.join(sorted(there)) or 'none'}")
    layers, own = pictures.description["layers"], pictures.description["own_fields"].values()
    known = {name for name in pictures.known() if any(layer_of(layers, picture, name) for picture in names)}
    wrong = unknown(options.fields, known | set(own))
    if wrong:
        raise OptionError("; ".join(wrong))
    place = Path(output) if output else path / "pipeline"
    if place.exists() and place.samefile(path):
        raise OptionError(f"--output: {place} holds the pictures themselves; choose another folder")
    steps = pictures.description["steps"][:: options.every]
    folder = OwnedFolder(place)
    if makes == "extracts":
        for name in names:
            _extract(pictures, name, steps, folder)
    else:
        _draw(pictures, names, steps, folder)


def _draw(
    pictures: Pictures, names: tuple[str, ...], steps: list[dict[str, Any]], folder: OwnedFolder
) -> None:
    planned = []
    for field in map(pictures.array_of, pictures.options.fields or [pictures.first_field()]):
        for name in names:
            layer = layer_of(pictures.description["layers"], name, field)
            if layer:
                files = [f"{name}_{field}_{step['frame']:06d}.png" for step in steps]
                about = {"layer": layer, "field": field, "focus": None, "static": False}
                planned.append({**about, "steps": steps, "files": files})
    chosen = [(number, place) for number in range(len(planned)) for place in range(len(steps))]
    for file in (file for image in planned for file in image["files"]):
        folder.check(file)
    with folder.stage() as place:

        def drawn(file: str) -> None:
            folder.take(place / file, file)
            print(file, flush=True)

        images.draw(pictures, planned, chosen, place, drawn=drawn)


def _extract(pictures: Pictures, name: str, steps: list[dict[str, Any]], folder: OwnedFolder) -> None:
    """Writes a picture's steps as .vtm files, and a .pvd that lists them."""
    arrays = [pictures.array_of(field) for field in pictures.options.fields]
    few = reduced(pictures.read(name), arrays, name)
    listed = []
    for step in steps:
        file = f"{name}_{step['frame']:06d}.vtm"
        folder.check(file)
        few.UpdatePipeline(step["shown_at"])
        with folder.stage() as place:
            pv.SaveData(str(place / file), proxy=few, DataMode="Binary", CompressorType="ZLib")
            parts = [part.relative_to(place) for part in place.rglob("*") if part.is_file()]
            for part in sorted(parts, key=lambda part: -len(part.parts)):  # the .vtm last
                folder.take(place / part, part.as_posix())
        listed.append(f'<DataSet timestep="{step["shown_at"]!r}" part="0" file="{file}"/>')
        print(file, flush=True)
    lines = [
        '<VTKFile type="Collection" version="0.1">',
        "<Collection>",
        *listed,
        "</Collection>",
        "</VTKFile>",
    ]
    folder.write(f"{name}.pvd", "\n".join(lines) + "\n")
