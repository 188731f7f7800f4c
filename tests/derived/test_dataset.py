# SPDX-License-Identifier: BSD-3-Clause
"""A run as a lazy xarray Dataset: `run.steps` and `xr.open_dataset(..., engine="perfield")`."""

from __future__ import annotations

import io
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import perfield
from perfield.run import RunError
from twins import twin

# xarray warns if chunks are smaller than the preferred ones. These tests want small chunks.
pytestmark = pytest.mark.filterwarnings("ignore:The specified Dask chunks separate the stored chunks")
NOBODY = "give the directory that perfield made"


@pytest.fixture
def path(tmp_path):
    """Three ranks on two hosts, six steps."""
    return twin.write_run(tmp_path / "run", ranks=3, steps=6, hosts=("a", "b"), mesh=False)


def add_step(path: Path, step: int, ranks: int = 3) -> None:
    """Appends a step to the unfinished run `path`."""
    for rank in range(ranks):
        stream = next(file for file in streams_of(path) if rank in ranks_in(file))
        sequence = 1 + max(entry["sequence"] for entry in twin.decode(stream.read_bytes())[0])
        body = twin.step_body(**twin.step_values(rank, ranks, step, mesh_version=0))
        with stream.open("ab") as file:
            file.write(twin.entry("step", body, rank=rank, sequence=sequence, index=step))


def streams_of(path: Path) -> list[Path]:
    return sorted((path / "stream").glob("*.pf"))


def ranks_in(stream: Path) -> set[int]:
    return {entry["rank"] for entry in twin.decode(stream.read_bytes())[0]}


def flip_body_of_step(path: Path, rank: int, step: int) -> None:
    """Damages one step entry of a rank."""
    for stream in streams_of(path):
        data = bytearray(stream.read_bytes())
        for entry in twin.decode(bytes(data))[0]:
            is_step = entry["type"] == "step" and entry["body"]["kind"] == 0
            if is_step and (entry["rank"], entry["index"]) == (rank, step):
                data[entry["end"] - 9] ^= 0xFF
        stream.write_bytes(data)


# --- what it holds --------------------------------------------------------------------------------


def test_misspelt_fields_are_answered_with_the_nearest_name(path):
    run = perfield.open(path)
    with pytest.raises(KeyError, match="has no field 'step_tine_s'; did you mean step_time_s"):
        run.values(["step_tine_s"])
    with pytest.raises(TypeError, match=r"found the text 'step_time_s'; give \['step_time_s'\]"):
        run.values("step_time_s")


@pytest.mark.filterwarnings("ignore:The specified chunks separate")  # which these tests want
@pytest.mark.parametrize("chunks", [None, {}, {"step": 4}])
def test_dataset_equals_the_frames(path, chunks):
    run = perfield.open(path)
    data = xr.open_dataset(path, engine="perfield", chunks=chunks)
    assert dict(data.sizes) == {"step": 6, "rank": 3, "region": 2}
    for number, frame in enumerate(run.frames()):
        stems = data["region"].values.tolist()
        names = {
            "rank",
            *data.data_vars,
            *(
                name.replace("region", stem, 1)
                for name in data
                for stem in stems
                if name.startswith("region_")
            ),
        }
        assert set(frame.values) <= names
        for name, values in frame.values.items():
            if name in data.data_vars:
                np.testing.assert_array_equal(data[name].values[number], values, err_msg=name)
        for name in ("region_time_s", "region_count", "region_mpi_time_s", "region_compute_time_s"):
            for stem in stems:
                found = data[name].sel(region=stem).values[number]
                np.testing.assert_array_equal(
                    found, frame.values[name.replace("region", stem, 1)], err_msg=name
                )
        of_step = data.isel(step=number)
        assert (of_step.label, of_step.time, of_step.span) == (frame.label, frame.time, frame.span)


