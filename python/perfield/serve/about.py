# SPDX-License-Identifier: BSD-3-Clause
"""The run in words and small numbers: all that the page must know before it draws.

    {"name", "title": the program's, "command": [words], "state": "running|finished|killed", "live",
     "version", "n_ranks", "n_frames", "surveyed", "first_frame", "first_field", "many_ranks",
     "notes": [sentences],
     "frames": {"title", "step", "index", "time", "begin_s", "kind", "mesh_version", "uneven",
     "n_present"},                                                                                  columns
     "logged": [positions of the frames that have a timeline],
     "ranks": {"host", "node", "package", "numa", "core", "pus"},                                   columns
     "fields": [{"name", "title", "unit", "map", "group", "region", "direction", "meaning", "range",
     "scale", "computed"}],   computed: only when it is asked for; /api/heat gives its range and scale
     "own_fields": [{"name", "title", "map"}],
     "palette": {"absent", "beyond", "outline": "#rrggbb"},
     "mesh": {"versions": [..], "late": whether it takes long} or {"reason": sentence},
     "machine": {"overview": bool} or {"reason": sentence},
     "other": the name of the run beside this one, or null; requests for it are /api/other/NAME}

`surveyed` frames have been read to learn ranges and the kinds of steps; the others follow with the next
requests, and the version changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from perfield.catalyst_scripts import palette
from perfield.derived.matching import name_in_titles
from perfield.fields.table import array_names
from perfield.output.description import name_and_scale
from perfield.output.scales import is_category, round_end
from perfield.output.survey import COMPUTING
from perfield.output.titles import region_titles, title
from perfield.pictures.machine_values import ADDED_UP_ON_DEVICES
from perfield.serve.followed import View, has_vtk, is_stored, without_vtk
from perfield.serve.ranges import range_of
from perfield.serve.timeline import logged
from perfield.topology import ranges, used_devices

MANY_RANKS = 10_000  # above, the mesh is loaded on request
MOST_CELLS = 4096  # more ranks are too narrow to see, so the machine has a cell per node
OWN_FIELDS_OF = 8  # ranks that are asked for the simulation's own fields

WAITING = ("wait_", "waiting_", "waited_", "caused_wait_", "mpi_")  # begins of times that are no computing
GROUPS = {  # of a field, by how its name begins
    "files": ("io_",),
    "memory": ("resident_", "minor_faults", "major_faults", "perfield_bytes"),
    "devices": ("device_",),
    "mesh": ("cells", "points", "ghost_"),
}


def about(view: View) -> dict[str, Any]:
    """What the page must know of a run; see above."""
    run = view.run
    fields = _fields(view)
    return {
        "name": Path(run.path).resolve().name,
        "title": name_in_titles(run),
        "command": [str(word) for word in run.info.get("command") or ()],
        "state": run.state,
        "live": run.state == "running",
        "version": view.version,
        "n_ranks": run.n_ranks,
        "n_frames": len(run),
        "surveyed": view.surveyed,
        "first_frame": view.typical if view.typical is not None else max(0, len(run) - 1) // 2,
        "first_field": _first_field([field["name"] for field in fields]),
        "many_ranks": run.n_ranks > MANY_RANKS,
        "notes": list(view.notes),
        "frames": view.frames,
        "logged": logged(view),
        "ranks": _ranks(view),
        "fields": fields,
        "own_fields": _own_fields(view),
        "palette": {name.lower(): _hex(getattr(palette, name)) for name in ("ABSENT", "BEYOND", "OUTLINE")},
        "mesh": _mesh(view),
        "machine": _machine(view),
        "other": _other(view),
    }


def scale(view: View, field: str, peaks: np.ndarray, low: float) -> dict[str, Any]:
    """Title, unit, range and scale of one field; empty if no value of it is known.

    peaks, low : of a computed field, its largest values in the frames that were read, and its smallest.
    """
    if field in view.run.columns:
        return next((dict(about) for about in _fields(view) if about["name"] == field), {})
    if not len(peaks):
        return {}
    titles = region_titles(view.run.known_regions)
    found = {field: range_of(peaks, low)}
    name_and_scale(found, titles, {}, {})
    return _row(view, field, titles, view.run.all_fields.region_of, found[field])


def is_overview(view: View) -> bool:
    """Whether the machine is shown with one cell per node first."""
    return view.run.n_ranks > MOST_CELLS


def _fields(view: View) -> list[dict[str, Any]]:
    titles, regions = region_titles(view.run.known_regions), view.run.all_fields.region_of
    arrays = {name: dict(found) for name, found in view.ranges.items() if name in view.run.columns}
    name_and_scale(arrays, titles, {}, {})
    _reach_devices(view, arrays)
    shown = (name for name in view.names if name in arrays or name not in view.run.columns)
    return [_row(view, name, titles, regions, arrays.get(name)) for name in shown]


def _row(
    view: View,
    name: str,
    titles: Mapping[str, str],
    regions: Mapping[str, str],
    found: dict[str, Any] | None,
) -> dict[str, Any]:
    """found : title, unit, range and scale of the field; None where its values are not known yet."""
    field, region = view.run.all_fields[name], regions.get(name)
    words, unit = title(name, titles, {})
    low, high = found["range"] if found else (None, None)
    return {
        **{"name": name, "title": words, "unit": unit or field.unit, "map": palette.colour_map(name)},
        **{"group": "region" if region else _group(name, field.source, field.unit)},
        **{"region": titles.get(region) if region else None},
        **{"direction": field.direction, "meaning": field.meaning},
        **{"range": found and [low, high], "scale": found and list(found["scale"] or (low, high))},
        **{"computed": name not in view.run.columns},
    }


def _reach_devices(view: View, arrays: Mapping[str, dict[str, Any]]) -> None:
    """Lets scales reach as far as a device may, which shows the sum of the ranks that use it."""
    names = ADDED_UP_ON_DEVICES & arrays.keys()
    used = used_devices(view.placement, view.run.ends) if names else None
    if used is None or not len(used.user):
        return
    n_ranks = int(np.bincount(used.user).max())
    for name in names:
        (low, high), unit = arrays[name]["scale"], arrays[name]["unit"]
        arrays[name]["scale"] = low, round_end(high * n_ranks, whole=unit == "1")


def _group(name: str, source: str, unit: str) -> str:
    """What a field that belongs to no region is about."""
    if is_category(name) or source == "placement":
        return "place"
    for group, starts in GROUPS.items():
        if name.startswith(starts):
            return group
    if unit == "s":
        return "waiting" if name.startswith(WAITING) else "time"
    return "messages" if name.endswith(("_count", "_bytes")) else "other"


def _first_field(names: list[str]) -> str | None:
    """The field that the page shows first: what the ranks cost, not what they wait."""
    wanted = (COMPUTING, "step_time_s", *names)
    return next((name for name in wanted if name in names), None)


def _ranks(view: View) -> dict[str, list[Any]]:
    placed = view.placement
    hosts = np.array([*(node.host for node in placed.nodes), ""], dtype=object)
    pus = []
    for positions, node in zip(placed.bindings, _node_of_binding(view)):
        known = placed.nodes[node].machine.pus if node >= 0 else ()
        pus.append(ranges([known[at] for at in positions]))
    pus.append("")
    return {
        "host": hosts[placed.node_id].tolist(),
        "node": placed.node_id.tolist(),
        "package": _whole(placed.package_id),
        "numa": _whole(placed.numa_id),
        "core": _whole(placed.core_id),
        "pus": [pus[binding] for binding in placed.binding.tolist()],
    }


def _node_of_binding(view: View) -> list[int]:
    """A node whose machine each binding counts on."""
    placed = view.placement
    node = np.full(len(placed.bindings) + 1, -1)
    node[placed.binding] = placed.node_id
    return node[:-1].tolist()


def _whole(numbers: np.ndarray) -> list[int | None]:
    return [None if np.isnan(number) else int(number) for number in numbers.tolist()]


def _other(view: View) -> str | None:
    """The name of the run beside this one, with that of its folder where both are called the same."""
    if view.other is None:
        return None
    this, other = (Path(path).resolve() for path in (view.run.path, view.other.path))
    return other.name if other.name != this.name else "/".join(other.parts[-2:])


def _hex(rgb: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)


def _own_fields(view: View) -> list[dict[str, str]]:
    """The simulation's own fields on the mesh, by the names of their arrays."""
    if not is_stored(view.pieces) or not len(view.run):
        return []  # of pieces on disk, /api/mesh gives them
    index = int(view.run.step_indexes[-1])
    versions = view.run.mesh_versions(len(view.run) - 1)
    ranks = np.flatnonzero(versions)
    ranks = ranks[np.linspace(0, len(ranks) - 1, OWN_FIELDS_OF).astype(int)] if len(ranks) else ranks
    found = {name for rank in np.unique(ranks).tolist() for _, name in view.run.fields(rank, index)}
    return [
        {"name": array, "title": " ".join(own.split()), "map": palette.colour_map(array)}
        for array, own in sorted(array_names(found, view.names).items())
    ]


def _mesh(view: View) -> dict[str, Any]:
    if not has_vtk():
        return {"reason": without_vtk("The mesh")}
    if view.pieces is None:
        return {"reason": " ".join(view.mesh_notes)}
    are_boxes = not is_stored(view.pieces) and not hasattr(view.pieces, "mesh_times")
    return {"versions": sorted(view.first_of_mesh), "late": are_boxes}


def _machine(view: View) -> dict[str, Any]:
    if not has_vtk():
        return {"reason": without_vtk("The picture of the machine")}
    if not view.placement.nodes:
        return {"reason": "No rank said on which host it ran, so the machine is not known."}
    return {"overview": is_overview(view)}
