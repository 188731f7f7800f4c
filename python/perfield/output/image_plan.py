# SPDX-License-Identifier: BSD-3-Clause
"""Chooses the images to draw from written pictures: which values, which steps, which file names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from perfield.catalyst_scripts.ticks import amount, unit_of
from perfield.derived.providers import given_fields, provider_classes
from perfield.fields.functions import is_of_function
from perfield.output.survey import COMPUTING, PAIRED_REGIONS, beside_computing, cost_field, waiting_of
from perfield.pictures.machine_values import SUFFIXES

PARTS = ("topology_type", "node_id", "host_name", "id")  # arrays of the machine, the same in all steps
SWITCHES = ("name", "level")  # arrays of the switches, the same in all steps
STEMS = {"geometry": "geometry", "messages": "messages", "topology/messages": "topology_messages"}
STEMS |= {"topology/switches": "topology_switch", "topology/collectives": "topology"}
THREADS = tuple(f"thread_{kind}_time_s" for kind in ("parallel", "barrier", "other", "cpu"))
STEMS |= {"topology/threads": "topology_threads"}
ENDS = ("source", "target")  # ends of messages, nearly the same in all steps
MESSAGES = ("messages", "topology/messages")  # layers of lines
MATRIX = "messages"  # of `perfield plot`, before lines
FIRST_PLOTS = ("heat_map", "regions")  # of `perfield plot`, among the first images
KINDS = ("mean", "p95", "maximum", "imbalance")  # of values over all steps


def first_images(
    description: dict[str, Any],
    field: str,
    step: int | None = None,
    steps: Sequence[int] | None = None,
    focus: bool = False,
) -> list[dict[str, Any]]:
    """The few images that answer first: a field on the mesh and on the machine, the plots of FIRST_PLOTS, and
    that field of the simulation that varies most; then fields of studies that were added.

    description : pictures.json. field : of the costliest finding; "" draws it neither on the mesh nor on the
    machine. step : number of the frame to look at; None
    shows the mean of all steps, where there is one. steps : numbers of frames, in place of that choice.
    focus : also the messages to each focus rank. An image of a plot has "plot", its name, and no layer.
    """
    over = {(base, kind): name for name, (base, kind) in description["over_steps"].items()}
    shown = [*representative_steps(description)[:1]] if step is None else [step]
    is_mean = step is None and steps is None and (field, "mean") in over
    at = _steps_of(description, shown if steps is None else steps)
    field = over[field, "mean"] if is_mean else field
    images = [
        image
        for layer in ("geometry", "topology/measurements")
        for image in _image(description, layer, field, at, static=is_mean)
    ]
    images += [{"plot": name, "files": [f"{name}.png"]} for name in FIRST_PLOTS]
    for name in _own_scalars(description)[:1]:
        images += _image(description, "geometry", name, [_stored_in(description, step) for step in at])
    added = _added(description)
    images += _planned(description, added, steps) if added else []
    for rank in description["focus"] if focus else ():
        images += _image(description, "geometry", f"sent_count_to_{rank}", at, focus=rank)
    return _numbered(images)


def plan_images(
    description: dict[str, Any], fields: Sequence[str] | None, steps: Sequence[int] | None = None
) -> list[dict[str, Any]]:
    """All images to draw, for `draw_images`, what says most first.

    description : pictures.json. fields : names of arrays or of the simulation's own fields; None draws
    `default_values`, messages by source, target and bytes, and the messages sent to each focus rank.
    steps : numbers of frames. None: values over all steps first, then `representative_steps`. What stays the
    same is drawn once, the partition once per mesh, and stored fields once. An array that does not vary has
    no image (`without_images`). Files are numbered in the order of the images.
    """
    return _numbered(_planned(description, fields, steps))


def _planned(
    description: dict[str, Any], fields: Sequence[str] | None, steps: Sequence[int] | None
) -> list[dict[str, Any]]:
    shown = _steps_of(description, representative_steps(description) if steps is None else sorted(steps))
    first_of_mesh = {step["mesh"]: step for step in reversed(shown)}
    partition = [first_of_mesh[mesh] for mesh in sorted(first_of_mesh)]
    images: list[dict[str, Any]] = []

    def add(
        layer: str, name: str, at: list[dict[str, Any]], static: bool = False, focus: int | None = None
    ) -> None:
        images.extend(_image(description, layer, name, at, static, focus))

    def add_values(names: Iterable[str], at: list[dict[str, Any]], static: bool = False) -> None:
        """On the mesh for all names, then on the machine."""
        for layer in ("geometry", "topology/measurements"):
            for name in names:
                add(layer, name, at, static)

    def add_value(name: str) -> None:
        if name == "rank":
            add("geometry", name, partition, static=len(partition) == 1)
            add("topology/ranks", name, shown, static=True)
        elif name in given_fields() and given_fields()[name].is_lasting:
            add_values([name], shown, static=True)
        elif name in PARTS:
            add("topology/machine", name, shown, static=True)
        elif name in SWITCHES and name not in description["own_fields"]:
            add("topology/switches", name, shown, static=True)
        elif name in THREADS and name not in description["own_fields"]:
            add("topology/threads", name, shown)
        elif name.endswith(tuple(SUFFIXES.values())):
            add("topology/machine", name, shown)
        else:
            add_values([name], shown)

    def add_messages(name: str) -> None:
        for layer in MESSAGES:
            if layer not in description.get("crowded", {}):
                add(layer, name, shown[:1] if name in ENDS else shown)

    over = {(base, kind): name for name, (base, kind) in description["over_steps"].items()}
    values = default_values(description) if fields is None else array_names(description, fields)
    pair = [name for name in values if name in pair_of(description)]
    others = [name for name in values if name not in pair]
    if steps is None:
        # The slowest ranks and those that the others wait for are the first two images.
        for kind in KINDS:
            add_values([over[name, kind] for name in pair if (name, kind) in over], shown, static=True)
        for name in others:
            kinds = KINDS[:1] if fields is None or is_of_function(name) else KINDS
            add_values([over[name, kind] for kind in kinds if (name, kind) in over], shown, static=True)
    for step in shown:
        add_values(pair, [step])
    matrix, of_messages = {"plot": MATRIX, "files": ["message_matrix.png"]}, _message_arrays(description)
    if fields is not None and of_messages.intersection(values):
        images.append(matrix)
    for name in others:
        # A step has few samples of a function; all steps together say more.
        if (
            (fields is not None and not is_of_function(name))
            or steps is not None
            or (name, "mean") not in over
        ):
            add_value(name)
        if fields is not None:
            add_messages(name)
            add("topology/collectives", name, shown)
    if fields is None and "sent_bytes" in of_messages:
        images.append(matrix)
    if fields is None:
        for name in (*ENDS, "sent_bytes"):
            add_messages(name)
        add("topology/collectives", "collective_bytes", shown)
        for rank in description["focus"]:
            add("geometry", f"sent_count_to_{rank}", shown, focus=rank)
    return images


def _steps_of(description: dict[str, Any], numbers: Sequence[int]) -> list[dict[str, Any]]:
    """The written steps of some numbers of frames, in their order."""
    written = {step["frame"]: step for step in description["steps"]}
    return [written[number] for number in numbers if number in written]


def _image(
    description: dict[str, Any],
    layer: str,
    name: str,
    at: list[dict[str, Any]],
    static: bool = False,
    focus: int | None = None,
) -> list[dict[str, Any]]:
    """An image of an array of a layer; none where it has no values, or has one value everywhere.

    static : one image serves all steps; its file name has no step.
    """
    about = _arrays_of(description, layer).get(name)
    if about is None or is_constant(about):
        return []
    if name in description["own_fields"]:
        at = _newly_stored(at)
    stem = f"{STEMS.get(layer, 'topology')}_{name}"
    at = at[:1] if static else at
    files = [f"{stem}.png"] if static else [f"{stem}_frame_{step['frame']:06d}.png" for step in at]
    return [{"layer": layer, "field": name, "focus": focus, "static": static, "steps": at, "files": files}]


def _arrays_of(description: dict[str, Any], layer: str) -> dict[str, Any]:
    """What pictures.json says of each array of a layer; nothing for a layer that is not there."""
    return description["layers"].get(layer, {}).get("arrays", {})


def _message_arrays(description: dict[str, Any]) -> set[str]:
    """The arrays of lines of messages."""
    return {name for layer in MESSAGES for name in _arrays_of(description, layer)}


def representative_steps(description: dict[str, Any]) -> list[int]:
    """Frames that stand for a run: a typical step, then the slowest to compute that writes no output, then
    those that show added fields best.

    The first step that was written, if neither was written.
    """
    written = [step["frame"] for step in description["steps"]]
    shown = dict.fromkeys(
        [description["typical"], description["slowest"], *description.get("highlights", ())]
    )
    return [number for number in shown if number in written] or written[:1]


def default_values(description: dict[str, Any]) -> list[str]:
    """The arrays drawn by default.

    Computing and what ranks cost the others, waiting, fields of studies that were added, compute
    times of the two regions with most to save, rank, one field of the simulation, the parts of the machine,
    and its nodes if there are several, and the switches between them. An overview has no images of parts.
    """
    known = _known(description)
    regions = [cost_field(known, stem) for stem in description["regions"]]
    regions = [name for name in regions if name in known]
    own = _own_scalars(description)
    nodes = description["layers"].get("topology/machine", {}).get("arrays", {}).get("node_id")
    several = nodes is not None and nodes["range"][0] < nodes["range"][1]
    parts = ["topology_type", "node_id"] if several else ["topology_type"]
    parts += ["name"] * ("name" in description["layers"].get("topology/switches", {}).get("arrays", {}))
    parts = [] if description.get("layout") == "" else parts  # an overview, whose parts are nodes alone
    first = dict.fromkeys([*pair_of(description), waiting_of(known)])
    return [*first, *_added(description), *regions[:PAIRED_REGIONS], "rank", *own[:1], *parts]


def _own_scalars(description: dict[str, Any]) -> list[str]:
    """The simulation's own fields with one component, those that vary most first."""
    geometry = description["layers"].get("geometry", {}).get("arrays", {})
    return [name for name in description["own_fields"] if geometry.get(name, {}).get("components") == 1]


