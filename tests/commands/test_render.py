# SPDX-License-Identifier: BSD-3-Clause
"""perfield render: its output before and after, its files, and its errors."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from known_runs import rhythm_runs
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet
from vtkmodules.vtkIOXML import vtkXMLMultiBlockDataReader, vtkXMLPolyDataReader

from twins import twin
from twins.samples_twin import MONOTONIC_NS, module, pack_samples, write_sampled_run


@pytest.fixture
def run_path(tmp_path):
    """A run of 4 ranks on 2 hosts, 30 steps."""
    return twin.write_run(tmp_path / "run", ranks=4, steps=30, hosts=("a", "b"))


ALL = ("--arrays", "all")


def steps_of(pvd):
    """(time, path) of every step of a series."""
    entries = ElementTree.parse(pvd).iter("DataSet")
    return [(float(entry.get("timestep")), pvd.parent / entry.get("file")) for entry in entries]


def values_by_rank(path, field):
    """Block name -> first value of a point array."""
    reader = vtkXMLMultiBlockDataReader()
    reader.SetFileName(str(path))
    reader.Update()
    picture = reader.GetOutput()
    found = {}
    for number in range(picture.GetNumberOfBlocks()):
        name = picture.GetMetaData(number).Get(vtkCompositeDataSet.NAME())
        found[name] = vtk_to_numpy(picture.GetBlock(number).GetPointData().GetArray(field))[0]
    return found


def test_render_estimates_bytes_and_writes_at_most_20_steps(perfield_cli, run_path):
    result = perfield_cli("render", run_path)
    assert result.returncode == 0, result.stderr
    number, unit = re.search(r"20 of 30 steps: about ([\d.]+) (kB|MB) in ", result.stdout).groups()
    written = sum(path.stat().st_size for path in (run_path / "pictures").rglob("*") if path.is_file())
    assert float(number) * {"kB": 1e3, "MB": 1e6}[unit] == pytest.approx(written, rel=0.2)
    for name in ("geometry", "messages", "topology"):
        assert len(steps_of(run_path / f"pictures/{name}.pvd")) == 20
        assert f"{name}.pvd" in result.stdout
    assert f"perfield open {run_path}" in result.stdout


def test_files_hold_the_values_and_times_of_the_run(perfield_cli, run_path):
    assert perfield_cli("render", run_path, "--steps", "4,30", "--geometry", *ALL).returncode == 0
    steps = steps_of(run_path / "pictures/geometry.pvd")
    assert [time for time, _ in steps] == [2.0, 15.0]
    expected = {f"rank_{rank}": twin.solve_ns(rank, 29) * 1e-9 for rank in range(4)}
    assert values_by_rank(steps[1][1], "solve_time_s") == pytest.approx(expected)
    assert not (run_path / "pictures/topology.pvd").exists()


def test_output_directory_leaves_the_run_unchanged(perfield_cli, run_path, tmp_path):
    before = {path for path in run_path.rglob("*") if "analysis" not in path.parts}
    result = perfield_cli("render", run_path, "-o", tmp_path / "out", "--steps", "1")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out/geometry.pvd").exists()
    assert {path for path in run_path.rglob("*") if "analysis" not in path.parts} == before
    assert f"-o {tmp_path / 'out'}" in result.stdout


def test_sampled_run_shows_functions_on_its_mesh(perfield_cli, tmp_path):
    in_a_step = MONOTONIC_NS + twin.step_values(0, 2, 2)["begin_ns"] + 10**6

    def add(rank, writer):
        about = {"modules": [module("/bin/solver", 0x1000)]}
        writer.add("modules", twin.json_body(about), index=1)
        writer.add("samples", pack_samples([(in_a_step, 0, [0x1010])] * (rank + 1)))

    path = write_sampled_run(tmp_path / "run", add, mesh=True)
    result = perfield_cli("render", path, "--steps", "1,3", *ALL)
    assert result.returncode == 0, result.stderr
    _, last = steps_of(path / "pictures/geometry.pvd")
    assert values_by_rank(last[1], "solve_time_s").keys() == {"rank_0", "rank_1"}
    described = json.loads((path / "pictures/pictures.json").read_text())
    carried = described["layers"]["geometry"]["arrays"]
    assert any(name.startswith("sampled_") for name in carried), sorted(carried)
    assert described["own_fields"], "the program's own fields are drawn, too"


def test_options_without_effect_are_reported(perfield_cli, run_path):
    looks = ("--size", "320x240", "--camera", "top", "--fps", 2)
    result = perfield_cli("render", run_path, "--steps", "1", "--topology", *looks)
    assert result.returncode == 0, result.stderr
    for words in ("--size is for images", "--camera is for images", "--fps is for a film"):
        assert f"note: {words}" in result.stdout


def test_layout_is_noted_and_the_files_keep_planes(perfield_cli, run_path):
    assert perfield_cli("render", run_path, "--topology", "--steps", "1").returncode == 0
    described = json.loads((run_path / "pictures/pictures.json").read_text())
    result = perfield_cli("render", run_path, "--topology", "--steps", "1", "--layout", "ring")
    assert result.returncode == 0, result.stderr
    ring = json.loads((run_path / "pictures/pictures.json").read_text())
    assert (described["layout"], ring["layout"]) == ("flat", "ring")
    assert described["layers"] == ring["layers"]


def test_layout_of_cells_is_refused(perfield_cli, run_path):
    result = perfield_cli("render", run_path, "--topology", "--nodes", "cells", "--layout", "torus")
    assert result.returncode != 0
    assert "--layout torus arranges planes, but --nodes cells shows none" in result.stderr


def test_layout_shows_many_nodes_in_full(perfield_cli, tmp_path):
    hosts = tuple(f"n{number}" for number in range(129))
    path = twin.write_run(tmp_path / "many", ranks=129, steps=1, hosts=hosts, mesh=False)
    for options, in_full in ((), False), (("--layout", "ring"), True):
        assert perfield_cli("render", path, "--steps", "1", *options).returncode == 0
        described = json.loads((path / "pictures/pictures.json").read_text())
        assert ("rank" in described["layers"]["topology/measurements"]["arrays"]) == in_full


def test_rendering_other_steps_removes_old_files(perfield_cli, run_path):
    perfield_cli("render", run_path, "--steps", "1:11")
    perfield_cli("render", run_path, "--steps", "12")
    folder = run_path / "pictures/geometry"
    assert sorted(path.name for path in folder.iterdir()) == ["step_000011", "step_000011.vtm"]


def test_run_without_mesh_and_messages_renders_the_machine_and_says_why(perfield_cli, tmp_path):
    nothing = twin.without_calls
    path = twin.write_run(tmp_path / "run", ranks=2, steps=3, mesh=False, change_step=nothing)
    result = perfield_cli("render", path)
    assert result.returncode == 0, result.stderr
    assert "no geometry: no rank of" in result.stdout
    assert (path / "pictures/topology.pvd").exists()
    assert not (path / "pictures/geometry.pvd").exists()


def test_geometry_without_a_mesh_and_messages_is_an_error(perfield_cli, tmp_path):
    nothing = twin.without_calls
    path = twin.write_run(tmp_path / "run", ranks=2, steps=3, mesh=False, change_step=nothing)
    result = perfield_cli("render", path, "--geometry")
    assert result.returncode == 2
    assert "described a mesh" in result.stderr
    assert "--mesh PATH" in result.stderr


def test_focus_adds_arrays_of_exchanges_with_that_rank(perfield_cli, run_path):
    words = ("--steps", "1", "--focus", "2", "--geometry", *ALL)
    assert perfield_cli("render", run_path, *words).returncode == 0
    ((_, path),) = steps_of(run_path / "pictures/geometry.pvd")
    values = values_by_rank(path, "isend_count_to_2")
    assert values["rank_1"] == 3
    assert all(np.isnan(values[f"rank_{rank}"]) for rank in (0, 2, 3))
    assert values_by_rank(path, "isend_bytes_from_2")["rank_3"] == 6000


def test_focus_ranks_come_from_the_configuration(perfield_cli, tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=3, steps=2, config={"focus_ranks": ["1", "9"]})
    result = perfield_cli("render", path, "--geometry")
    assert result.returncode == 0
    assert "focus_ranks names 9, but this run has the ranks 0 to 2" in result.stdout
    assert json.loads((path / "pictures/pictures.json").read_text())["focus"] == [1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--steps", "31"], "step 31 is not in this run, which has steps 1 to 30"),
        (["--steps", "last"], "'last' in --steps is not a step"),
        (["--focus", "4"], "focus rank 4 is not in this run"),
        (["--focus", "x"], "focus ranks 'x' are not numbers"),
        (["--mesh", "nowhere"], "mesh nowhere does not exist"),
    ],
)
def test_bad_arguments_give_a_sentence(perfield_cli, run_path, arguments, words):
    result = perfield_cli("render", run_path, *arguments)
    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_images_show_the_chosen_fields_and_steps(perfield_cli, run_path):
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    arguments = ("--images", "--steps", "1,30", "--fields", "solve_time_s", "--size", "320x240")
    result = perfield_cli("render", run_path, *arguments, env={"DISPLAY": None})
    assert result.returncode == 0, result.stderr
    assert sorted(path.name for path in (run_path / "pictures/images").glob("*.png")) == [
        f"{number + 1:02d}_{picture}_solve_time_s_frame_{step:06d}.png"
        for number, (picture, step) in enumerate(itertools.product(("geometry", "topology"), (0, 29)))
    ]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("compute_time", "did you mean compute_time_s?"),
        ("sovle_time_s", "did you mean solve_time_s?"),
        ("temperature_", "did you mean temperature?"),
        ("nonsense", "'perfield fields {run}' lists those of regions and ranks"),
    ],
)
def test_unknown_field_is_refused_before_any_picture(perfield_cli, run_path, name, advice):
    result = perfield_cli("render", run_path, "--fields", f"solve_time_s,{name}")
    assert result.returncode == 2
    sentence = f"perfield render: --fields {name}: this run has no such field; {advice}\n"
    assert (result.stdout, result.stderr) == ("", sentence.format(run=run_path))
    assert not (run_path / "pictures").exists()


@pytest.mark.parametrize(
    "name", ["solve_time_s", "temperature", "sent_count_to_1", "largest_bytes", "topology_type", "node_id"]
)
def test_every_array_of_the_pictures_is_a_known_field(perfield_cli, run_path, name):
    words = ["--fields", name, "--focus", "1", "--steps", "3"]
    result = perfield_cli("render", run_path, *words)
    assert result.returncode == 0, result.stderr


def test_picture_of_the_heat_case_follows_its_hot_spot(mpirun, bin_dir, heat3d, perfield_cli):
    arguments = ["--multiple-minds", 2, "--multiple-points", 8, "--max-num-time-steps", 6, "--print-log", 0]
    spot = ["--hot-spot", 20, "--print-hot-spot", 1]
    result = mpirun(8, bin_dir / "perfield-exec", heat3d, *arguments, *spot)
    assert result.returncode == 0, result.stderr
    holders = [int(rank) for rank in re.findall(r"hot spot.*?rank (\d+)", result.stdout)]
    rendered = perfield_cli("render", result.cwd / "perfield-run", "--steps", "all", "--geometry")
    assert rendered.returncode == 0, rendered.stderr
    slowest = []
    for _, path in steps_of(result.cwd / "perfield-run/pictures/geometry.pvd"):
        values = values_by_rank(path, "solver_loop_compute_time_s")
        slowest.append(int(max(values, key=values.get).removeprefix("rank_")))
    assert slowest == holders, result.stdout


def test_ended_run_without_steps_shows_one_frame(perfield_cli, tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=4, steps=0)
    result = perfield_cli("render", path, "--topology")
    assert result.returncode == 0, result.stderr
    assert "no step was closed: the one frame shown covers the whole run, from start to end" in result.stdout
    assert [time for time, _ in steps_of(path / "pictures/topology.pvd")] == [0.0]


def test_run_without_a_step_yet_is_an_error_and_leaves_no_directory(perfield_cli, tmp_path):
    path = twin.write_run(tmp_path / "run", steps=0, ended=False, change_rank=twin.live_rank)
    result = perfield_cli("render", path)
    assert result.returncode == 2
    assert "holds no finished step; wait for the first one" in result.stderr
    assert not (path / "pictures").exists()


def test_chosen_view_and_factor_reach_the_pictures(perfield_cli, run_path):
    words = ("--steps", "1", "--geometry")
    about = []
    for options in ((), ("--view", "exploded", "--explode", "0.25")):
        assert perfield_cli("render", run_path, *words, *options).returncode == 0
        known = json.loads((run_path / "pictures/pictures.json").read_text())
        about.append((known["view"], known["explode"]))
    assert about == [("auto", None), ("exploded", 0.25)]
    # Four slabs along x, each 1/4 thick: the middle of the last is 3/8 from the middle of the mesh.
    assert known["layers"]["geometry"]["spread"] == pytest.approx([0.375, 0, 0])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--explode", "far"], "'far' is no factor; give a number above 0, at most 100: 0.5"),
        (["--explode", "0"], "'0' is no factor"),
        (["--explode", "nan"], "'nan' is no factor"),
        (["--view", "open"], "(choose from 'auto', 'plain', 'exploded', 'highest', 'cut')"),
    ],
)
def test_bad_view_is_refused(perfield_cli, run_path, options, sentence):
    result = perfield_cli("render", run_path, *options)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert not (run_path / "pictures").exists()


def test_places_of_the_ranks_reach_the_pictures(perfield_cli, run_path):
    assert perfield_cli("render", run_path, "--steps", "1", "--geometry").returncode == 0
    places = json.loads((run_path / "pictures/pictures.json").read_text())["places"]
    assert places["host"] == ["a", "a", "b", "b"]
    assert places["core"] == [""] * 4, "the run does not describe its machine"


def test_layers_of_the_machine_can_be_left_out(perfield_cli, run_path):
    result = perfield_cli("render", run_path, "--topology", "--steps", "1", "--without", "messages,links")
    assert result.returncode == 0, result.stderr
    layers = json.loads((run_path / "pictures/pictures.json").read_text())["layers"]
    assert "topology/ranks" in layers
    assert not {"topology/messages", "topology/links"} & set(layers)
    refused = perfield_cli("render", run_path, "--without", "wires")
    assert refused.returncode == 2
    assert "--without wires: no layer that can be left out; these can: planes" in refused.stderr


def layer_of(directory, layer):
    """A layer of the first step of the machine's picture."""
    reader = vtkXMLMultiBlockDataReader()
    reader.SetFileName(str(steps_of(directory / "topology.pvd")[0][1]))
    reader.Update()
    picture = reader.GetOutput()
    names = [
        picture.GetMetaData(n).Get(vtkCompositeDataSet.NAME()) for n in range(picture.GetNumberOfBlocks())
    ]
    return picture.GetBlock(names.index(layer))


