# SPDX-License-Identifier: BSD-3-Clause
"""`perfield export`: a run as Zarr and Parquet, read back by the readers of these formats."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import perfield
from perfield import commands
from twins import twin

zarr = pytest.importorskip("zarr", reason="zarr is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
FORMATS = ("zarr", "parquet")


@pytest.fixture
def path(tmp_path):
    """Three ranks on two hosts, five steps; rank 1 lacks step 3, rank 2 enters `exchange` in step 0 only."""

    def change(rank, step, values):
        if rank == 2 and step:
            values["regions"] = values["regions"][:1]
            values["quantities"] = []
        return not (rank == 1 and step == 3)

    return twin.write_run(
        tmp_path / "run", ranks=3, steps=5, hosts=("a", "b"), change_step=change, mesh=False
    )


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks of two steps of three ranks."""
    monkeypatch.setattr("perfield.run.snapshot.ENTRIES_PER_CHUNK", 6)


def test_zarr_holds_the_dataset(path, tmp_path, small_chunks, capsys):
    target = tmp_path / "out.zarr"
    assert commands.main(["export", str(path), "--to", "zarr", "-o", str(target)]) == 0
    printed = capsys.readouterr().out
    assert f"{target}: 5 steps on 3 ranks" in printed and "xarray.open_zarr(" in printed
    steps = perfield.open(path).steps
    found = xr.open_zarr(target)
    xr.testing.assert_identical(found.compute(), steps.compute())
    group = zarr.open(str(target), mode="r")
    assert group["step_time_s"].chunks == (2, 3) and group["region_time_s"].chunks[0] == 2
    np.testing.assert_array_equal(group["step_time_s"][:], steps["step_time_s"].values)
    assert group["region_time_s"].attrs["units"] == "s"


def test_parquet_holds_fields_regions_messages_and_ranks(path, tmp_path, small_chunks, capsys):
    target = tmp_path / "out"
    assert commands.main(["export", str(path), "--to", "parquet", "-o", str(target)]) == 0
    assert "pandas.read_parquet(" in capsys.readouterr().out
    run = perfield.open(path)
    steps = run.steps.compute()
    fields = parquet.read_table(target / "fields.parquet")
    assert parquet.ParquetFile(target / "fields.parquet").num_row_groups == 3
    assert fields.schema.field("step_time_s").metadata == {b"units": b"s"}
    rows = fields.to_pandas().set_index(["step", "rank"])
    assert len(rows) == 15
    for name in (name for name, variable in steps.data_vars.items() if variable.dims == ("step", "rank")):
        np.testing.assert_array_equal(rows[name].to_numpy().reshape(5, 3), steps[name].values, err_msg=name)
    assert rows.loc[4, "time"].tolist() == [2.5] * 3

    regions = parquet.read_table(target / "regions.parquet").to_pandas()
    expected = steps["region_time_s"].to_series().dropna()
    assert len(regions) == len(expected) == 5 * 3 * 2 - 2 - 4
    found = regions.set_index(["step", "rank", "region"])["region_time_s"]
    assert found.to_dict() == expected.to_dict()
    for name in ("messages", "received", "waits"):
        table = parquet.read_table(target / f"{name}.parquet").to_pandas()
        assert table.to_dict("list") == getattr(run, name)(slice(None)).to_dict("list"), name
    ranks = parquet.read_table(target / "ranks.parquet").to_pandas()
    assert ranks["host"].tolist() == ["a", "a", "b"]


@pytest.mark.parametrize("to", FORMATS)
def test_default_name_is_that_of_the_run(path, to, perfield_cli):
    result = perfield_cli("export", path, "--to", to)
    assert result.returncode == 0, result.stderr
    assert [entry.name for entry in result.cwd.iterdir()] == [f"run.{to}"]


@pytest.mark.parametrize("to", FORMATS)
def test_run_without_steps_is_exported(tmp_path, to):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=0, ended=False, change_rank=twin.live_rank)
    target = tmp_path / "out"
    assert commands.main(["export", str(path), "--to", to, "-o", str(target)]) == 0
    if to == "zarr":
        assert xr.open_zarr(target).sizes["step"] == 0
    else:
        messages = parquet.read_table(target / "messages.parquet")
        assert messages.num_rows == 0 and str(messages.schema.field("call").type) == "string"


@pytest.mark.parametrize("to", FORMATS)
def test_existing_target_is_not_changed(path, tmp_path, to, capsys):
    target = tmp_path / "out"
    target.write_text("mine")
    assert commands.main(["export", str(path), "--to", to, "-o", str(target)]) == 2
    advice = "remove it, or name another."
    assert f"{target} exists already and was left as it is; {advice}\n" in capsys.readouterr().err
    assert target.read_text() == "mine"


@pytest.mark.parametrize("to", FORMATS)
def test_full_disk_is_an_error_and_leaves_nothing(path, tmp_path, to):
    place = tmp_path / "full"
    place.mkdir()
    program = Path(sys.executable).parent / "perfield"
    result = subprocess.run(
        [program, "export", path, "--to", to, "-o", place / "out"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert (
        f"{place / 'out'} could not be written: File too large. Nothing is left of it; make room"
        in result.stderr
    )
    assert list(place.iterdir()) == []


def test_missing_folder_of_the_target_is_an_error(path, tmp_path, capsys):
    assert commands.main(["export", str(path), "--to", "zarr", "-o", str(tmp_path / "no" / "out")]) == 2
    assert "is not a directory; make it first" in capsys.readouterr().err


def test_losing_a_stream_during_export_leaves_nothing(path, tmp_path, monkeypatch, capsys):
    opened = perfield.open(path)
    (path / "stream/b-b-0000-0.pf").unlink()
    monkeypatch.setattr(perfield, "open", lambda _: opened)
    target = tmp_path / "out"
    assert commands.main(["export", str(path), "--to", "parquet", "-o", str(target)]) == 2
    assert "is no longer there, but was when the run was opened" in capsys.readouterr().err
    assert not target.exists() and not list(tmp_path.glob(".out*"))


def test_missing_package_is_named(path, monkeypatch, capsys):
    monkeypatch.setattr("perfield.commands.export.find_spec", lambda name: None)
    assert commands.main(["export", str(path), "--to", "zarr"]) == 2
    assert "--to zarr needs the Python package zarr, which is not installed" in capsys.readouterr().err
