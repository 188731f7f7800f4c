# SPDX-License-Identifier: BSD-3-Clause
"""The geometry picture: values on the simulation's mesh, and messages between its pieces."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from copy import copy
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from arrows import show_arrows
from colours import ABSENT, OUTLINE, PALETTE, TEXT, colour, plain
from cuts import Plane, is_flat
from drawing import pv
from mesh_values import OFFSET, MeshValues, highest
from mesh_views import FACTORS, Chooser, MeshView
from outliers import in_words, named, outliers
from scene import FREE, Pictures, aim, set_title

if TYPE_CHECKING:
    from hidden import Sight

DIRECTION, UP = (-1.0, 0.75, -0.6), (0.0, 0.0, 1.0)
FLAT_DIRECTION, FLAT_UP = (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)
ONTO = (  # a plane perpendicular to x, y and z: direction, and what is up
    ((-1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    (FLAT_DIRECTION, FLAT_UP),
)
PARTITION = 3.0  # width of the pieces' edges on the simulation's own fields
FACE = 7.0  # width of a face between pieces that is seen from its edge
FAINT = 0.08
TRANSLUCENT = 0.15
MOST_CELLS = 20_000  # on the surface whose edges show
CELL_EDGE = (0.35, 0.35, 0.35)
TILE = 10  # pixels in which names avoid the mesh
PLAIN = MeshView()
FOCUS = PALETTE[4]


def show_field(
    pictures: Pictures, view: Any, field: str, way: MeshView = PLAIN, names: Names | None = None
) -> list[Any]:
    """Shows a field on the mesh, with the edges of the pieces in grey; returns all proxies, the mesh last.

    The edges of the cells show, too, where they are not too many: where a mesh is fine is part of the answer.

    way : how to show the mesh. names : takes over the highest ranks, their names and, in front of the
    others, their pieces; None shows no names.
    """
    reader = pictures.read("geometry")
    mesh = exploded(reader, way.factor) if way.kind == "exploded" else reader
    mesh = cut_open(reader, way.plane) if way.plane else mesh
    display = pv.Show(mesh, view)
    display.Representation, display.Interpolation = "Surface", "Flat"
    display.Opacity, display.BackfaceRepresentation = 1.0, "Follow Frontface"  # the last picture may differ
    _light(display)
    if way.plane:
        display.Ambient, display.Diffuse = 1.0, 0.0  # seen from the front, nothing needs shading
    about = pictures.arrays("geometry")[field]
    colour(display, view, field, about)
    opacity, is_own = 0.3 if way.kind == "highest" else 1.0, field in pictures.description["own_fields"]
    # Of boxes in the place of a mesh, the edges of the pieces are those of the cells. The description
    # of a program that still runs has no number of ranks.
    n_ranks = pictures.description.get("n_ranks", 0)
    are_boxes = 0 < reader.GetDataInformation().GetNumberOfCells() <= n_ranks
    lines = (TEXT, PARTITION) if is_own else (TEXT,) if are_boxes else (OUTLINE,)
    made = [*_edges(mesh, view, opacity, *lines), mesh]
    made += [reader] * (mesh is not reader)
    look(pictures, view, way)
    if way.kind == "highest":
        display.Opacity = TRANSLUCENT
        display.BackfaceRepresentation = "Cull Backface"  # else the faces between two pieces flicker
        made = [*_in_front(mesh, view, field, about, names), *made]
    elif not are_boxes and _cells_shown(pictures, reader, way) <= MOST_CELLS:
        display.Representation = "Surface With Edges"
        display.EdgeColor, display.LineWidth = CELL_EDGE, 0.4
    return made


def _cells_shown(pictures: Pictures, mesh: Any, way: MeshView) -> float:
    """About how many cells of a mesh lie on its surface, or in a plane."""
    n_cells = mesh.GetDataInformation().GetNumberOfCells()
    if way.plane:
        return n_cells ** (2 / 3)
    return n_cells if is_flat(pictures.bounds("geometry")) else 6 * n_cells ** (2 / 3)


def exploded(mesh: Any, factor: float) -> Any:
    """The mesh with its pieces moved apart. factor : 1 doubles the distances between their middles."""
    apart = pv.WarpByVector(registrationName="exploded view", Input=mesh)
    apart.Vectors = ["POINTS", OFFSET]
    apart.ScaleFactor = factor
    return apart


def cut_open(mesh: Any, plane: Plane) -> Any:
    """What a plane shows of the mesh; without ghosts, which would cover other ranks' cells."""
    cut = pv.Slice(registrationName="cut", Input=mesh)
    cut.SliceType.Origin, cut.SliceType.Normal = plane.origin, plane.normal
    cut.Triangulatetheslice = 0
    return pv.RemoveGhostInformation(registrationName="cut without ghosts", Input=cut)