def cell_values(dataset, name):
    return vtk_to_numpy(dataset.GetCellData().GetArray(name)).tolist()


def test_zoom_shows_a_node_with_its_partners_beside_the_whole_picture(perfield_cli, tmp_path):
    run = twin.write_run(tmp_path / "run", ranks=8, steps=1, hosts=tuple("abcdefgh"))
    assert perfield_cli("render", run, "--topology").returncode == 0
    result = perfield_cli("render", run, "--zoom", "c")
    assert result.returncode == 0, result.stderr
    assert "zoom on c: 1 node, and the 2 that exchange messages with it" in result.stdout
    folder = run / "pictures/zoom-c"
    assert f"-o {folder}" in result.stdout
    assert cell_values(layer_of(folder, "measurements"), "rank") == [1, 2, 3]
    assert cell_values(layer_of(folder, "messages"), "source") == [1, 2]
    assert len(cell_values(layer_of(run / "pictures", "measurements"), "rank")) == 8
    assert not (folder / "geometry.pvd").exists()


def test_nodes_as_cells_are_an_option(perfield_cli, run_path):
    result = perfield_cli("render", run_path, "--topology", "--steps", "1", "--nodes", "cells")
    assert result.returncode == 0, result.stderr
    assert "2 nodes: one cell each; --zoom NAME shows some in full" in result.stdout
    assert cell_values(layer_of(run_path / "pictures", "measurements"), "n_ranks") == [2, 2]


