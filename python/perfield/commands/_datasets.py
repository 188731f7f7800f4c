# SPDX-License-Identifier: BSD-3-Clause
"""Writes a Dataset to a file that the option --output names."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from perfield.catalyst_scripts.owned_folder import check_new_file, new_file
from perfield.commands import CommandError

if TYPE_CHECKING:
    import xarray as xr

ENDINGS = (".nc", ".zarr")


def check_target(target: str | Path | None) -> None:
    """Raises CommandError or NotOursError if no Dataset can be written there, before anything is computed."""
    if target is None:
        return
    path = Path(target)
    if path.suffix.lower() not in ENDINGS:
        raise CommandError(
            f"--output {target} is not a Dataset; expected a name that ends in {' or '.join(ENDINGS)}."
        )
    if path.suffix.lower() == ".zarr" and find_spec("zarr") is None:
        raise CommandError(
            f"--output {target} needs the Python package zarr, which is not installed; call pip install "
            "'perfield[export]', or name a file that ends in .nc."
        )
    check_new_file(path, replaces=False)


def write_dataset(dataset: xr.Dataset, target: str | Path) -> None:
    """Writes a Dataset, which gets its name once it is complete."""
    texts = {name: text for name, text in dataset.attrs.items() if isinstance(text, str)}
    utf8 = {name: text.encode("utf-8", "backslashreplace").decode() for name, text in texts.items()}
    dataset = dataset.assign_attrs(utf8)  # a path need not be UTF-8
    with new_file(target, replaces=False) as place:
        if place.suffix.lower() == ".zarr":
            dataset.to_zarr(place, consolidated=True, **zarr_format())
        else:
            dataset.to_netcdf(place, engine="scipy", format="NETCDF3_64BIT")


def zarr_format() -> dict[str, int]:
    """The argument of to_zarr that makes Zarr 3 write format 2, which all readers know: format 3 does not
    specify texts of one length."""
    import zarr

    return {"zarr_format": 2} if int(zarr.__version__.partition(".")[0]) > 2 else {}
