# SPDX-License-Identifier: BSD-3-Clause
"""Writes a Dataset to a file that the option --output names."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from perfield.commands import CommandError

if TYPE_CHECKING:
    import xarray as xr

ENDINGS = (".nc", ".zarr")
OUTPUT_HELP = "write phases and metrics as a Dataset: a .nc (netCDF) or .zarr file"


def check_target(target: str | None) -> None:
    """Raises CommandError if no Dataset can be written there."""
    if target is None:
        return
    path = Path(target)
    if path.suffix.lower() not in ENDINGS:
        raise CommandError(
            f"--output {target} is no Dataset; expected a name that ends in {' or '.join(ENDINGS)}."
        )
    if path.suffix.lower() == ".zarr" and find_spec("zarr") is None:
        raise CommandError(
            f"--output {target} needs the Python package zarr, which is not installed; call pip install "
            "'perfield[export]', or name a file that ends in .nc."
        )
    if path.exists():
        raise CommandError(f"{target} exists already and was left as it is; remove it, or name another.")
    if not path.absolute().parent.is_dir():
        raise CommandError(f"{path.parent} is no directory; make it first.")


def write_dataset(dataset: xr.Dataset, target: str) -> None:
    """Writes a Dataset where `check_target` found a place. Read it with xarray.open_dataset."""
    if Path(target).suffix.lower() == ".zarr":
        dataset.to_zarr(target, mode="w-", consolidated=True)
    else:
        dataset.to_netcdf(target, engine="scipy")
