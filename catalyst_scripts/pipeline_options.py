# SPDX-License-Identifier: BSD-3-Clause
"""The options of all pipelines, with one meaning in each of their hosts.

In the program and in `perfield follow` they are the keys catalyst_* of perfield.toml, in pvbatch options of
the script, and everywhere the environment's PERFIELD_CATALYST_*. Loads nothing of ParaView or perfield.
"""

from __future__ import annotations

import argparse
import difflib
import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Vector = tuple[float, float, float]

# Directions of view and what is up in the image, on the mesh and on the machine, whose nodes lie along z.
CAMERAS: dict[str, dict[str, tuple[Vector, Vector]]] = {
    "front": {"geometry": ((0, 1, 0), (0, 0, 1)), "topology": ((0, 0, -1), (0, 1, 0))},
    "side": {"geometry": ((-1, 0, 0), (0, 0, 1)), "topology": ((-1, 0, 0), (0, 1, 0))},
    "top": {"geometry": ((0, 0, -1), (0, 1, 0)), "topology": ((0, -1, 0), (0, 0, -1))},
    "iso": {"geometry": ((-1, 1, -1), (0, 0, 1)), "topology": ((-0.5, -0.7, -1), (0, 1, 0))},
}
LAYERS = {  # of each picture, those that a field can colour
    "geometry": ("geometry", "messages"),
    "topology": tuple(
        f"topology/{name}"
        for name in (
            *("measurements", "ranks", "machine", "messages", "switches", "devices"),
            *("collectives", "threads"),
        )
    ),
}
PICTURES = tuple(LAYERS)
PIPELINES = ("geometry", "topology", "both", "images_only", "extracts_only", "live")  # perfield's own
LEAST, MOST = 160, 16384  # pixels of an image's side


class OptionError(ValueError):
    """An option has a value that it cannot have; the text says what to give."""

    is_known = True  # the text explains it, no traceback needed


@dataclass(frozen=True)
class Camera:
    """Where the camera is: a word, or a place: position, focus, up."""

    word: str = "auto"
    place: tuple[Vector, Vector, Vector] | None = None


@dataclass(frozen=True)
class Options:
    """The values of the options.

    every : show each Nth step. fields : names of arrays, or of the simulation's own fields; () for the first
    field. cameras : by picture. size : of an image, in pixels. live : host:port.
    """

    every: int = 1
    fields: tuple[str, ...] = ()
    cameras: tuple[tuple[str, Camera], ...] = ()
    size: tuple[int, int] = (1280, 720)
    live: str = ""

    def camera(self, picture: str) -> Camera:
        """Where the camera of a picture is: "geometry" or "topology"."""
        return dict(self.cameras).get(picture, Camera())


@dataclass(frozen=True)
class Option:
    """A row of the table: what the user writes, and how it is read. default, help : as in keys.def."""

    name: str
    value: str
    default: str
    help: str
    read: Callable[[str], Any]
    is_list: bool = False


def _every(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise OptionError(f"'{text}' is not a number of steps; give 1 for each step, or 10 for one in 10")
    return number


def _fields(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_listed(text)))


def _cameras(text: str) -> tuple[tuple[str, Camera], ...]:
    found: dict[str, Camera] = {}
    for entry in _listed(text):
        picture, colon, words = entry.partition(":")
        if not colon:
            found |= dict.fromkeys(PICTURES, _camera(entry))
        elif picture.strip() in PICTURES:
            found[picture.strip()] = _camera(words.strip())
        else:
            advice = nearest(picture, PICTURES) or f"expected {' or '.join(PICTURES)}"
            raise OptionError(f"'{entry}': there is no picture '{picture}'; {advice}")
    return tuple(found.items())


def _camera(text: str) -> Camera:
    words = ("auto", *CAMERAS)
    if text in words:
        return Camera(text)
    if ";" not in text:
        advice = nearest(text, words)
        raise OptionError(
            f"'{text}' is no camera; {advice + ' Expected' if advice else 'expected'} {', '.join(words)}, or "
            'a place, "position;focus;up", as in "4 3 2; 0 0 0; 0 0 1"'
        )
    try:
        position, focus, up = (_vector(part) for part in text.split(";"))
    except ValueError as error:
        raise OptionError(
            f"'{text}' is no place of a camera; expected \"position;focus;up\", three numbers each, as in "
            '"4 3 2; 0 0 0; 0 0 1"'
        ) from error
    forward = [b - a for a, b in zip(position, focus)]
    across = [forward[n - 2] * up[n - 1] - forward[n - 1] * up[n - 2] for n in range(3)]
    if math.hypot(*across) <= 1e-9 * math.hypot(*forward) * math.hypot(*up):
        raise OptionError(f"'{text}': the camera looks nowhere, or along its own up; change one of the three")
    return Camera("", (position, focus, up))


