# SPDX-License-Identifier: BSD-3-Clause
"""Makes white views with a title and a fitting camera, and reads the pictures of a run.

`perfield render` wrote the pictures to a directory; pictures.json there holds titles and ranges.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from colours import TEXT, font_size
from drawing import pv
from layouts import DEFAULT, LAYOUTS
from pictures_json import FILE, read_description
from pipeline_options import CAMERAS, OptionError, Options, from_environment, nearest
from processes import on_first
from safe_open import safe_read
from ticks import amount, unit_of

ANGLE = 30.0  # degrees that an image is high, seen from a camera at a given place; ParaView's own
FREE = (0.03, 0.76, 0.04, 0.85)  # left, right, bottom, top of the area without title and legend


class Pictures:
    """The pictures of a run: `path` of the directory, `description` from its pictures.json.

    options : of the pipeline that shows them. Raises OptionError if pictures.json is damaged, or OSError.
    """

    options = Options()

    def __init__(self, path: Path, options: Options = options):
        self.path, self.options = path, options
        try:
            self.description = read_description(safe_read(path / FILE, path))
        except ValueError as error:
            raise OptionError(f"{path / FILE} {error}") from error
        self._readers: dict[str, Any] = {}

    @classmethod
    def from_environment(cls) -> Pictures:
        """The pictures in the directory PERFIELD_PICTURES, by default perfield-run/pictures.

        Raises OptionError if an option in the environment is wrong.
        """
        return cls(Path(os.environ.get("PERFIELD_PICTURES", "perfield-run/pictures")), from_environment())

    @property
    def layout(self) -> str:
        """How the nodes of the machine are arranged: as PERFIELD_LAYOUT says, or as the pictures were
        written; flat if these name no layout of LAYOUTS.

        "" in an overview, which has no nodes to arrange. Raises OptionError for a wrong PERFIELD_LAYOUT.
        """
        written = self.description.get("layout", DEFAULT)
        if not written:
            return ""
        requested = os.environ.get("PERFIELD_LAYOUT") or ""
        if requested and requested not in LAYOUTS:
            advice = nearest(requested, LAYOUTS) or f"expected {', '.join(LAYOUTS)}"
            raise OptionError(f"PERFIELD_LAYOUT: there is no layout '{requested}'; {advice}")
        return requested or (written if written in LAYOUTS else DEFAULT)

    def read(self, name: str) -> Any:
        """The reader of a series, made once: "geometry", "messages" or "topology"."""
        if name not in self._readers:
            reader = pv.PVDReader(registrationName=name, FileName=str(self.path / f"{name}.pvd"))
            reader = reader if name == "geometry" else on_first(reader)
            reader.UpdatePipeline()
            self._readers[name] = reader
        return self._readers[name]

    def arrays(self, layer: str) -> dict[str, dict[str, Any]]:
        """The descriptions in pictures.json of a layer's arrays, by name.

        layer : "geometry", "messages", "topology/ranks", ... Arrays that were never measured are missing.
        """
        return self.description["layers"].get(layer, {}).get("arrays", {})

    def bounds(self, name: str) -> tuple[float, ...]:
        """The box around a series over all steps, x0 to z1."""
        layers = self.description["layers"].items()
        boxes = [about["bounds"] for layer, about in layers if layer.partition("/")[0] == name]
        boxes = [box for box in boxes if box] or [[0.0, 1.0] * 3]
        return tuple((min, max)[end % 2](box[end] for box in boxes) for end in range(6))

    def known(self, *pictures: str) -> set[str]:
        """The names of all arrays that some pictures have ("geometry", ...), or all of them."""
        layers = self.description["layers"].items()
        return {
            name
            for layer, about in layers
            for name in about["arrays"]
            if not pictures or layer.partition("/")[0] in pictures
        }

    def array_of(self, field: str) -> str:
        """The array of a field; a field of the simulation may have its own name."""
        own = {name: array for array, name in self.description["own_fields"].items()}
        return own.get(field, field)

    def first_field(self, layer: str = "") -> str:
        """The field to show first: of the options' fields the first that a layer has (that any has), else
        what it costs each rank to compute. Raises OptionError if no layer has any of them."""
        known = set(self.arrays(layer)) if layer else self.known()
        requested = [name for name in map(self.array_of, self.options.fields) if name in known]
        known |= self.known()
        for name in [*requested, "compute_time_s", "step_time_s", "rank"]:
            if name in known:
                return name
        raise OptionError(
            f"{self.path / FILE} describes no times and no ranks; `perfield render RUN` writes it again"
        )

    def titles(self, layer: str = "", field: str = "", one_scale: bool = False) -> list[str]:
        """Lines for each step that name the run and the step, and what of a layer is older than the step.

        field : an array of the layer; the lines say where its values go beyond the scale of its colours.
        one_scale : no step has colours of its own.
        """
        return [self._title(step, layer, field, one_scale) for step in self.description["steps"]]

    def _title(self, step: dict[str, Any], layer: str, field: str, one_scale: bool) -> str:
        notes = []
        if layer in ("geometry", "messages"):
            notes += [self.description.get("mesh_way", ""), step["mesh_age"]]
            notes.append(step["fields_age"] if field in self.description["own_fields"] or not field else "")
        about = self.arrays(layer).get(field, {})
        beyond = about.get("beyond", {}).get(str(step["frame"]))
        if beyond:
            factor, unit = unit_of(about)
            own = "a scale of its own, " if beyond["scale"] and not one_scale else ""
            peak = f"{amount(beyond['peak'] * factor)} {unit}".rstrip()
            notes.append(f"{own}beyond the scale: up to {peak}")
        line = f"{self.description['run']}, {step['title']}"
        return "\n".join([line, *[", ".join(filter(None, notes))] * any(notes)])


def new_view(beside: Any = None, alone: bool = False) -> Any:
    """Makes a white view with parallel projection; beside : puts it at the right of this view.

    alone : always make a new, empty view, even if another pipeline has made one.
    """
    if beside is not None:
        view = _split(beside)
    else:
        view = pv.CreateRenderView() if alone else pv.GetActiveViewOrCreate("RenderView")
    view.UseColorPaletteForBackground = 0
    view.BackgroundColorMode = "Single Color"
    view.Background = (1.0, 1.0, 1.0)
    view.OrientationAxesLabelColor = TEXT
    view.OrientationAxesVisibility = 0
    view.CameraParallelProjection = 1
    return view


def set_title(view: Any, heading: str, lines: list[str], source: Any) -> Any:
    """Writes a heading and a line below it at the upper left; returns the title's proxy.

    lines : one per time of the source, so the line changes with the view's time; or a single line.
    """
    title = pv.PythonAnnotation(registrationName="title", Input=source, ArrayAssociation="Field Data")
    write_title(title, heading, lines)
    _put_at_title(title, view)
    return title


def text_title(view: Any) -> Any:
    """An empty text at the place of the title, for one who draws one step after the other."""
    title = pv.Text(registrationName="title")
    _put_at_title(title, view)
    return title


def _put_at_title(title: Any, view: Any) -> None:
    display = pv.Show(title, view, "TextSourceRepresentation")
    display.WindowLocation = "Any Location"
    display.Position = [0.02, 0.88]
    display.Justification = "Left"
    display.Color = TEXT
    display.LineSpacing = 1.3
    display.FontSize = font_size(view, 26)


def write_title(title: Any, heading: str, lines: list[str]) -> None:
    """Changes the words of a title that `set_title` made."""
    texts = [f"{heading}\n{line}" for line in lines]
    title.Expression = f"[{', '.join(map(quoted, texts))}][t_index]" if len(texts) > 1 else quoted(texts[0])


def quoted(text: str) -> str:
    """A text as an expression of ParaView's, in which it is nothing but a text.

    Only ASCII's letters and digits stay as they are, so no character of the text can end the literal, and
    ParaView cannot divide it at the word "and".
    """
    return f"'{''.join(map(_escaped, literal(text)))}'"


def literal(text: str) -> str:
    """A text that VTK shows as it is: a dollar begins no formula, and what cannot be shown becomes U+FFFD."""
    return "".join(c if c == "\n" or c.isprintable() else "\ufffd" for c in text).replace("$", "\\$")


def _escaped(character: str) -> str:
    return character if character.isascii() and character.isalnum() else f"\\U{ord(character):08x}"


@contextlib.contextmanager
def panels_at_rest() -> Iterator[None]:
    """Makes sources in the GUI without making each one active, as its panels would be built anew each time.

    That is a third of the time that a picture takes. No source is active at the end.
    """
    active = pv.servermanager.ProxyManager().GetSelectionModel("ActiveSources")
    if active is None:  # ParaView without a GUI
        yield
        return

    def rest(*_: Any) -> None:
        if active.GetCurrentProxy() is not None:
            active.SetCurrentProxy(None, active.CLEAR_AND_SELECT)

    first = 1.0  # priority over the panels
    tag = active.AddObserver("CurrentChangedEvent", rest, first)
    try:
        yield
    finally:
        active.RemoveObserver(tag)


def at_first_step(views: list[Any], source: Any) -> None:
    """Puts the GUI at the first step, fills its time controls, selects a source and draws all views."""
    scene = pv.GetAnimationScene()
    scene.UpdateAnimationUsingDataTimeSteps()
    scene.GoToFirst()
    pv.SetActiveView(views[0])
    pv.SetActiveSource(source)
    pv.RenderAllViews()


def aim(
    view: Any,
    pictures: Pictures,
    picture: str,
    corners: list[Any],
    default: tuple[Any, Any],
    area: tuple[float, float, float, float],
) -> None:
    """Points the camera at a picture, as its options ask for.

    picture : "geometry" or "topology". default : the direction, and what is up, where they ask for none.
    corners, area : as for `fit_points`, which a camera at a given place does without.
    """
    camera = pictures.options.camera(picture)
    if camera.place is None:
        direction, up = CAMERAS[camera.word][picture] if camera.word in CAMERAS else default
        fit_points(view, corners, direction, up, area)
        return
    view.CameraPosition, view.CameraFocalPoint, view.CameraViewUp = map(list, camera.place)
    away = math.dist(*camera.place[:2])
    view.CameraParallelScale = away * math.tan(math.radians(ANGLE / 2))


def fit_points(
    view: Any,
    corners: list[tuple[float, float, float]],
    direction: tuple[float, float, float],
    up: tuple[float, float, float],
    free: tuple[float, float, float, float],
) -> None:
    """Points the camera along `direction` so that some points of space just fill an area of the view.

    free : left, right, bottom and top of the area, as fractions of the view.
    """
    forward = _unit(direction)
    right = _unit(_cross(forward, up))
    above = _cross(right, forward)
    across = [_dot(corner, right) for corner in corners]
    along = [_dot(corner, above) for corner in corners]
    left, r, bottom, top = free
    aspect = view.ViewSize[0] / view.ViewSize[1]
    height = max(
        (max(across) - min(across)) / ((r - left) * aspect), (max(along) - min(along)) / (top - bottom), 1e-12
    )
    middle_right = (max(across) + min(across)) / 2 - ((left + r) / 2 - 0.5) * height * aspect
    middle_above = (max(along) + min(along)) / 2 - ((bottom + top) / 2 - 0.5) * height
    depths = [_dot(corner, forward) for corner in corners]
    middle = (max(depths) + min(depths)) / 2
    focus = [middle_right * right[n] + middle_above * above[n] + middle * forward[n] for n in range(3)]
    distance = 2 * (max(depths) - min(depths)) + height
    view.CameraFocalPoint = focus
    view.CameraPosition = [focus[n] - distance * forward[n] for n in range(3)]
    view.CameraViewUp = above
    view.CameraParallelScale = height / 2


def _split(beside: Any) -> Any:
    layout = pv.GetLayout(beside)
    free = layout.SplitViewHorizontal(view=beside)
    view = pv.CreateRenderView()
    pv.AssignViewToLayout(view=view, layout=layout, hint=free)
    return view


def _dot(a: Any, b: Any) -> float:
    return sum(x * y for x, y in zip(a, b))


def _cross(a: Any, b: Any) -> tuple[float, float, float]:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _unit(a: Any) -> tuple[float, ...]:
    length = _dot(a, a) ** 0.5
    return tuple(x / length for x in a)
