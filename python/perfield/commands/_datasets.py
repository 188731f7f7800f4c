# SPDX-License-Identifier: BSD-3-Clause
"""Writes a Dataset to a file that the option --output names."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from perfield.commands import CommandError

if TYPE_CHECKING:
    import xarray as xr

ENDINGS = (".nc", ".zarr")


def check_target(target: str | Path | None) -> None:
    """Raises CommandError if no Dataset can be written there, before anything is computed."""
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


def write_dataset(dataset: xr.Dataset, target: str | Path) -> None:
    """Writes a Dataset under a hidden name and renames it once it is complete."""
    path = Path(target)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.suffix.lower() == ".zarr":
            dataset.to_zarr(partial, consolidated=True)
        else:
            dataset.to_netcdf(partial, engine="scipy", format="NETCDF3_64BIT")
        partial.rename(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        if partial.is_file():
            partial.unlink()