def test_coordinates_show_where_ranks_ran(path):
    data = perfield.open(path).steps
    assert data["host"].values.tolist() == ["a", "a", "b"]
    assert data["node"].values.tolist() == [0, 0, 1]
    assert data["step"].values.tolist() == [0, 1, 2, 3, 4, 5]
    assert data["label"].values.tolist() == [1, 2, 3, 4, 5, 6]
    assert data["time"].values.tolist() == [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    assert data["region"].values.tolist() == ["exchange", "solve"]
    by_host = data["step_time_s"].groupby("host").count().sel(host="a")
    assert int(by_host.sum() if by_host.ndim else by_host) == 12
    assert data.attrs["state"] == "finished"


def test_each_variable_has_unit_meaning_and_source(path):
    data = perfield.open(path).steps
    for name, variable in data.data_vars.items():
        assert variable.attrs["units"] in ("s", "B", "1"), name
        assert variable.attrs["long_name"], name
        assert variable.attrs["source"] in ("measured", "computed"), name
    assert data["region_time_s"].attrs["direction"] == data["mpi_time_s"].attrs["direction"] == "lower"
    assert "direction" not in data["sent_bytes"].attrs


@pytest.mark.parametrize(
    "key",
    [
        {"step": 2},
        {"step": -1, "rank": 0},
        {"step": slice(1, 5, 2), "region": 1},
        {"step": [4, 0, 4], "rank": [2, 1], "region": [1]},
        {"step": slice(None, None, -1), "rank": slice(1, None)},
        {"step": [], "region": slice(0, 0)},
        {"rank": 2, "region": 0},
    ],
    ids=str,
)
def test_indexing_before_and_after_reading_gives_the_same(path, key):
    lazy = xr.open_dataset(path, engine="perfield", cache=False)["region_time_s"]
    xr.testing.assert_identical(lazy.isel(key).load(), lazy.compute().isel(key))


def test_absent_is_nan(tmp_path):
    def lost(rank, step, values):
        return not (rank == 1 and step == 1)

    data = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=2, change_step=lost)).steps
    assert np.isnan(data["step_time_s"].values).tolist() == [[False, False], [False, True]]
    assert np.isnan(data["region_time_s"].values[1, 1]).all()
    assert data["partial"].values.tolist() == [False, False]


def test_variables_can_be_dropped(path):
    data = xr.open_dataset(path, engine="perfield", drop_variables=["step_time_s", "no such"])
    assert "step_time_s" not in data and "compute_time_s" in data
    assert "time" not in xr.open_dataset(path, engine="perfield", drop_variables="time").coords


# --- which runs -----------------------------------------------------------------------------------


def test_run_without_a_step_has_an_empty_dataset(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=0, ended=False, change_rank=twin.live_rank)
    data = perfield.open(path).steps
    assert data.sizes["step"] == 0 and data["step_time_s"].values.shape == (0, 1)
    assert data["region_time_s"].sum().compute() == 0


def test_run_without_steps_is_one_frame(tmp_path):
    data = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=0)).steps
    assert data["step_time_s"].values.tolist() == [[0.012, 0.012]]


def test_run_without_regions_has_no_region(tmp_path):
    def bare(rank, step, values):
        values |= {"regions": [], "quantities": []}

    path = twin.write_run(tmp_path / "run", ranks=2, steps=2, regions=(), change_step=bare)
    data = perfield.open(path).steps
    assert data.sizes["region"] == 0 and data["region_time_s"].values.shape == (2, 2, 0)


def test_killed_run_is_read(tmp_path):
    data = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=3, ended=False)).steps
    assert data.attrs["state"] == "killed" and np.isfinite(data["step_time_s"].values).all()


@pytest.mark.filterwarnings("ignore:'scipy' fails while guessing")  # at a directory
# Where netCDF4 is installed, xarray asks it first, which then tries to read the folder as a file.
@pytest.mark.filterwarnings("ignore:.* fails while guessing:RuntimeWarning")
def test_engine_is_found_without_its_name(path):
    assert xr.open_dataset(path)["step_time_s"].shape == (6, 3)
    assert xr.open_dataset(str(path))["step_time_s"].shape == (6, 3)
    assert "perfield" in xr.backends.list_engines()


