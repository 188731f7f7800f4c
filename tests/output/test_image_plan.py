# SPDX-License-Identifier: BSD-3-Clause
"""The images drawn by default and for the user's names: which, and in which order."""

from __future__ import annotations

import pytest

from perfield.output.image_plan import (
    default_values,
    first_images,
    plan_images,
    unknown_fields,
    without_images,
)


def layer(*names, **ranges):
    """A layer with arrays of one component; the range is 0 to 1 by default."""
    about = {name: {"components": 1, "range": (0, 1)} for name in names}
    return {"arrays": about | {name: {"components": 1, "range": ends} for name, ends in ranges.items()}}


VALUES = ("compute_time_s", "waiting_time_s", "solve_time_s", "sent_bytes")
OVER = {
    **{f"{base}_{kind}": [base, kind] for base in VALUES[:3] for kind in ("mean", "maximum")},
    "compute_time_imbalance": ["compute_time_s", "imbalance"],
}
LINES = ("source", "target", "sent_bytes", "isend_count")
VECTOR = {"U": {"components": 3, "range": (0, 1)}}


@pytest.fixture
def description():
    """The content of pictures.json for 3 steps on one node."""
    geometry = layer("rank", *VALUES, *OVER, "sent_count_to_3", "T", "alpha_water")
    geometry["arrays"].update(VECTOR)
    return {
        "steps": [
            {"frame": n, "shown_at": n / 10, "mesh": 0, "fields_age": "", "fields_of": f"fields of step {n}"}
            for n in (0, 5, 9)
        ],
        "regions": ["never", "solve"],
        "over_steps": OVER,
        "typical": 5,
        "slowest": 0,
        "focus": [3],
        "own_fields": {"U": "U", "T": "T", "alpha_water": "alpha.water"},
        "layers": {
            "geometry": geometry,
            "messages": layer(*LINES),
            "topology/machine": layer("topology_type", node_id=(0, 0)),
            "topology/ranks": layer("rank", node_id=(0, 0)),
            "topology/measurements": layer("rank", *VALUES, *OVER),
            "topology/messages": layer(*LINES),
        },
    }


def files(planned):
    """Names of all files of some images, in order, without their numbers."""
    names = [name for image in planned for name in image["files"]]
    assert [int(name[:2]) for name in names] == list(range(1, len(names) + 1))
    return [name[3:] for name in names]


def test_default_images(description):
    assert files(plan_images(description, None)) == [
        "geometry_compute_time_s_mean.png",
        "geometry_waiting_time_s_mean.png",
        "topology_compute_time_s_mean.png",
        "topology_waiting_time_s_mean.png",
        "geometry_compute_time_s_maximum.png",
        "geometry_waiting_time_s_maximum.png",
        "topology_compute_time_s_maximum.png",
        "topology_waiting_time_s_maximum.png",
        "geometry_compute_time_imbalance.png",
        "topology_compute_time_imbalance.png",
        "geometry_solve_time_s_mean.png",
        "topology_solve_time_s_mean.png",
        "geometry_compute_time_s_frame_000005.png",
        "geometry_waiting_time_s_frame_000005.png",
        "topology_compute_time_s_frame_000005.png",
        "topology_waiting_time_s_frame_000005.png",
        "geometry_compute_time_s_frame_000000.png",
        "geometry_waiting_time_s_frame_000000.png",
        "topology_compute_time_s_frame_000000.png",
        "topology_waiting_time_s_frame_000000.png",
        "geometry_rank.png",
        "topology_rank.png",
        "geometry_T_frame_000005.png",
        "geometry_T_frame_000000.png",
        "topology_topology_type.png",
        "message_matrix.png",
        "messages_source_frame_000005.png",
        "topology_messages_source_frame_000005.png",
        "messages_target_frame_000005.png",
        "topology_messages_target_frame_000005.png",
        "messages_sent_bytes_frame_000005.png",
        "messages_sent_bytes_frame_000000.png",
        "topology_messages_sent_bytes_frame_000005.png",
        "topology_messages_sent_bytes_frame_000000.png",
        "geometry_sent_count_to_3_frame_000005.png",
        "geometry_sent_count_to_3_frame_000000.png",
    ]