def _added(description: dict[str, Any]) -> list[str]:
    """The fields of studies that were added."""
    known = _known(description)
    return [name for provider in provider_classes() for name in provider.drawn if name in known]


def pair_of(description: dict[str, Any]) -> list[str]:
    """The fields that are looked at together: what each rank computes, and what it costs the others or, where
    that is not known, how long it waits."""
    return [COMPUTING, beside_computing(_known(description))]


def array_names(description: dict[str, Any], fields: Iterable[str]) -> list[str]:
    """Array names of some fields, each once; a field of the simulation may be given by its own name."""
    array_of = {name: array for array, name in description["own_fields"].items()}
    return list(dict.fromkeys(array_of.get(name, name) for name in fields))


def is_constant(about: Mapping[str, Any]) -> bool:
    """Whether an array of pictures.json has one value, everywhere and in all steps."""
    return about["range"][0] == about["range"][1]


def without_images(description: dict[str, Any], fields: Sequence[str] | None) -> list[str]:
    """Why chosen fields, or those of `default_values`, have no images, as sentences without full stops."""
    names = array_names(description, fields) if fields is not None else default_values(description)
    said = [
        f"no image of {name}: these steps have no values of it" for name in unknown_fields(description, names)
    ]
    constant: dict[str, list[str]] = {}
    for name in names:
        known = [layer["arrays"][name] for layer in description["layers"].values() if name in layer["arrays"]]
        if known and all(map(is_constant, known)):
            factor, unit = unit_of(known[0])
            value = f"{amount(known[0]['range'][0] * factor)} {unit}".rstrip()
            constant.setdefault(value, []).append(name)
    crowded = description.get("crowded", {})
    if crowded and (fields is None or _message_arrays(description).intersection(names)):
        said.append(
            f"no image of messages as lines, as {max(crowded.values()):,} would be left out: the matrix "
            "shows all, --lines-from RANKS draws those of some"
        )
    said += [
        f"no image of {', '.join(of)}: {value} everywhere, in all steps" for value, of in constant.items()
    ]
    return said


