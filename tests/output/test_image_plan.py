# SPDX-License-Identifier: BSD-3-Clause
"""The images drawn by default and for the user's names."""

from __future__ import annotations

import pytest

from perfield.output.image_plan import plan_images, unknown_fields


def layer(*names, **ranges):
    """A layer with arrays of one component; the range is 0 to 1 by default."""
    about = {name: {"components": 1, "range": (0, 1)} for name in names}
    return {"arrays": about | {name: {"components": 1, "range": ends} for name, ends in ranges.items()}}


VALUES = ("compute_time_s", "solve_time_s", "sent_bytes")
LINES = ("source", "target", "sent_bytes", "isend_count")
VECTOR = {"U": {"components": 3, "range": (0, 1)}}


@pytest.fixture
def description():
    """The content of pictures.json for 3 steps on one node."""
    geometry = layer("rank", *VALUES, "sent_count_to_3", "T", "alpha_water")
    geometry["arrays"].update(VECTOR)
    return {
        "steps": [{"frame": n, "shown_at": n / 10, "mesh": 0} for n in (0, 5, 9)],
        "regions": ["never", "solve"],
        "focus": [3],
        "own_fields": {"U": "U", "T": "T", "alpha_water": "alpha.water"},
        "layers": {
            "geometry": geometry,
            "messages": layer(*LINES),
            "topology/machine": layer("topology_type", node_id=(0, 0)),
            "topology/ranks": layer("rank", node_id=(0, 0)),
            "topology/measurements": layer("rank", *VALUES),
            "topology/messages": layer(*LINES),
        },
    }


def files(planned):
    """Names of all files of some images."""
    return [name for image in planned for name in image["files"]]


def test_default_images(description):
    assert files(plan_images(description, None, [5])) == [
        "geometry_rank.png",
        "topology_rank.png",
        "geometry_compute_time_s_frame_000005.png",
        "topology_compute_time_s_frame_000005.png",
        "geometry_solve_time_s_frame_000005.png",
        "topology_solve_time_s_frame_000005.png",
        "geometry_T_frame_000005.png",
        "topology_topology_type.png",
        "messages_source_frame_000005.png",
        "topology_messages_source_frame_000005.png",
        "messages_target_frame_000005.png",
        "topology_messages_target_frame_000005.png",
        "messages_sent_bytes_frame_000005.png",
        "topology_messages_sent_bytes_frame_000005.png",
        "geometry_sent_count_to_3_frame_000005.png",
    ]


def test_nodes_are_drawn_if_there_are_several(description):
    assert "topology_node_id.png" not in files(plan_images(description, None, [5]))
    description["layers"]["topology/machine"] = layer("topology_type", node_id=(0, 3))
    assert "topology_node_id.png" in files(plan_images(description, None, [5]))


def test_message_ends_are_drawn_once_and_bytes_each_step(description):
    drawn = files(plan_images(description, None, [0, 9]))
    messages = [name for name in drawn if name.startswith("messages_")]
    assert messages == [
        "messages_source_frame_000000.png",
        "messages_target_frame_000000.png",
        "messages_sent_bytes_frame_000000.png",
        "messages_sent_bytes_frame_000009.png",
    ]


def test_partition_is_drawn_once_per_mesh(description):
    for step, mesh in zip(description["steps"], (0, 1, 1)):
        step["mesh"] = mesh
    drawn = files(plan_images(description, ["rank"], [0, 5, 9]))
    assert drawn == ["geometry_rank_frame_000000.png", "geometry_rank_frame_000005.png", "topology_rank.png"]


def test_chosen_fields_are_drawn_in_each_layer_and_step(description):
    assert files(plan_images(description, ["isend_count", "alpha.water", "U"], [0, 9])) == [
        "messages_isend_count_frame_000000.png",
        "messages_isend_count_frame_000009.png",
        "topology_messages_isend_count_frame_000000.png",
        "topology_messages_isend_count_frame_000009.png",
        "geometry_alpha_water_frame_000000.png",
        "geometry_alpha_water_frame_000009.png",
        "geometry_U_frame_000000.png",
        "geometry_U_frame_000009.png",
    ]


def test_unknown_fields_are_reported(description):
    assert unknown_fields(description, ["alpha.water", "alpha_water", "nonsense", "rank"]) == ["nonsense"]


def test_only_machine_is_drawn_without_a_mesh(description):
    for name in ("geometry", "messages"):
        del description["layers"][name]
    planned = plan_images(description, None, [0])
    assert {image["layer"].partition("/")[0] for image in planned} == {"topology"}