def test_lines_of_messages_that_would_hide_one_another_give_way_to_their_matrix(description):
    description["crowded"] = {"messages": 11_064, "topology/messages": 11_064}
    drawn = files(plan_images(description, None))
    assert [name for name in drawn if "message" in name] == ["message_matrix.png"]
    (sentence,) = without_images(description, None)
    assert sentence.startswith("no image of messages as lines, as 11,064 would be left out: the matrix")
    assert without_images(description, ["isend_count"]) == [sentence]
    assert without_images(description, ["T"]) == []


def test_what_is_alike_on_all_ranks_is_on_neither_mesh_nor_machine(description):
    assert files(first_images(description, ""))[:2] == ["heat_map.png", "regions.png"]


def test_first_images_are_the_finding_the_plots_and_an_own_field(description):
    assert files(first_images(description, "solve_time_s")) == [
        "geometry_solve_time_s_mean.png",
        "topology_solve_time_s_mean.png",
        "heat_map.png",
        "regions.png",
        "geometry_T_frame_000005.png",
    ]
    assert files(first_images(description, "compute_time_s", step=9))[:2] == [
        "geometry_compute_time_s_frame_000009.png",
        "topology_compute_time_s_frame_000009.png",
    ]
    chosen = files(first_images(description, "compute_time_s", steps=[0, 9], focus=True))
    assert chosen[:1] == ["geometry_compute_time_s_frame_000000.png"] and len(chosen) == 10
    assert chosen[-2:] == [f"geometry_sent_count_to_3_frame_00000{n}.png" for n in (0, 9)]


def test_fields_of_studies_that_were_added_follow_the_first_images(description):
    for name in ("geometry", "topology/measurements"):
        description["layers"][name]["arrays"].update(layer("regime_shade")["arrays"])
    drawn = files(first_images(description, "compute_time_s"))
    assert drawn[5:] == [
        f"{picture}_regime_shade_frame_00000{n}.png" for picture in ("geometry", "topology") for n in (5, 0)
    ]


def test_what_does_not_vary_has_a_sentence_and_no_image(description):
    for name in ("messages", "topology/messages"):
        description["layers"][name]["arrays"]["sent_bytes"] = {"range": (2500, 2500), "unit": "B"}
    drawn = files(plan_images(description, ["sent_bytes", "isend_count"]))
    assert not any("messages_sent_bytes" in name for name in drawn)
    assert any("messages_isend_count" in name for name in drawn)
    description["layers"]["geometry"]["arrays"]["T"] = {"range": (0.002, 0.002), "components": 1, "unit": "s"}
    sentences = without_images(description, ["T", "nonsense"])
    assert sentences == [
        "no image of nonsense: these steps have no values of it",
        "no image of T: 2 ms everywhere, in all steps",
    ]


def test_a_field_is_drawn_once_where_two_steps_show_it_as_it_was_stored(description):
    description["steps"][2] |= {"fields_age": "fields of step 5", "fields_of": "fields of step 5"}
    assert files(plan_images(description, ["T"], [5, 9])) == ["geometry_T_frame_000005.png"]
    last = files(first_images(description, "compute_time_s", step=9))[-1]
    assert last == "geometry_T_frame_000005.png", "its title needs no age"


def test_values_over_steps_are_drawn_on_the_mesh_of_the_typical_step(description):
    first = plan_images(description, None)[0]
    assert (first["static"], [step["frame"] for step in first["steps"]]) == (True, [5])


def test_time_in_mpi_replaces_waiting_where_waiting_is_unknown(description):
    for layer in description["layers"].values():
        if "waiting_time_s" in layer["arrays"]:
            layer["arrays"]["mpi_time_s"] = layer["arrays"].pop("waiting_time_s")
    assert "geometry_mpi_time_s_frame_000005.png" in files(plan_images(description, None))


def test_what_ranks_cost_the_others_is_beside_computing_and_waiting_behind_them(description):
    caused = {"caused_wait_time_s_mean": ["caused_wait_time_s", "mean"]}
    description["over_steps"] = OVER | caused
    for name in ("geometry", "topology/measurements"):
        arrays = description["layers"][name]["arrays"]
        arrays.update(layer("caused_wait_time_s", *caused)["arrays"])
    assert default_values(description)[:3] == ["compute_time_s", "caused_wait_time_s", "waiting_time_s"]
    drawn = files(plan_images(description, None))
    assert drawn[:4] == [
        "geometry_compute_time_s_mean.png",
        "geometry_caused_wait_time_s_mean.png",
        "topology_compute_time_s_mean.png",
        "topology_caused_wait_time_s_mean.png",
    ]
    of_step = [name for name in drawn if name.endswith("time_s_frame_000005.png") and "messages" not in name]
    assert [name.split("_time_s")[0] for name in of_step] == [
        *("geometry_compute", "geometry_caused_wait", "topology_compute", "topology_caused_wait"),
    ]
    assert "geometry_waiting_time_s_mean.png" in drawn and "topology_waiting_time_s_mean.png" in drawn


