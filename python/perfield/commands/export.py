# SPDX-License-Identifier: BSD-3-Clause
"""perfield export: writes a run's numbers as Zarr or Parquet, for other tools."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from perfield.commands import CommandError
from perfield.commands._newest import add_run, run_path

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import xarray as xr

    from perfield.run import RunDirectory

HELP = "write a run's numbers as Zarr or Parquet, for other tools"
DESCRIPTION = """\
Writes what each rank measured in each step. It works chunk by chunk, so the run
may be larger than memory.

  perfield export perfield-run --to zarr                 perfield-run.zarr
  perfield export perfield-run --to parquet -o run.pq    a directory of tables

zarr: the Dataset of the run (dimensions step, rank, region). parquet: the tables
fields (by step and rank), regions (by step, rank and region that was entered),
messages, received, waits (by step) and ranks. Each variable and column carries
its unit. Needs the package zarr or pyarrow: pip install 'perfield[export]'."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run, the format and the target."""
    add_run(parser)
    add = parser.add_argument
    add("--to", choices=sorted(_FORMATS), required=True, help="the format")
    add("-o", "--output", metavar="PATH", help="where to write; else RUN's name and .zarr or .parquet, here")


def execute(arguments: argparse.Namespace) -> int:
    """Writes the files, and says how to read them."""
    import perfield

    package, write, reader = _FORMATS[arguments.to]
    if find_spec(package) is None:
        raise CommandError(
            f"--to {arguments.to} needs the Python package {package}, which is not installed; call "
            "pip install 'perfield[export]'."
        )
    run = perfield.open(run_path(arguments.run))
    target = Path(arguments.output or f"{run.path.resolve().name}.{arguments.to}")
    written = export(run, target, write)
    print(f"{target}: {len(run)} steps on {run.n_ranks} ranks, {written / 1e6:.3g} MB")
    print(f"read it    {reader.format(target)}")
    return 0


def export(run: RunDirectory, target: Path, write: Callable[[RunDirectory, Path], None]) -> int:
    """Writes a run under a hidden name and renames it once it is complete; returns its size in bytes.

    Raises CommandError if the target exists or cannot be written, and then leaves nothing behind.
    """
    if target.exists() or target.is_symlink():
        raise CommandError(
            f"{target} exists already and was left as it is; remove it, or name another with -o."
        )
    if not target.parent.is_dir():
        raise CommandError(
            f"{target.parent} is no directory, so {target.name} cannot be written there; make it first."
        )
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        partial.mkdir()
        write(run, partial)
        written = sum(file.stat().st_size for file in partial.rglob("*") if file.is_file())
        partial.rename(target)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise CommandError(
            f"{target} could not be written: {reason}. Nothing is left of it; make room, or name a place on "
            "another file system with -o."
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return written


def write_zarr(run: RunDirectory, folder: Path) -> None:
    """Writes the Dataset of a run, in chunks of steps."""
    from perfield.run.backend import chunks_of

    store, layout = folder, run.steps
    of_steps = [name for name, variable in layout.variables.items() if "step" in variable.dims]
    for name in of_steps:
        layout[name].encoding.clear()  # the store gets the chunks that dask has
    layout.to_zarr(store, compute=False, consolidated=False, mode="a")
    begin = 0
    for chunk in chunks_of(run):
        end = begin + chunk.sizes["step"]
        if end > begin:
            part = chunk.drop_vars([name for name in chunk.variables if name not in of_steps])
            part.to_zarr(store, region={"step": slice(begin, end)}, consolidated=False)
        begin = end
    import zarr

    zarr.consolidate_metadata(str(store))


def write_parquet(run: RunDirectory, folder: Path) -> None:
    """Writes the tables of a run; each chunk of steps becomes a row group."""
    import pyarrow.parquet as pq

    from perfield.run.backend import chunks_of

    with ExitStack() as opened:
        writers: dict[str, pq.ParquetWriter] = {}

        def add(name: str, rows: pd.DataFrame, units: dict[str, str]) -> None:
            table = _arrow(rows, units)
            if name not in writers:
                path = folder / f"{name}.parquet"
                writers[name] = opened.enter_context(pq.ParquetWriter(path, table.schema))
            writers[name].write_table(table)

        add("ranks", run.ranks.reset_index(), {})
        for chunk in chunks_of(run):
            units = {name: variable.attrs["units"] for name, variable in chunk.data_vars.items()}
            steps = chunk["step"].values.tolist()
            add("fields", _rows(chunk, ("step", "rank")), units)
            add("regions", _rows(chunk, ("step", "rank", "region")).dropna(subset="region_time_s"), units)
            for name, ask in (("messages", run.messages), ("received", run.received), ("waits", run.waits)):
                add(
                    name,
                    ask(steps),
                    {"bytes": "B", "largest": "B", "time_s": "s", "count": "1", "empty": "1"},
                )


def _rows(chunk: xr.Dataset, dims: tuple[str, ...]) -> pd.DataFrame:
    """A table of the variables with exactly these dimensions, one row per index."""
    wanted = [name for name, variable in chunk.data_vars.items() if variable.dims == dims]
    beside = [
        name
        for name in ("label", "time", "span", "region_name")
        if chunk[name].dims[0] in (dims[0], dims[-1])
    ]
    part = chunk[wanted].reset_coords(drop=True).assign_coords({name: chunk[name] for name in beside})
    return part.to_dataframe(dim_order=list(dims)).reset_index()


def _arrow(rows: pd.DataFrame, units: dict[str, str]) -> pa.Table:
    """A DataFrame as an Arrow table with units in its columns' metadata; empty columns keep their types."""
    import pyarrow as pa

    columns, schema = [], []
    for name in rows.columns:
        text = rows[name].dtype == object
        column = pa.array(rows[name], type=pa.string() if text else None, from_pandas=True)
        columns.append(column)
        about = {"units": units[name]} if name in units else None
        schema.append(pa.field(name, column.type, metadata=about))
    return pa.table(columns, schema=pa.schema(schema))


_FORMATS = {
    "zarr": ("zarr", write_zarr, "xarray.open_zarr('{}')"),
    "parquet": ("pyarrow", write_parquet, "pandas.read_parquet('{}/fields.parquet')"),
}
