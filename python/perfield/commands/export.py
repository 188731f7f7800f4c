# SPDX-License-Identifier: BSD-3-Clause
"""perfield export: writes a run for other tools, or as one page for other people."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from perfield.catalyst_scripts.owned_folder import NotOursError, new_file
from perfield.commands import STEPS_HELP, CommandError, words
from perfield.commands._chosen import add_span, opened
from perfield.commands._datasets import zarr_format
from perfield.commands._mesh import add_mesh_options, agrees, check_path
from perfield.commands._newest import add_run, run_path
from perfield.text import counted, in_bytes

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import xarray as xr

    from perfield.derived.run import Run

HELP = "write a run as Zarr, Parquet, a timeline for Perfetto, or a page to send"
DESCRIPTION = """\
Writes what each rank measured in each step. It works chunk by chunk, so the run
may be larger than memory.

  perfield export perfield-run --to zarr                 perfield-run.zarr
  perfield export perfield-run --to parquet -o run.pq    a directory of tables
  perfield export perfield-run --to perfetto             perfield-run.pftrace
  perfield export perfield-run --to html                 perfield-run.html

zarr: the Dataset of the run (dimensions step, rank, region). parquet: the tables
fields (by step and rank), regions (by step, rank and region that was entered),
messages, received, waits (by step) and ranks. Each variable and column carries
its unit. Fields that are computed from all steps together (regimes, rhythm,
functions) are there if --fields names them. Needs the package zarr or pyarrow:
pip install 'perfield[export]'.

perfetto: a timeline of steps for https://ui.perfetto.dev, with a track for each
rank. perfield keeps sums per step, so the order inside a step is unknown, as the
tracks' names say. Needs the package perfetto: pip install
'perfield[perfetto]'.

html: what `perfield serve` shows, as one page to send: it needs no server and no
network, and a browser opens it from disk. It has at most 20 MB. Of a larger run,
steps are joined and then ranks share values, and the page says so."""


FIELDS_HELP = """\
fields of regimes, rhythm and functions to write, too (zarr, parquet), or fields that become
counters (perfetto): resident_bytes"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run, the format and the target."""
    add_run(parser)
    add_span(parser)
    add = parser.add_argument
    add("--to", choices=sorted(_FORMATS), required=True, help="the format")
    add(
        "-o", "--output", metavar="PATH", help="where to write; else RUN's name and the format's ending, here"
    )
    add("--fields", metavar="NAMES", help=FIELDS_HELP)
    timeline = parser.add_argument_group("of --to perfetto")
    timeline.add_argument("--steps", metavar="STEPS", help=STEPS_HELP)
    timeline.add_argument(
        "--most-slices", metavar="N", type=int, help="stop with the step that reaches that many (1000000)"
    )
    add_mesh_options(parser.add_argument_group("of --to html"))