def test_cost_of_regions_is_their_compute_time(description):
    for name in ("geometry", "topology/measurements"):
        description["layers"][name]["arrays"].update(layer("solve_compute_time_s")["arrays"])
    assert default_values(description)[2] == "solve_compute_time_s"


def test_regions_are_drawn_in_chosen_steps(description):
    drawn = files(plan_images(description, None, [9]))
    assert "geometry_solve_time_s_frame_000009.png" in drawn
    assert "geometry_solve_time_s_mean.png" not in drawn


def test_first_written_step_is_drawn_if_the_representative_ones_were_not(description):
    description.update(typical=3, slowest=None)
    assert "geometry_compute_time_s_frame_000000.png" in files(plan_images(description, None))


def test_run_of_one_step_has_no_values_over_steps(description):
    description["over_steps"] = {}
    drawn = files(plan_images(description, None))
    assert drawn[0] == "geometry_compute_time_s_frame_000005.png"
    assert "geometry_solve_time_s_frame_000005.png" in drawn
    assert not any("_mean" in name for name in drawn)


def test_nodes_are_drawn_if_there_are_several(description):
    assert "topology_node_id.png" not in files(plan_images(description, None))
    description["layers"]["topology/machine"] = layer("topology_type", node_id=(0, 3))
    assert "topology_node_id.png" in files(plan_images(description, None))


def test_switches_are_drawn_by_name_if_the_picture_has_some(description):
    assert not any("switch" in name for name in files(plan_images(description, None)))
    description["layers"]["topology/switches"] = layer("name", "level")
    assert "topology_switch_name.png" in files(plan_images(description, None))
    assert "topology_switch_level.png" in files(plan_images(description, ["level"]))
    description["own_fields"]["level"] = "level"  # of the simulation, such as one of refinement
    assert "topology_switch_level.png" not in files(plan_images(description, ["level"]))


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


def test_chosen_fields_and_steps_are_drawn_in_each_layer_and_step(description):
    assert files(plan_images(description, ["isend_count", "alpha.water", "U"], [0, 9])) == [
        "message_matrix.png",
        "messages_isend_count_frame_000000.png",
        "messages_isend_count_frame_000009.png",
        "topology_messages_isend_count_frame_000000.png",
        "topology_messages_isend_count_frame_000009.png",
        "geometry_alpha_water_frame_000000.png",
        "geometry_alpha_water_frame_000009.png",
        "geometry_U_frame_000000.png",
        "geometry_U_frame_000009.png",
    ]


def test_chosen_field_is_drawn_over_steps_too(description):
    drawn = files(plan_images(description, ["solve_time_s"]))
    assert drawn[0] == "geometry_solve_time_s_mean.png"
    assert sorted(drawn) == sorted(
        f"{picture}_solve_time_s_{what}.png"
        for what in ("mean", "maximum", "frame_000005", "frame_000000")
        for picture in ("geometry", "topology")
    )


def test_unknown_fields_are_reported(description):
    assert unknown_fields(description, ["alpha.water", "alpha_water", "nonsense", "rank"]) == ["nonsense"]


def test_only_machine_is_drawn_without_a_mesh(description):
    for name in ("geometry", "messages"):
        del description["layers"][name]
    planned = plan_images(description, None)
    assert {image["layer"].partition("/")[0] for image in planned if "layer" in image} == {"topology"}


def test_statistics_of_parts_are_drawn_on_the_machine_in_each_step(description):
    description["layers"]["topology/machine"] = layer("topology_type", "compute_time_s_rank_std")
    drawn = files(plan_images(description, ["compute_time_s_rank_std"], [0, 9]))
    assert drawn == [f"topology_compute_time_s_rank_std_frame_00000{n}.png" for n in (0, 9)]