@pytest.mark.parametrize(
    "options, lines",
    [
        (("--lines", "9"), [(0, 1), (1, 2), (2, 3), (3, 0)]),
        (("--lines", "2"), [(2, 3), (3, 0)]),
        (("--lines-from", "1,3"), [(1, 2), (3, 0)]),
        (("--lines-to", "b"), [(1, 2), (2, 3)]),
        (("--lines-only", "between-nodes"), [(1, 2), (3, 0)]),
        (("--lines-only", "non-neighbours"), [(3, 0)]),
        (("--lines-only", "between-nodes,non-neighbours", "--lines-from", "a"), []),
    ],
)
def test_lines_are_chosen_on_the_machine_and_on_the_mesh(perfield_cli, run_path, options, lines):
    result = perfield_cli("render", run_path, "--steps", "1", *options)
    assert result.returncode == 0, result.stderr
    drawn = layer_of(run_path / "pictures", "messages")
    assert list(zip(cell_values(drawn, "source"), cell_values(drawn, "target"))) == lines
    reader = vtkXMLPolyDataReader()
    reader.SetFileName(str(steps_of(run_path / "pictures/messages.pvd")[0][1]))
    reader.Update()
    on_mesh = reader.GetOutput()
    assert list(zip(cell_values(on_mesh, "source"), cell_values(on_mesh, "target"))) == lines


