# SPDX-License-Identifier: BSD-3-Clause
"""The run as an xarray Dataset."""

from __future__ import annotations

import numpy as np
import pytest

import perfield
import twin

pytest.importorskip("xarray", reason="xarray is not installed, so there is no Dataset to test")


@pytest.fixture
def run(tmp_path):
    """Three ranks, four steps."""
    return perfield.open(twin.write_run(tmp_path / "run", ranks=3, steps=4))


def test_dataset_holds_the_frames(run):
    data = run.dataset()
    assert dict(data.sizes) == {"step": 4, "rank": 3, "region": 2, "message": 12, "arrival": 12, "waited": 12}
    for number, frame in enumerate(run.frames()):
        for name in ("step_time_s", "sent_bytes", "received_count", "mpi_wait_time_s"):
            np.testing.assert_array_equal(data[name].values[number], frame.values[name], err_msg=name)
        np.testing.assert_array_equal(
            data["region_time_s"].sel(region="solve").values[number], frame.values["solve_time_s"]
        )
    assert data["time"].values.tolist() == [0.5, 1.0, 1.5, 2.0]
    assert data.attrs["state"] == "finished"


def test_units_stand_with_the_variables(run):
    data = run.dataset()
    units = {
        name: data[name].attrs["units"]
        for name in ("step_time_s", "sent_bytes", "sent_count", "region_time_s")
    }
    assert units == {"step_time_s": "s", "sent_bytes": "B", "sent_count": "1", "region_time_s": "s"}


def test_messages_are_a_sparse_table(run):
    data = run.dataset()
    rows = zip(*(data[f"message_{name}"].values.tolist() for name in ("step", "source", "target", "bytes")))
    assert sorted(rows) == sorted(
        (step, r, (r + 1) % 3, 2000 * (r + 1)) for step in range(4) for r in range(3)
    )


def test_absent_is_nan(tmp_path):
    def lost(rank, step, values):
        return not (rank == 1 and step == 1)

    data = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=2, change_step=lost)).dataset()
    assert np.isnan(data["step_time_s"].values).tolist() == [[False, False], [False, True]]
    assert np.isnan(data["region_time_s"].values[1, 1]).all()


def test_run_without_a_step_yet_has_an_empty_dataset(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=0, ended=False, change_rank=twin.live_rank)
    data = perfield.open(path).dataset()
    assert data.sizes["step"] == 0 and data.sizes["message"] == 0
