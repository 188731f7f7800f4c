# SPDX-License-Identifier: BSD-3-Clause
"""Chooses the images to draw from written pictures: which values, which steps, which file names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

PARTS = ("topology_type", "node_id", "host_name", "id")  # arrays of the machine, the same in all steps
STEMS = {"geometry": "geometry", "messages": "messages", "topology/messages": "topology_messages"}
ENDS = ("source", "target")  # ends of messages, nearly the same in all steps


def plan_images(
    description: dict[str, Any], fields: Sequence[str] | None, steps: Sequence[int]
) -> list[dict[str, Any]]:
    """The images to draw, for `draw_images`.

    description : pictures.json. fields : names of arrays or of the simulation's own fields; None draws
    `default_values`, messages by source, target and bytes, and the messages sent to each focus rank.
    steps : numbers of frames. What stays the same is drawn once, the partition once per mesh.
    """
    layers = description["layers"]
    shown = [step for step in description["steps"] if step["frame"] in steps]
    first_of_mesh = {step["mesh"]: step for step in reversed(shown)}
    partition = [first_of_mesh[mesh] for mesh in sorted(first_of_mesh)]
    images: list[dict[str, Any]] = []

    def add(
        layer: str, name: str, at: list[dict[str, Any]], static: bool = False, focus: int | None = None
    ) -> None:
        """static : one image serves all steps; its file name has no step."""
        if name not in layers.get(layer, {}).get("arrays", {}):
            return
        stem = f"{STEMS.get(layer, 'topology')}_{name}"
        at = at[:1] if static else at
        files = [f"{stem}.png"] if static else [f"{stem}_frame_{step['frame']:06d}.png" for step in at]
        images.append(
            {"layer": layer, "field": name, "focus": focus, "static": static, "steps": at, "files": files}
        )

    def add_values(name: str) -> None:
        if name == "rank":
            add("geometry", name, partition, static=len(partition) == 1)
            add("topology/ranks", name, shown, static=True)
        elif name in PARTS:
            add("topology/machine", name, shown, static=True)
        else:
            add("geometry", name, shown)
            add("topology/measurements", name, shown)

    def add_messages(name: str) -> None:
        for layer in ("messages", "topology/messages"):
            add(layer, name, shown[:1] if name in ENDS else shown)

    if fields is None:
        for name in default_values(description):
            add_values(name)
        for name in (*ENDS, "sent_bytes"):
            add_messages(name)
        for rank in description["focus"]:
            add("geometry", f"sent_count_to_{rank}", shown, focus=rank)
    else:
        for name in array_names(description, fields):
            add_values(name)
            add_messages(name)
    return images


def default_values(description: dict[str, Any]) -> list[str]:
    """The arrays drawn by default.

    Rank, compute time, times of the two regions with the most imbalance, one field of the simulation, the
    parts of the machine, and its nodes if there are several.
    """
    known = _known(description)
    regions = [f"{name}_time_s" for name in description["regions"] if f"{name}_time_s" in known]
    geometry = description["layers"].get("geometry", {}).get("arrays", {})
    own = [name for name in description["own_fields"] if geometry.get(name, {}).get("components") == 1]
    nodes = description["layers"].get("topology/machine", {}).get("arrays", {}).get("node_id")
    several = nodes is not None and nodes["range"][0] < nodes["range"][1]
    parts = ["topology_type", "node_id"] if several else ["topology_type"]
    return ["rank", "compute_time_s", *regions[:2], *own[:1], *parts]


def array_names(description: dict[str, Any], fields: Iterable[str]) -> list[str]:
    """Array names of some fields, each once; a field of the simulation may be given by its own name."""
    array_of = {name: array for array, name in description["own_fields"].items()}
    return list(dict.fromkeys(array_of.get(name, name) for name in fields))


def unknown_fields(description: dict[str, Any], fields: Iterable[str]) -> list[str]:
    """The fields that no written array shows."""
    known = _known(description)
    return [name for name in fields if not known.issuperset(array_names(description, [name]))]


def _known(description: dict[str, Any]) -> set[str]:
    return {name for layer in description["layers"].values() for name in layer["arrays"]}