@pytest.mark.parametrize(
    "options, said",
    [
        (("--zoom", "q"), "'q' is no node, switch or rank of this run"),
        (("--zoom", "0-9"), "which has ranks 0 to 3"),
        (("--lines-from", "host7"), "'host7' is no node, switch or rank"),
        (("--lines-only", "between-switches"), "the switches of this run are not known"),
        (("--lines-only", "far"), "give one or more of between-nodes, between-switches, non-neighbours"),
        (("--lines", "0"), "'0' is not a number of lines; give 1 to 1000000"),
    ],
)
def test_wrong_choices_are_refused_before_anything_is_written(perfield_cli, run_path, options, said):
    result = perfield_cli("render", run_path, *options)
    assert result.returncode == 2
    assert said in " ".join(result.stderr.split())
    assert not (run_path / "pictures").exists()


def test_rhythm_is_on_both_pictures_where_asked_for(perfield_cli, tmp_path):
    path = rhythm_runs.write(tmp_path / "run", rhythm_runs.even(4, 5, behind_s=[0, 0.1, 0.2, 0.3]), mesh=True)
    result = perfield_cli("render", path, "--rhythm")
    assert result.returncode == 0, result.stderr
    for _, file in steps_of(path / "pictures/geometry.pvd"):
        ahead = values_by_rank(file, "phase_steps")
        assert list(ahead.values()) == pytest.approx([0.15, 0.05, -0.05, -0.15])
    layers = json.loads((path / "pictures/pictures.json").read_text())["layers"]
    for layer in ("geometry", "topology/measurements"):
        assert {"phase_steps", "phase_gradient_steps", "order_parameter"} <= set(layers[layer]["arrays"])
        assert layers[layer]["arrays"]["phase_steps"]["scale"] == pytest.approx([-0.15, 0.15])


