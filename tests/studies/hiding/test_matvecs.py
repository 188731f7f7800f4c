# SPDX-License-Identifier: BSD-3-Clause
"""Records of the solver: what is read, and errors of incomplete ones."""

from __future__ import annotations

import json

import numpy as np
import pytest

from perfield.studies.hiding.matvecs import COUNTS, FIELDS, SECONDS, read_study
from perfield.studies.hiding.model import HidingError, hidden_share

KINDS = [(name, "f8" if name in (*SECONDS, "alpha") else "i4") for name in FIELDS]


def write(folder, n_ranks=2, n=(5, 4)):
    folder.mkdir()
    for rank in range(n_ranks):
        rows = np.zeros(n[rank], KINDS)
        rows["matvec"] = np.arange(n[rank])
        rows["t_in"], rows["t_out"], rows["w_out"] = 1e-3, 2e-3, 1e-4 * rank
        rows["alpha"], rows["n_inner1"] = 0.5, 40
        np.save(folder / f"matvec.{rank}.npy", rows)
    settings = {"method": "dynamic", "ranks": n_ranks, "eps": 5e-5, "shape": [2, 1, 1]}
    settings |= {"latencies_injected": True, "injected_by": "m.json"}
    (folder / "study.json").write_text(json.dumps(settings))
    return folder


def test_record_is_timings_with_the_settings_of_the_solver(tmp_path):
    found = read_study(write(tmp_path / "a"))
    assert dict(found.sizes) == {"rank": 2, "step": 4}  # the shorter rank ends both
    np.testing.assert_allclose(found["time_s"], 3e-3)
    assert found["time_s"].attrs["units"] == "s"
    assert found.attrs["method"] == "dynamic" and found.attrs["injected"] == "m.json"
    assert json.loads(found.attrs["shape"]) == [2, 1, 1]
    assert found.attrs["source"] == "measured"
    assert set(COUNTS) <= set(found)
    assert float(hidden_share(found, 5e-5)) == 0.5


def test_folder_without_a_record_is_refused(tmp_path):
    with pytest.raises(HidingError, match=r"holds no record: there is no matvec.<rank>.npy"):
        read_study(tmp_path)


def test_missing_rank_is_refused(tmp_path):
    folder = write(tmp_path / "a")
    (folder / "matvec.0.npy").unlink()
    with pytest.raises(HidingError, match=r"records of 1 ranks, but one has number 1.*missing"):
        read_study(folder)


def test_record_without_a_field_is_refused(tmp_path):
    folder = write(tmp_path / "a")
    rows = np.load(folder / "matvec.1.npy")
    np.save(folder / "matvec.1.npy", rows[["matvec", "t_in"]])
    with pytest.raises(HidingError, match=r"matvec.1.npy lacks level, phase"):
        read_study(folder)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("t_in", "(8,)f8"), ("alpha", "S8"), ("more", "V4"), ("step", "i4")],
    ids=["arrays", "text", "raw bytes", "a name of a dimension"],
)
def test_column_without_numbers_is_refused(tmp_path, name, kind):
    folder = write(tmp_path / "a")
    np.save(folder / "matvec.1.npy", np.zeros(4, list({**dict(KINDS), name: kind}.items())))
    with pytest.raises(HidingError, match=rf"matvec.1.npy has no numbers of MatVecs in {name};"):
        read_study(folder)


def test_column_that_another_rank_lacks_is_refused(tmp_path):
    folder = write(tmp_path / "a")
    np.save(folder / "matvec.0.npy", np.zeros(5, [*KINDS, ("more", "i4")]))
    with pytest.raises(HidingError, match=r"matvec.1.npy lacks more, unlike .*matvec.0.npy"):
        read_study(folder)


def test_file_that_is_no_array_is_refused(tmp_path):
    folder = write(tmp_path / "a")
    (folder / "matvec.1.npy").write_text("nothing")
    with pytest.raises(HidingError, match=r"matvec.1.npy is not a NumPy file"):
        read_study(folder)


def test_record_without_the_settings_of_the_solver_is_refused(tmp_path):
    folder = write(tmp_path / "a")
    for text in ("{", "[1]", "null"):
        (folder / "study.json").write_text(text)
        with pytest.raises(HidingError, match=r"study.json is not a JSON object"):
            read_study(folder)
    (folder / "study.json").unlink()
    with pytest.raises(HidingError, match=r"has no study.json"):
        read_study(folder)


def test_solve_without_a_matvec_is_refused(tmp_path):
    with pytest.raises(HidingError, match="holds no MatVec"):
        read_study(write(tmp_path / "a", n=(0, 0)))
