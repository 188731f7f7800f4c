# SPDX-License-Identifier: BSD-3-Clause
"""What the solver of `testcase/poisson` recorded of each MatVec."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import xarray as xr

from perfield.derived.numpy_files import read_numpy
from perfield.studies.hiding.model.errors import HidingError

SETTINGS = "study.json"
SECONDS = ("t_start", "t_in", "t_out", "w_in", "w_out")
COUNTS = ("n_inner1", "n_inner2", "n_mirror", "n_polls", "n_partners")
FIELDS = ("matvec", "level", "phase", *SECONDS, "alpha", *COUNTS)
PHASES = ("none", "pre-smoothing", "post-smoothing", "energy product", "residual")
MEASURED = "measured"


def read_study(path: str | Path) -> xr.Dataset:
    """The record of one solve: (rank, step), where a step is one MatVec, on whatever level.

    Holds `time_s` = `t_in` + `t_out` (s, without mirror elements), the waits `w_in` and `w_out` (s),
    `t_start` (s), `alpha`, `level`, `phase` (0 to 4: PHASES), the counts `n_inner1`, `n_inner2`, `n_mirror`,
    `n_polls` and `n_partners`, and what else the files hold. Its attributes are those of study.json, where
    lists and tables become JSON, and `source` ("measured"); `injected` says what injected latencies, "" if
    nothing did. Ranks with fewer known MatVecs end with the shortest. Raises HidingError.
    """
    folder = Path(path)
    files = {
        int(found.group(1)): file
        for file in sorted(folder.glob("matvec.*.npy"))
        if (found := re.fullmatch(r"matvec\.(\d+)\.npy", file.name))
    }
    if not files:
        raise HidingError(
            f"{folder} holds no record: there is no matvec.<rank>.npy; name the directory that the solver "
            "wrote."
        )
    ranks = sorted(files)
    if ranks != list(range(len(ranks))):
        raise HidingError(
            f"{folder} holds records of {len(ranks)} ranks, but one has number {ranks[-1]}, so some are "
            "missing; let the solver end, or copy all of its files."
        )
    rows = [_rows(files[rank]) for rank in ranks]
    n = min(map(len, rows))
    if n == 0:
        raise HidingError(f"{folder} holds no MatVec; let the solver make at least one.")
    names = [name for name in rows[0].dtype.names if name != "matvec"]
    for rank, row in enumerate(rows):
        if missing := set(names).difference(row.dtype.names):
            raise HidingError(
                f"{files[rank]} lacks {', '.join(sorted(missing))}, unlike {files[0]}; let the solver write "
                "all of them again."
            )
    data = {name: (("rank", "step"), np.stack([row[name][:n] for row in rows])) for name in names}
    found = xr.Dataset(data, {"rank": ranks, "step": np.arange(n)}, _attributes(folder))
    for name in SECONDS:
        found[name].attrs["units"] = "s"
    found["time_s"] = found["t_in"] + found["t_out"]
    found["time_s"].attrs.update(units="s", long_name="MatVec")
    return found


def finest(study: xr.Dataset) -> xr.Dataset:
    """The MatVecs on the finest level (0), numbered from 0, as the paper shows multigrid (section 3.2)."""
    chosen = study.isel(step=np.flatnonzero((study["level"] == 0).all("rank").values))
    return chosen.assign_coords(step=np.arange(chosen.sizes["step"]))


def _rows(file: Path) -> np.ndarray:
    try:
        rows = read_numpy(file)
    except Exception as error:  # tokenize and others have many for a damaged file
        raise HidingError(
            f"{file} is not a NumPy file: {error!s:.300}. Let the solver write it again."
        ) from error
    names = () if isinstance(rows, dict) or rows.ndim != 1 else rows.dtype.names or ()
    missing = [name for name in FIELDS if name not in names]
    if missing:
        raise HidingError(f"{file} lacks {', '.join(missing)}; let the solver of this perfield write it.")
    odd = [name for name in names if name in ("rank", "step") or rows.dtype[name].kind not in "biuf"]
    if odd:
        raise HidingError(
            f"{file} has no numbers of MatVecs in {', '.join(odd)}; let the solver write it again."
        )
    return rows


def _attributes(folder: Path) -> dict[str, object]:
    file = folder / SETTINGS
    if not file.is_file():
        raise HidingError(
            f"{folder} has no {SETTINGS}, so its method is unknown; let the solver write it again."
        )
    try:
        settings = dict(json.loads(file.read_text(encoding="utf-8")))
    except (ValueError, TypeError, RecursionError) as error:
        raise HidingError(f"{file} is not a JSON object: {error}. Let the solver write it again.") from error
    plain = {
        key: value if isinstance(value, (str, int, float)) else json.dumps(value)
        for key, value in settings.items()
    }
    found: dict[str, object] = {k: int(v) if isinstance(v, bool) else v for k, v in plain.items()}
    injected = (found.pop("injected_by", "") or "unknown") if found.get("latencies_injected") else ""
    return {**found, "injected": injected, "source": MEASURED}
