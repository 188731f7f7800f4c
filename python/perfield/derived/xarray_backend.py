# SPDX-License-Identifier: BSD-3-Clause
"""What xarray calls for `xr.open_dataset("perfield-run", engine="perfield")`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

import xarray as xr
from xarray.backends import BackendEntrypoint

from perfield.derived.dataset import lazy_dataset
from perfield.derived.run import Run
from perfield.run.errors import RunError
from perfield.run.snapshot import Snapshot


class PerfieldBackend(BackendEntrypoint):
    """Opens run directories for `xarray.open_dataset`."""

    description = "Open run directories of perfield: what each rank measured in each step"
    url = ""
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "fields")

    def open_dataset(
        self,
        filename_or_obj: str | PathLike[str] | Run,
        *,
        drop_variables: str | Iterable[str] | None = None,
        fields: Sequence[str] = (),
    ) -> xr.Dataset:
        """The Dataset of a run; `perfield.Run.steps` says what it holds.

        filename_or_obj : the directory that holds run.json, or an open run. fields : as for `lazy_dataset`.
        Raises RunError, whose text says what was found instead of a run, and KeyError if the run has no such
        field.
        """
        if isinstance(filename_or_obj, Run):
            run = filename_or_obj
        elif isinstance(filename_or_obj, (str, PathLike)):
            run = Run(filename_or_obj)
        else:
            raise RunError(
                f"a {type(filename_or_obj).__name__} was given to engine='perfield', which opens run "
                "directories only; give the directory that perfield made, by default perfield-run."
            )
        dropped = [drop_variables] if isinstance(drop_variables, str) else list(drop_variables or ())
        return lazy_dataset(Snapshot(run), fields).drop_vars(dropped, errors="ignore")

    def guess_can_open(self, filename_or_obj: object) -> bool:
        """Whether this is a directory with a run.json, or an open run."""
        if isinstance(filename_or_obj, (str, PathLike)):
            return (Path(filename_or_obj) / "run.json").is_file()
        return isinstance(filename_or_obj, Run)