def unknown_fields(description: dict[str, Any], fields: Iterable[str]) -> list[str]:
    """The fields that no written array shows."""
    known = _known(description)
    return [name for name in fields if not known.issuperset(array_names(description, [name]))]


def _newly_stored(steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first of all steps that show the simulation's fields as they were stored at the same time, on the
    same mesh."""
    first: dict[Any, dict[str, Any]] = {}
    for step in steps:
        first.setdefault((step.get("fields_of", step["frame"]), step["mesh"]), step)
    return list(first.values())


def _stored_in(description: dict[str, Any], shown: dict[str, Any]) -> dict[str, Any]:
    """The step that stored the simulation's fields which a step shows; that step where none was written."""
    alike = (step for step in description["steps"] if step.get("fields_of") == shown.get("fields_of", ""))
    return next((step for step in alike if not step["fields_age"]), shown)


def _known(description: dict[str, Any]) -> set[str]:
    return {name for layer in description["layers"].values() for name in layer["arrays"]}


def _numbered(images: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Puts the place of each file before its name, so that folders list them in order."""
    digits = max(2, len(str(sum(len(image["files"]) for image in images))))
    place = 0
    for image in images:
        first, place = place + 1, place + len(image["files"])
        image["files"] = [f"{first + n:0{digits}d}_{file}" for n, file in enumerate(image["files"])]
    return images