def test_rhythm_of_a_single_step_is_refused(perfield_cli, tmp_path):
    path = rhythm_runs.write(tmp_path / "run", rhythm_runs.even(2, 1), mesh=True)
    result = perfield_cli("render", path, "--fields", "phase_steps")
    assert result.returncode == 2
    assert "a rhythm needs at least two; measure more steps" in result.stderr


def slow_node(path, n_steps=240):
    """A run on two nodes of two ranks, of which the second takes three times as long in steps 80 to 119."""
    random = np.random.default_rng(0)
    lengths = 1e-3 * np.exp(0.02 * random.standard_normal((4, n_steps)))
    lengths[2:, 80:120] *= 3
    starts = 4e-3 * np.arange(n_steps)
    stamps = {rank: list(zip(starts, starts + one)) for rank, one in enumerate(lengths)}
    return rhythm_runs.write(path, stamps, mesh=True, hosts=("n1", "n2"))


def test_regimes_are_on_both_pictures_where_asked_for(perfield_cli, tmp_path):
    path = slow_node(tmp_path / "run")
    result = perfield_cli("render", path, "--regimes", "--steps", "101,161")
    assert result.returncode == 0, result.stderr
    shades = [
        list(values_by_rank(file, "regime_shade").values())
        for _, file in steps_of(path / "pictures/geometry.pvd")
    ]
    assert shades == [[1, 1, 3, 3], [1, 1, 1, 1]]
    layers = json.loads((path / "pictures/pictures.json").read_text())["layers"]
    for layer in ("geometry", "topology/measurements"):
        about = layers[layer]["arrays"]
        assert about["regime_shade"]["names"]["3"] == "slow: mean 3 ms"
        assert about["slow_share"]["range"] == pytest.approx([0, 1 / 6], abs=0.01)
    assert layers["topology/machine"]["arrays"]["slow_share"]["range"][1] == pytest.approx(1 / 6, abs=0.01)
    assert "regime_shade" not in layers["topology/machine"]["arrays"]


def test_default_steps_show_the_slow_regime(perfield_cli, tmp_path):
    path = slow_node(tmp_path / "run")
    assert perfield_cli("render", path, "--regimes-of", "step_time_s", "--topology").returncode == 0
    described = json.loads((path / "pictures/pictures.json").read_text())
    (shown,) = described["highlights"]
    assert 80 <= shown < 120
    assert shown in [step["frame"] for step in described["steps"]]


def test_regimes_of_what_is_no_time_are_refused(perfield_cli, run_path):
    result = perfield_cli("render", run_path, "--regimes-of", "sent_bytes")
    assert result.returncode == 2
    assert "field 'sent_bytes' is in B" in " ".join(result.stderr.split())