def test_wrong_path_gives_a_sentence(path, tmp_path):
    def said(what) -> str:
        with pytest.raises(RunError) as caught:
            xr.open_dataset(what, engine="perfield")
        return str(caught.value)

    (tmp_path / "empty").mkdir()
    (tmp_path / "file.nc").write_text("CDF")
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(path / "run.json", bare)
    assert f"does not exist; {NOBODY}" in said(tmp_path / "nothing")
    assert f"is a file, not a run directory; {NOBODY}" in said(tmp_path / "file.nc")
    assert "it has no run.json (it holds nothing)" in said(tmp_path / "empty")
    assert "has a run.json but no stream: no rank has checked in" in said(bare)
    assert "a BytesIO was given to engine='perfield', which opens run directories only" in said(io.BytesIO())


# --- runs that change -----------------------------------------------------------------------------


def test_dataset_grows_only_when_reopened(tmp_path):
    path = twin.write_run(
        tmp_path / "run", steps=2, ranks=3, ended=False, change_rank=twin.live_rank, mesh=False
    )
    run = perfield.open(path)
    before = run.steps
    elsewhere = pickle.dumps(before)
    sum_before = float(before["region_time_s"].sum())
    add_step(path, 2)
    assert run.steps.sizes["step"] == 2
    run.refresh()
    after = run.steps
    assert after.sizes["step"] == 3 and before.sizes["step"] == 2
    assert float(before["region_time_s"].sum()) == sum_before < float(after["region_time_s"].sum())
    reopened = pickle.loads(elsewhere)
    xr.testing.assert_identical(reopened.compute(), before.compute())
    np.testing.assert_array_equal(after["step_time_s"].values[:2], before["step_time_s"].values)


def test_snapshot_ignores_later_entries(tmp_path):
    def first_ranks(rank, step, values):
        return rank < 2 or step < 1

    live = {"ended": False, "change_rank": twin.live_rank, "mesh": False, "change_step": first_ranks}
    path = twin.write_run(tmp_path / "run", steps=2, ranks=3, **live)
    run = perfield.open(path)
    before = run.steps
    elsewhere = pickle.dumps(before)
    assert before["partial"].values.tolist() == [False, True]
    stream = streams_of(path)[0]
    body = twin.step_body(**twin.step_values(2, 3, 1, mesh_version=0))
    with stream.open("ab") as file:
        file.write(twin.entry("step", body, rank=2, sequence=5, index=1))
    run.refresh()
    assert np.isfinite(run.steps["step_time_s"].values).all()
    assert np.isnan(before["step_time_s"].values[1]).tolist() == [False, False, True]
    assert np.isnan(pickle.loads(elsewhere)["step_time_s"].values[1]).tolist() == [False, False, True]


def test_end_of_the_run_leaves_the_dataset_unchanged(tmp_path):
    path = twin.write_run(tmp_path / "run", steps=3, ended=False, change_rank=twin.live_rank, mesh=False)
    run = perfield.open(path)
    data = run.steps
    shutil.rmtree(path)
    twin.write_run(path, steps=3, change_rank=twin.live_rank, mesh=False)
    assert data.attrs["state"] == "running"
    assert np.isfinite(data["step_time_s"].values).all()


def test_lost_file_is_an_error_on_reading(path):
    run = perfield.open(path)
    data = run.steps
    elsewhere = pickle.dumps(data)
    streams_of(path)[1].unlink()
    steps = run.steps  # reads no step yet
    for found in (data, steps):
        with pytest.raises(RunError, match=r"b-b-0000-0\.pf is no longer there, but was when the run was"):
            found["step_time_s"].compute()
    with pytest.raises(RunError, match=r"b-b-0000-0\.pf is no longer there"):
        pickle.loads(elsewhere)["step_time_s"].compute()
    with pytest.raises(RunError, match=r"b-b-0000-0\.pf is no longer there"):
        run.messages([0, 1])


def test_damaged_part_is_nan_with_a_note(path):
    flip_body_of_step(path, rank=1, step=2)
    run = perfield.open(path)
    absent = np.isnan(run.steps["region_time_s"].sel(region="solve").values)
    assert np.argwhere(absent).tolist() == [[2, 1]]
    assert any("were passed over" in sentence for sentence in run.damage)
    assert run.steps["label"].values.tolist() == [1, 2, 3, 4, 5, 6]