def are_faces(pictures: Pictures) -> bool:
    """Whether messages are on the faces between pieces, not lines."""
    return "source" not in pictures.arrays("messages")


def show_messages(pictures: Pictures, view: Any, field: str) -> list[Any]:
    """Shows the faces or lines between pieces that communicate, and the pieces faintly around them.

    Returns all proxies, the faces or lines last.
    """
    mesh, messages = pictures.read("geometry"), pictures.read("messages")
    _faint(mesh, view)
    if are_faces(pictures):
        tubes, display = [], pv.Show(messages, view)
        _light(display)
        display.Interpolation, display.LineWidth = "Flat", FACE
        if is_flat(pictures.bounds("geometry")):  # the faces are seen from their edges
            display.Representation = "Wireframe"
    else:
        tube, display = show_arrows(messages, view)
        tubes = [tube]
    colour(display, view, field, pictures.arrays("messages")[field])
    look(pictures, view, area=(*FREE[:2], 0.08, FREE[3]))  # below are words
    return [*tubes, *_edges(mesh, view, 0.25), mesh, messages]


def show_focus(pictures: Pictures, view: Any, field: str, focus: int) -> list[Any]:
    """Shows one rank in orange, the ranks that exchange something with it, and all others faintly."""
    mesh = pictures.read("geometry")
    about, of_ranks = (pictures.arrays("geometry")[name] for name in (field, "rank"))
    _faint(mesh, view)
    peers = _between(mesh, about["association"], field, *about["range"])
    display = pv.Show(peers, view)
    _light(display)
    display.Opacity = 0.5  # the chosen rank is often behind these
    colour(display, view, field, about)
    chosen = _between(mesh, of_ranks["association"], "rank", focus, focus)
    piece = pv.Show(chosen, view)
    plain(piece, FOCUS)
    _light(piece)
    outline = _edges(chosen, view, 1.0, FOCUS, 5.0)
    look(pictures, view)
    return [*outline, *_edges(mesh, view, 0.4), chosen, peers, mesh]


def look(
    pictures: Pictures, view: Any, way: MeshView = PLAIN, area: tuple[float, float, float, float] = FREE
) -> None:
    """Points the camera at the mesh of all steps: from an angle, from above if it is flat, or onto the plane
    of a cut, unless the pipeline's options say otherwise.

    area : left, right, bottom and top of what the mesh may fill, as fractions of the view.
    """
    bounds = shown_bounds(pictures, way)
    corners = list(itertools.product(bounds[0:2], bounds[2:4], bounds[4:6]))
    default = (FLAT_DIRECTION, FLAT_UP) if is_flat(bounds) else (DIRECTION, UP)
    aim(view, pictures, "geometry", corners, ONTO[way.plane.axis] if way.plane else default, area)
    view.UseFXAA = 1  # the last picture may have gone without