def execute(arguments: argparse.Namespace) -> int:
    """Writes the files, and says how to read them."""
    chosen = _FORMATS[arguments.to]
    if chosen.package and find_spec(chosen.package) is None:
        raise CommandError(
            f"--to {arguments.to} needs the Python package {chosen.package}, which is not installed; call "
            f"pip install 'perfield[{chosen.extra}]'."
        )
    _check(arguments)
    run = opened(run_path(arguments.run), arguments.span)
    target = Path(arguments.output or f"{run.path.resolve().name}{chosen.ending}")
    sentences: list[str] = []
    fields = _known(run, words(arguments.fields or ""))
    if arguments.to == "html":
        write = _page(arguments, sentences)
    elif chosen.write is None:
        write = _timeline(run, arguments, fields, sentences)
    else:
        write = partial(chosen.write, fields=fields)
    written = export(run, target, write)
    what = sentences.pop(0) if sentences else f"{len(run)} steps on {run.n_ranks} ranks"
    print(f"{target}: {what}, {in_bytes(written)}")
    for sentence in sentences:
        print(sentence)
    print(f"read it    {chosen.reader.format(target)}")
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Raises CommandError for options of another format."""
    of_formats = {"perfetto": ("steps", "most_slices"), "html": ("mesh", "rank_array")}
    for of, names in of_formats.items():
        given = [f"--{name.replace('_', '-')}" for name in names if getattr(arguments, name) is not None]
        if given and arguments.to != of:
            raise CommandError(
                f"{given[0]} is an option of --to {of}; --to {arguments.to} writes the whole run."
            )
    for name in ("span", "fields"):
        if arguments.to == "html" and getattr(arguments, name) is not None:
            raise CommandError(f"--{name} is not an option of --to html, which writes the whole run.")
    check_path(arguments)


def export(run: Run, target: Path, write: Callable[[Run, Path], None]) -> int:
    """Writes a run, which gets its name once it is complete; returns its size in bytes.

    write(run, path) : makes a file or a folder. Raises NotOursError if the target exists, CommandError if it
    cannot be written, and then leaves nothing behind.
    """
    try:
        with new_file(target, replaces=False) as place:
            write(run, place)
            files = [place, *place.rglob("*")]
            return sum(file.stat().st_size for file in files if file.is_file())
    except NotOursError:
        raise
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise CommandError(
            f"{target} could not be written: {reason}. Nothing is left of it; make room, or name a place on "
            "another file system with -o."
        ) from error


def _known(run: Run, fields: list[str]) -> list[str]:
    """Fields of --fields. Raises CommandError if the run has no such field."""
    for name in fields:
        if name not in run.all_fields:
            raise CommandError(f"--fields: {run.all_fields.unknown(name)}")
    return fields


def _timeline(
    run: Run, arguments: argparse.Namespace, fields: list[str], sentences: list[str]
) -> Callable[[Run, Path], None]:
    """Writes a timeline, and adds to `sentences` what it holds and what it lacks, in words."""
    from perfield.output.steps import choose_steps
    from perfield.output.timeline import MOST_SLICES, Written, write_timeline

    positions = choose_steps(run, arguments.steps or "all")
    most = MOST_SLICES if arguments.most_slices is None else arguments.most_slices
    if most < 1:
        raise CommandError(f"--most-slices is {most}; expected at least 1.")

    def write(of: Run, path: Path) -> None:
        with path.open("wb") as file:
            made: Written = write_timeline(of, file, positions, fields, most)
        sentences.append(
            f"{made.n_slices:,} slices of {counted(made.n_steps, 'step')} on {counted(of.n_ranks, 'rank')}"
        )
        if made.n_steps < made.n_asked:
            sentences.append(
                f"These are the first {made.n_steps:,} of {made.n_asked:,} steps, as --most-slices is "
                f"{most:,}; choose others with --steps."
            )
        if made.n_overlapping:
            sentences.append(
                f"Threads overlapped in {made.n_overlapping:,} place{'s' * (made.n_overlapping != 1)}: the "
                "times there add up to more than the step, and are left out."
            )
        if made.n_unplaced:
            sentences.append(
                f"{made.n_unplaced:,} steps of ranks have no place on the common clock and are left out."
            )
        if of.clocks_agree:
            sentences.append(f"clocks     {of.clocks_agree}")

    return write


def _page(arguments: argparse.Namespace, sentences: list[str]) -> Callable[[Run, Path], None]:
    """Writes the page of `perfield serve` as one file; adds what it shows less of than the run."""
    from perfield.commands._reporter import RunReporter
    from perfield.serve.followed import Followed
    from perfield.serve.one_file import one_file

    def write(of: Run, path: Path) -> None:
        mesh = Path(arguments.mesh) if arguments.mesh else None
        followed = Followed(of.path, mesh, arguments.rank_array, agrees, RunReporter(), read_s=math.inf)
        made = one_file(followed.view())
        path.write_bytes(made.html)
        sentences.append(f"{counted(len(of), 'step')} on {counted(of.n_ranks, 'rank')}")
        sentences.extend(made.notes)

    return write


def write_zarr(run: Run, folder: Path, fields: Sequence[str] = ()) -> None:
    """Writes the Dataset of a run, in chunks of steps. fields : further ones."""
    from perfield.derived.dataset import chunks_of, open_steps

    folder.mkdir()
    store, layout = folder, open_steps(run, fields)
    of_steps = [name for name, variable in layout.variables.items() if "step" in variable.dims]
    for name in of_steps:
        layout[name].encoding.clear()  # the store gets the chunks that dask has
    layout.to_zarr(store, compute=False, consolidated=False, mode="a", **zarr_format())
    begin = 0
    for chunk in chunks_of(run, fields):
        end = begin + chunk.sizes["step"]
        if end > begin:
            part = chunk.drop_vars([name for name in chunk.variables if name not in of_steps])
            region = {"step": slice(begin, end)}
            part.to_zarr(store, region=region, consolidated=False, **zarr_format())
        begin = end
    import zarr

    zarr.consolidate_metadata(str(store))


def write_parquet(run: Run, folder: Path, fields: Sequence[str] = ()) -> None:
    """Writes the tables of a run; each chunk of steps becomes a row group. fields : further ones."""
    import pyarrow.parquet as pq

    from perfield.derived.dataset import chunks_of

    folder.mkdir()
    with ExitStack() as opened:
        writers: dict[str, pq.ParquetWriter] = {}

        def add(name: str, rows: pd.DataFrame, units: dict[str, str]) -> None:
            table = _arrow(rows, units)
            if name not in writers:
                path = folder / f"{name}.parquet"
                writers[name] = opened.enter_context(pq.ParquetWriter(path, table.schema))
            writers[name].write_table(table)

        add("ranks", run.ranks.reset_index(), {})
        for chunk in chunks_of(run, fields):
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


@dataclass(frozen=True)
class _Format:
    """A format: its package ("" for none), the extra that brings it, the target's ending, what writes it
    (None: options say how), and how to read it."""

    package: str
    extra: str
    ending: str
    write: Callable[..., None] | None
    reader: str


_FORMATS = {
    "zarr": _Format("zarr", "export", ".zarr", write_zarr, "xarray.open_zarr('{}')"),
    "parquet": _Format(
        "pyarrow", "export", ".parquet", write_parquet, "pandas.read_parquet('{}/fields.parquet')"
    ),
    "perfetto": _Format(
        "perfetto", "perfetto", ".pftrace", None, "open https://ui.perfetto.dev, and drop {} there"
    ),
    "html": _Format("", "", ".html", None, "open {} in a browser"),
}
