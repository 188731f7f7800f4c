# SPDX-License-Identifier: BSD-3-Clause
"""Timings that some other tool wrote: NumPy, CSV and Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.catalyst_scripts.safe_open import why_unsafe
from perfield.commands import CommandError
from perfield.derived.numpy_files import read_numpy
from perfield.text import did_you_mean, in_list

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

ENDINGS = (".npy", ".npz", ".csv", ".parquet")
UNITS = {"_ns": 1e-9, "_us": 1e-6, "_ms": 1e-3, "_s": 1.0}  # by the ending of a name
RANK, STEP = "rank", "step"


def is_file_of_timings(path: Path) -> bool:
    """Whether a path names a file of timings and no run directory."""
    return path.suffix.lower() in ENDINGS and not path.is_dir()


def read_timings(path: Path, field: str | None = None) -> xr.Dataset:
    """The timings in a file, as `perfield.studies.regimes.model.timings` makes them.

    .npy : (n_ranks, n_steps) or (n_steps). .npz : the same under a name; `rank` and `step` may be beside
    it. .csv, .parquet : columns rank, step and one of times; or one column per rank and one row per step.
    field : the name of the array or column; may be left out where there is one only. Times are seconds,
    unless the name ends in _ms, _us or _ns. Raises CommandError.
    """
    if not path.exists():
        raise CommandError(f"{path} does not exist; name a run directory or a file of timings.")
    if words := why_unsafe(path, None):
        raise CommandError(words)
    ending = path.suffix.lower()
    if ending in (".npy", ".npz"):
        return _of_arrays(path, field)
    return _of_table(path, _table(path), field)


def _of_arrays(path: Path, field: str | None) -> xr.Dataset:
    try:
        loaded = read_numpy(path)
    except Exception as error:  # zipfile, zlib and tokenize have many for a damaged file
        raise CommandError(f"{path} is not a NumPy file of numbers: {error!s:.300}.") from error
    if isinstance(loaded, dict):
        arrays = loaded
    else:
        arrays = {name: loaded[name] for name in loaded.dtype.names or ()} or {field or "time": loaded}
    name = _name(path, field, [each for each in arrays if each not in (RANK, STEP)], "array")
    axes = {
        axis: _whole_numbers(path, axis, arrays[axis])
        for axis in (RANK, STEP)
        if axis in arrays and arrays[axis].ndim == 1
    }
    values = _numbers(path, name, arrays[name])
    if values.ndim == 1:  # one series
        axes.pop(RANK, None)
    return _timings(path, values * _unit(name), axes.get(RANK), axes.get(STEP), name)


def _table(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        if path.suffix.lower() == ".parquet":
            return pd.read_parquet(path)
        table = pd.read_csv(path, skipinitialspace=True, comment="#")
        if _is_data(table.columns):
            table = pd.read_csv(path, skipinitialspace=True, comment="#", header=None)
    except ImportError as error:
        raise CommandError(
            f"{path} needs the Python package pyarrow, which is not installed; call pip install "
            "'perfield[export]', or give the timings as .csv."
        ) from error
    except (ValueError, OSError, MemoryError, OverflowError) as error:  # as pandas and pyarrow have
        raise CommandError(f"{path} is not a table of timings: {str(error).strip():.300}.") from error
    return table


def _timings(path: Path, *of: Any) -> xr.Dataset:
    """`perfield.studies.regimes.model.timings`, whose errors name the file."""
    from perfield.studies.regimes.model import RegimeError, timings

    try:
        return timings(*of)
    except RegimeError as error:
        raise CommandError(f"{path}: {error}") from error


def _is_data(header: Any) -> bool:
    """Whether the first line of a CSV holds times: numbers that are no numbers of ranks."""
    try:
        numbers = [float(name) for name in header]
    except ValueError:
        return False
    return not all(number.is_integer() for number in numbers)


def _of_table(path: Path, table: pd.DataFrame, field: str | None) -> xr.Dataset:
    table = table.rename(columns=str)
    columns = [name for name in table.columns if name not in (RANK, STEP)]
    if not columns or not len(table):
        raise CommandError(
            f"{path} has {len(columns)} columns of times and {len(table)} rows; expected columns rank, step "
            "and one of times, or one column of times per rank."
        )
    if RANK in table:
        name = _name(path, field, columns, "column")
        if STEP not in table:
            table = table.assign(**{STEP: table.groupby(RANK).cumcount()})
        table = table.assign(**{axis: _whole_numbers(path, axis, table[axis]) for axis in (RANK, STEP)})
        if (twice := table.duplicated([RANK, STEP])).any():
            row = table[twice].iloc[0]
            raise CommandError(
                f"{path} has several times of rank {row[RANK]:g} in step {row[STEP]:g}; keep one."
            )
        wide = table.assign(**{name: _numbers(path, name, table[name])}).pivot(
            index=RANK, columns=STEP, values=name
        )
        return _timings(
            path, wide.to_numpy() * _unit(name), wide.index.to_numpy(), wide.columns.to_numpy(), name
        )
    chosen = columns if field is None else [_name(path, field, columns, "column")]
    values = np.stack([_numbers(path, name, table[name]) * _unit(name) for name in chosen])
    ranks = [int(name) for name in chosen] if all(name.isdigit() for name in chosen) else None
    return _timings(
        path, values, ranks, table.get(STEP), field or (chosen[0] if len(chosen) == 1 else "time")
    )


def _name(path: Path, field: str | None, names: list[str], kind: str) -> str:
    """The one name that is meant."""
    if field is None and len(names) == 1:
        return names[0]
    listed = in_list([f"'{name}'" for name in names], 8) if names else "none"
    if field is None:
        raise CommandError(f"{path} has the {kind}s {listed}; choose one with --field.")
    if field not in names:
        near = did_you_mean(field, names)
        raise CommandError(
            f"{path} has no {kind} '{field}'; {near or f'it has {listed}; choose with --field.'}"
        )
    return field


def _whole_numbers(path: Path, axis: str, values: Any) -> np.ndarray:
    """The numbers of ranks or steps."""
    import pandas as pd

    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.flatnonzero(~((np.abs(numbers) < 2**53) & (numbers == np.floor(numbers))))
    if len(wrong):
        found = np.asarray(values)[wrong[0]]
        raise CommandError(f"'{axis}' in {path} holds {found}; expected whole numbers, from 0 on.")
    return numbers.astype(np.int64)


def _numbers(path: Path, name: str, values: Any) -> np.ndarray:
    try:
        if np.iscomplexobj(values):
            raise ValueError
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise CommandError(f"'{name}' in {path} holds no numbers; expected times in seconds.") from None


def _unit(name: str) -> float:
    """Seconds in the unit that a name ends in."""
    return next((scale for ending, scale in UNITS.items() if name.endswith(ending)), 1.0)