def test_later_damage_is_nan_and_noted_on_reopening(path):
    run = perfield.open(path)
    data = run.steps
    flip_body_of_step(path, rank=0, step=3)
    assert np.argwhere(np.isnan(data["step_time_s"].values)).tolist() == [[3, 0]]
    assert data["label"].values.tolist() == [1, 2, 3, 4, 5, 6]  # by the next rank
    assert perfield.open(path).damage


# --- in parallel, and in little memory ------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The specified chunks separate")  # which these tests want
def test_chunks_are_read_on_threads(tmp_path):
    import dask

    run = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=40, mesh=False))
    data = xr.open_dataset(run.path, engine="perfield", chunks={"step": 3})
    expected = np.stack([frame.values["solve_time_s"] for frame in run.frames()])
    with dask.config.set(scheduler="threads", num_workers=4):
        for _ in range(5):
            np.testing.assert_array_equal(data["region_time_s"].sel(region="solve").values, expected)


def test_cluster_workers_read_chunks(path, tmp_path):
    pytest.importorskip("distributed", reason="dask's distributed is not installed")
    program = tmp_path / "program.py"
    program.write_text(f"""
import distributed, perfield, xarray as xr

if __name__ == "__main__":
    data = xr.open_dataset({str(path)!r}, engine="perfield", chunks={{"step": 2}})
    imbalance = data["region_time_s"].max("rank") / data["region_time_s"].mean("rank")
    expected = imbalance.compute(scheduler="synchronous")
    options = dict(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        assert len(client.scheduler_info()["workers"]) == 2
        xr.testing.assert_identical(imbalance.compute(), expected)
        print(perfield.open({str(path)!r}).messages()["bytes"].sum().compute())
""")
    result = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) == 6 * 2 * 1000 * (1 + 2 + 3)


def test_open_run_pickles_by_its_path(path):
    run = perfield.open(path)
    other = pickle.loads(pickle.dumps(run))
    assert (other.n_ranks, len(other)) == (3, 6) and other.path == path
    assert len(pickle.dumps(run)) < 500


def test_reduction_needs_the_memory_of_few_chunks(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=3000, mesh=False)
    program = f"""
import sys, dask, xarray as xr

def peak_kb():  # ru_maxrss would include the parent process
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

dask.config.set(scheduler="synchronous")
data = xr.open_dataset({str(path)!r}, engine="perfield", chunks={{"step": 50}})
one = data["region_time_s"].isel(step=slice(0, 50)).sum().compute()
before = peak_kb()
kept = [data[name].sum().compute() for name in ("region_time_s", "region_count", "region_self_time_s")]
print(peak_kb() - before, data["region_time_s"].nbytes // 1024)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    grown_kb, variable_kb = map(int, result.stdout.split())
    assert variable_kb == 3000 * 2 * 2 * 8 // 1024
    assert grown_kb < 8000, f"reading chunk by chunk took {grown_kb} kB more than one chunk does"


# --- whole-run questions ---------------------------------------------------------------------------


def test_examples_of_the_docs_run(tmp_path, monkeypatch):
    path = twin.write_run(tmp_path / "perfield-run", ranks=3, steps=22, mesh=False)
    page = (Path(__file__).resolve().parents[2] / "docs" / "analysis.md").read_text()
    begin, *lines = (
        page.partition("```python\n")[2].partition("```")[0].strip().split("\n\n", 1)[1].splitlines()
    )
    questions = [line for line in lines if not line.startswith("#")]
    monkeypatch.chdir(path.parent)
    known = {"perfield": perfield}
    exec(begin, known)
    slowest, imbalance, matrix = (eval(question, known) for question in questions)
    assert slowest == 2
    compute = np.array([[twin.solve_ns(rank, step) + 100_000 for rank in range(3)] for step in range(22)])
    np.testing.assert_allclose(imbalance, compute.max(1) / compute.mean(1), rtol=1e-12)
    assert imbalance.index.tolist() == list(range(22))
    assert matrix.values.tolist() == [[0, 44000, 0], [0, 0, 88000], [132000, 0, 0]]