def _vector(text: str) -> Vector:
    x, y, z = map(float, text.split())
    if not all(map(math.isfinite, (x, y, z))):
        raise ValueError(text)
    return x, y, z


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    try:
        size = int(width), int(height)
    except ValueError:
        size = 0, 0
    if not all(LEAST <= length <= MOST for length in size):
        raise OptionError(
            f"'{text}' is no size of an image; give its width and height in pixels, each {LEAST} to {MOST}: "
            "1280x720"
        )
    return size


def _listed(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


TABLE = (
    Option("every", "N", "1", "show every Nth step", _every),
    Option(
        "fields",
        "NAMES",
        "",
        "fields for images and extracts, as `perfield fields` names them; empty: images of compute time, and "
        "extracts of all",
        _fields,
        is_list=True,
    ),
    Option(
        "camera",
        "CAMERA",
        "auto",
        'auto, front, side, top or iso; or a place, "position;focus;up", as in "4 3 2; 0 0 0; 0 0 1"; '
        "topology:front is for the machine's picture alone",
        _cameras,
        is_list=True,
    ),
    Option("size", "WxH", "1280x720", "width and height of images in pixels", _size),
    Option("live", "HOST:PORT", "", "where ParaView waits for the program (Catalyst > Connect)", str),
)


def from_settings(settings: Mapping[str, Any]) -> Options:
    """The options in the program and in `perfield follow`. settings : keys without catalyst_; others are
    left alone, and missing ones have their default. Raises OptionError."""
    given = {option.name: settings[option.name] for option in TABLE if option.name in settings}
    return _options(given, lambda name: f"catalyst_{name}")


def from_environment() -> Options:
    """The options that the environment's PERFIELD_CATALYST_* give. Raises OptionError."""
    return _options({option.name: os.environ.get(_variable(option.name), "") for option in TABLE}, _variable)


def from_arguments(words: Sequence[str], description: str) -> tuple[Options, argparse.Namespace]:
    """The options of a script in pvbatch, before those of the environment; and where pictures are.

    words : the command line without the script's name. Raises OptionError, and SystemExit as argparse does.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    place = os.environ.get("PERFIELD_PICTURES", "perfield-run/pictures")
    parser.add_argument("pictures", nargs="?", default=place, help=f"what `perfield render` wrote ({place})")
    for option in TABLE:
        parser.add_argument(f"--{option.name}", metavar=option.value, help=option.help)
    parser.add_argument("--output", metavar="DIR", help="where to write (PICTURES/pipeline)")
    arguments = parser.parse_args(words)
    chosen = {name: value for name, value in vars(arguments).items() if value is not None}
    given = {
        option.name: chosen.get(option.name, os.environ.get(_variable(option.name), "")) for option in TABLE
    }
    return _options(given, lambda name: f"--{name}" if name in chosen else _variable(name)), arguments


def _variable(name: str) -> str:
    return f"PERFIELD_CATALYST_{name.upper()}"


def _options(given: Mapping[str, Any], where: Callable[[str], str]) -> Options:
    """where : names an option as the user wrote it."""
    found: dict[str, Any] = {}
    for option in TABLE:
        value = given.get(option.name, "")
        text = ",".join(value) if isinstance(value, (list, tuple)) else str(value)
        try:
            read = option.read(text or option.default)
        except OptionError as error:
            raise OptionError(f"{where(option.name)}: {error}") from error
        found["cameras" if option.name == "camera" else option.name] = read
    return Options(**found)


def nearest(name: str, known: Collection[str]) -> str:
    """The words "did you mean X?" with the known name nearest to a wrong one; "" if none is near."""
    match = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {match[0]}?" if match else ""


def layer_of(layers: Mapping[str, Any], picture: str, field: str) -> str:
    """The layer of a picture that a field colours; "" if none has it. layers : those of pictures.json."""
    having = (layer for layer in LAYERS[picture] if field in layers.get(layer, {}).get("arrays", {}))
    return next(having, "")


def ended(text: str) -> str:
    """A text with a full stop, unless it ends with a mark of its own."""
    return text if text.endswith(("?", ".")) else f"{text}."


def unknown(fields: Collection[str], known: Collection[str]) -> list[str]:
    """Words for each name in `fields` that is not known, with the nearest one that is."""
    wrong = [name for name in fields if name not in known]
    advice = {name: nearest(name, known) or "`perfield fields RUN` lists those of a run" for name in wrong}
    return [f"there is no field '{name}' here; {advice[name]}" for name in wrong]