def shown_bounds(pictures: Pictures, way: MeshView = PLAIN) -> tuple[float, ...]:
    """The box around the mesh of all steps, exploded or cut; x0 to z1."""
    bounds = pictures.bounds("geometry")
    spread = pictures.description["layers"].get("geometry", {}).get("spread") or [0.0] * 3
    bounds = tuple(end + (-1, 1)[n % 2] * way.factor * spread[n // 2] for n, end in enumerate(bounds))
    return way.plane.within(bounds) if way.plane else bounds


def sight(pictures: Pictures, values: MeshValues) -> Sight:
    """What the camera of `look` sees in images."""
    from hidden import Sight  # draws, which the pipelines inside a program need not

    def camera(way: MeshView) -> SimpleNamespace:
        seen = SimpleNamespace(ViewSize=pictures.options.size)
        look(pictures, seen, way)
        return seen

    return Sight(values, camera)


class Names:
    """Ranks that stand out by a field: names beside their pieces, and if wanted, their pieces in front. On a
    cut, the rank that it goes through carries its name.

    Call `at` after each change of the view's time.
    """

    def __init__(
        self, pictures: Pictures, view: Any, field: str, way: MeshView, values: MeshValues, seen: Sight
    ):
        from labels import Labels

        self._pictures, self._field, self._way, self._values, self._sight = pictures, field, way, values, seen
        bounds = shown_bounds(pictures, way)
        if way.kind == "highest":  # the lines to the names lie before the pieces in front, too
            look(pictures, eye := SimpleNamespace(ViewSize=pictures.options.size))
            bounds = tuple(end + _towards(eye)[n // 2] for n, end in enumerate(bounds))
        self._view, self._labels = view, Labels(view, bounds, dots=True)
        self.front: Any = None  # extracts the pieces in front

    @property
    def proxies(self) -> list[Any]:
        """All sources of the names, for the one who deletes the view."""
        return self._labels.proxies

    def show(self, field: str) -> None:
        """Names the ranks that stand out by another field from now on; "": none."""
        self._field = field
        if not field:
            self._labels.show([])

    def at(self, time: float) -> list[int]:
        """Names the ranks that stand out at a time; returns the ranks in front, or else the named ones."""
        from labels import Label

        if not self._field:
            return self._name_cut(time)
        moment = self._values.at(time)
        of_rank = moment.values[self._field]
        hosts = self._pictures.description["places"]["host"]
        groups = named(of_rank, {rank: hosts[rank] for rank in of_rank if hosts[rank]}, self._field)
        front = (outliers(of_rank, self._field) or highest(of_rank)) if self.front is not None else []
        if self.front is not None:
            self.front.Selectors = [f"/Root/{block}" for rank in front for block in moment.blocks[rank]]
        labels = []
        for group in groups:
            places = (self._place(time, rank, front) for rank in group)
            place, words = next((found for found in places if found[0] is not None), (None, ""))
            if place is not None:
                labels.append(Label(self._text(group, of_rank) + words, tuple(place), -len(labels)))
        self._labels.show(labels, avoid=self._covered(time))
        return front or [rank for group in groups for rank in group]

    def _name_cut(self, time: float) -> list[int]:
        """Names the rank that a cut goes through, also beside a field of the simulation."""
        from labels import Label

        rank = self._way.rank
        place = None if rank is None else self._sight.place(time, rank, self._way)
        if place is None:
            self._labels.show([])
            return []
        self._labels.show([Label(self._name([rank]), tuple(place))], avoid=self._covered(time))
        return [rank]

    def _covered(self, time: float) -> np.ndarray:
        """Boxes (n, 4) in pixels of the view that the mesh covers."""
        image = self._sight.image(time, self._way)
        height, width = (length // TILE * TILE for length in image.shape)
        tiles = (
            (image[:height, :width] >= 0).reshape(height // TILE, TILE, width // TILE, TILE).any(axis=(1, 3))
        )
        row, column = np.nonzero(tiles)
        edges = np.stack([column, column + 1, row, row + 1], axis=1) * TILE
        return edges * (self._view.ViewSize[1] / image.shape[0])

    def _place(self, time: float, rank: int, front: list[int]) -> tuple[Any, str]:
        """Where a rank's name points, and words after it: well within what shows of its piece.

        The place is None if the name would point at another rank.
        """
        if front:
            place = self._sight.place(time, rank, only=front) if rank in front else self._middle(time, rank)
            covered = rank not in front and self._sight.covers(time, place, front)
            return None if covered else place, ""
        place = self._sight.place(time, rank, self._way)
        if place is None and self._way.kind == "plain":
            return self._middle(time, rank), " (hidden)"
        return place, ""

    def _middle(self, time: float, rank: int) -> np.ndarray:
        box = self._values.at(time).boxes[rank]
        return (box[0::2] + box[1::2]) / 2

    def _name(self, group: list[int]) -> str:
        """Name and place of a rank, "rank 3, node0, core 1", or of a node."""
        places = self._pictures.description["places"]
        words = [places["host"][group[0]]]
        if len(group) == 1:
            words = [f"rank {group[0]}", *words, places["core"][group[0]]]
        return ", ".join(filter(None, words))

    def _text(self, group: list[int], of_rank: Mapping[int, float]) -> str:
        """The name, and the value: "rank 3, node0, core 1: 12.5 ms"."""
        about = self._pictures.arrays("geometry")[self._field]
        return self._name(group) + in_words(of_rank, group, about, self._field)


def _in_front(mesh: Any, view: Any, field: str, about: Any, names: Names) -> list[Any]:
    """Shows the highest pieces opaque, moved towards the camera: no other then veils their colours."""
    names.front = pv.ExtractBlock(registrationName="highest ranks", Input=mesh)
    edges = _edges(names.front, view, 1.0, TEXT, 2.0)
    front = pv.Show(edges[-1], view)  # the surface; of a block of several, ParaView leaves out some faces
    front.Representation = "Surface"
    front.Interpolation = "Flat"
    _light(front)
    colour(front, view, field, about)
    for display in (front, pv.GetDisplayProperties(edges[0], view)):
        display.Position = _towards(view)
    return [*edges, names.front]


def _towards(view: Any) -> list[float]:
    """The way of the pieces in front: the camera is two depths of the mesh away from its middle."""
    return [0.6 * (eye - focus) for focus, eye in zip(view.CameraFocalPoint, view.CameraPosition)]


def _light(display: Any) -> None:
    """Reduces shading, so colours stay close to the legend's."""
    display.Ambient, display.Diffuse, display.Specular = 0.85, 0.15, 0.0


def _faint(mesh: Any, view: Any) -> None:
    display = pv.Show(mesh, view)
    display.Representation = "Surface"
    display.BackfaceRepresentation = "Cull Backface"  # else the faces between two pieces flicker
    plain(display, ABSENT, FAINT)


def _edges(mesh: Any, view: Any, opacity: float, rgb: Any = TEXT, width: float = 1.5) -> list[Any]:
    surface = pv.ExtractSurface(registrationName="surface of the pieces", Input=mesh)
    oriented = pv.GenerateSurfaceNormals(registrationName="one side of the pieces", Input=surface)
    oriented.Consistency, oriented.Splitting = (
        1,
        0,
    )  # cells that turn their backs on each other look like edges
    edges = pv.FeatureEdges(registrationName="edges of the pieces", Input=oriented)
    edges.NonManifoldEdges = 0
    display = pv.Show(edges, view)
    plain(display, rgb, opacity)
    display.Ambient, display.Diffuse, display.LineWidth = 1.0, 0.0, width  # a line has no side to shade
    return [edges, oriented, surface]


def _between(mesh: Any, association: str, field: str, low: float, high: float) -> Any:
    chosen = pv.Threshold(Input=mesh)
    chosen.Scalars = [association, field]
    chosen.LowerThreshold, chosen.UpperThreshold = low, high
    chosen.ThresholdMethod = "Between"
    return chosen


def open_in(view: Any, pictures: Pictures) -> Any:
    """Fills a view of the GUI; returns the source that it shows: the mesh, or the mesh exploded.

    The pipeline browser always has the exploded view. It is shown if ranks would be hidden without it.
    """
    field = pictures.first_field("geometry")
    first = [step["shown_at"] for step in pictures.description["steps"][:1]]
    reader, shared = pictures.read("geometry"), copy(pictures)
    shared.read = lambda name: reader  # one mesh in the pipeline browser
    values = MeshValues(shared, [field])
    choice = Chooser(pictures, values, first, sight(pictures, values))
    way = choice.choose(field)
    way = choice.exploded() if way.kind == "highest" else way  # the camera of the GUI turns
    way = PLAIN if way.plane else way  # the GUI has a slice of its own
    made = show_field(shared, view, field, way)
    if way.kind == "exploded":
        shown = made[-2]
    else:
        shown = made[-1]
        apart = exploded(shown, pictures.description["explode"] or FACTORS[0])
        display = pv.Show(apart, view)
        _light(display)
        colour(display, view, field, pictures.arrays("geometry")[field])
        pv.Hide(apart, view)
    heading = pictures.arrays("geometry")[field]["title"] + (f" ({way.words})" if way.words else "")
    set_title(view, heading, pictures.titles("geometry", field), made[-1])
    return shown
