# SPDX-License-Identifier: BSD-3-Clause
"""A run as an xarray Dataset: `run.steps`, or `xr.open_dataset("perfield-run", engine="perfield")`.

Dimensions are step, rank and region. Opening reads no step: an array reads only the entries of the steps
that are requested. So dask's threads, or the workers of a cluster that see the run directory, can reduce
a run larger than memory chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from perfield.analysis import accessor  # noqa: F401  # gives Datasets their `.perfield`
from perfield.derived.dataframes import placement
from perfield.derived.providers import REGION, fields_of, of_kind
from perfield.run.run_directory import RunDirectory
from perfield.run.snapshot import Snapshot

_STEP, _RANK, _REGION = "step", "rank", "region"


def open_steps(run: RunDirectory, fields: Sequence[str] = ()) -> xr.Dataset:
    """The Dataset of a run as it is known now; variables read from steps are dask arrays, chunked over
    steps. fields : as for `lazy_dataset`."""
    from dask.base import tokenize

    opened = lazy_dataset(Snapshot(run), fields)
    # A run that grew has other chunks, and one whose frames hold more steps has others, too.
    token = tokenize(str(run.path.absolute()), sorted(run.until.items()), run.step_indexes)
    chunked = {
        name: variable.chunk(variable.encoding["preferred_chunks"], name=f"perfield-{name}-{token}")
        for name, variable in opened.variables.items()
        if "preferred_chunks" in variable.encoding
    }
    return opened.assign(chunked)


class _StepArray(BackendArray):
    """One variable of the Dataset, read when it is indexed.

    fields : names of fields as in Frame.values: one per region, or a single one if there is no dimension
    region; None for what is not a field. about : the variable's attributes.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        name: str,
        fields: list[str] | None,
        dims: tuple[str, ...],
        about: dict[str, str],
        dtype: type = np.float64,
    ):
        self.snapshot, self.name, self.fields, self.dims, self.about = snapshot, name, fields, dims, about
        run = snapshot.run
        sizes = {_STEP: len(run), _RANK: run.n_ranks, _REGION: len(run.columns.stems)}
        self.shape, self.dtype = tuple(sizes[dim] for dim in dims), np.dtype(dtype)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> np.ndarray:
        outer = indexing.IndexingSupport.OUTER
        return indexing.explicit_indexing_adapter(key, self.shape, outer, self._read)

    def _read(self, key: tuple[int | slice | np.ndarray, ...]) -> np.ndarray:
        positions = np.atleast_1d(np.arange(self.shape[0])[key[0]])
        if self.name in _STAMPS:
            values = self.snapshot.stamps(positions, self.name)[:, key[1]]
        elif self.fields is None:
            values = self.snapshot.frame_headers(positions, self.name).astype(self.dtype)
        else:
            wanted = np.arange(len(self.fields))[key[2] if len(key) > 2 else 0]
            names = [self.fields[number] for number in np.atleast_1d(wanted)]
            values = self.snapshot.run.values(names, positions)[:, :, key[1]]
            values = values[:, 0] if wanted.ndim == 0 else np.moveaxis(values, 1, -1)
        return values[0] if isinstance(key[0], (int, np.integer)) else values


def chunks_of(run: RunDirectory, fields: Sequence[str] = ()) -> Iterator[xr.Dataset]:
    """The Dataset as by `open_steps`, in memory and chunk by chunk over steps; at least one.

    Reads each step entry once for all variables, which a lazy Dataset cannot.
    """
    snapshot = Snapshot(run)
    opened = lazy_dataset(snapshot, fields)
    arrays = list(_arrays(snapshot, fields))
    names = [field for array in arrays for field in array.fields or ()]
    place = {name: number for number, name in enumerate(names)}
    size = snapshot.steps_per_chunk
    for begin in range(0, max(len(run), 1), size):
        positions = np.arange(begin, min(begin + size, len(run)))
        values = snapshot.run.values(names, positions).swapaxes(1, 2)
        read = {}
        for array in arrays:
            if array.fields is not None:
                found = values[:, :, [place[field] for field in array.fields]]
                read[array.name] = array.dims, found if _REGION in array.dims else found[..., 0], array.about
        chunk = opened.isel({_STEP: slice(begin, begin + size)})
        yield chunk.assign({name: chunk[name].load() for name in (*_OF_STEP, *_STAMPS)} | read)


def lazy_dataset(snapshot: Snapshot, fields: Sequence[str] = ()) -> xr.Dataset:
    """The Dataset of a run as it was then; its variables read steps when they are indexed.

    fields : names of further fields, beside those that are computed frame by frame. Raises KeyError if the
    run has no such field.
    """
    run, stems = snapshot.run, snapshot.run.columns.stems
    preferred = {"preferred_chunks": {_STEP: snapshot.steps_per_chunk}}
    lazy = {
        array.name: xr.Variable(array.dims, indexing.LazilyIndexedArray(array), array.about, preferred)
        for array in _arrays(snapshot, fields)
    }
    own_name = {region.field: region.name for region in run.known_regions}
    own_names = np.array([own_name[stem] for stem in stems], dtype=str)
    coordinates = {
        _STEP: (_STEP, run.step_indexes, {"long_name": "number of the step's closing, from 0"}),
        _RANK: (_RANK, np.arange(run.n_ranks), {"long_name": "rank in MPI_COMM_WORLD"}),
        _REGION: (_REGION, np.array(stems, dtype=str), {"long_name": "what the region's fields begin with"}),
        "region_name": (_REGION, own_names, {"long_name": "the region's own name"}),
        "partial": (_STEP, run.partial, {"long_name": "whether some rank may still deliver this step"}),
    }
    for name, column in placement(run).items():
        values = column.to_numpy(dtype=str if name in _NAMES else None)
        coordinates[name] = (_RANK, values, {"long_name": _PLACES[name]})
    coordinates |= {name: lazy.pop(name) for name in _OF_STEP}
    return xr.Dataset(lazy, coordinates, {"run": str(run.path), "state": run.state})


def _arrays(snapshot: Snapshot, fields: Sequence[str]) -> Iterator[_StepArray]:
    """All variables that are read from steps. fields : further fields."""
    for name, (dtype, meaning) in _OF_STEP.items():
        yield _StepArray(snapshot, name, None, (_STEP,), {"long_name": meaning}, dtype)
    for name, meaning in _STAMPS.items():
        about = {"units": "s", "long_name": meaning, "source": "measured"}
        yield _StepArray(snapshot, name, None, (_STEP, _RANK), about)
    known = fields_of(snapshot.run)
    for kind, field in {**known.kinds, **{name: known[name] for name in fields}}.items():
        about = {"units": field.unit, "long_name": field.meaning, "source": field.source}
        about |= {"direction": field.direction} if field.direction else {}
        if REGION in kind:
            name, dims = kind.replace(REGION, _REGION), (_STEP, _RANK, _REGION)
            yield _StepArray(snapshot, name, of_kind(kind, snapshot.run), dims, about)
        elif kind != _RANK:
            yield _StepArray(snapshot, kind, [kind], (_STEP, _RANK), about)


_OF_STEP = {
    "label": (np.int64, "the program's own number of the step, from the lowest rank"),
    "time": (np.float64, "the program's own time, from the lowest rank; NaN if it gave none"),
    "span": (np.int64, "steps that are added up"),
    "uneven": (np.bool_, "whether ranks of one group may have done different steps"),
}
_STAMPS = {
    "begin_s": "begin of the rank's step on the common clock, from the first rank's stamp 0",
    "end_s": "end of the rank's step on the common clock",
    "clock_uncertainty_s": "largest error of the end on the common clock; NaN: unknown",
}
_NAMES = {"host", "node_name", "switch"}
_PLACES = {
    "host": "host on which the rank ran",
    "node": "number of the node on which the rank ran",
    "node_name": "name of that node: its host, with the boot id where two nodes have the same",
    "switch": "switch that the node is attached to; empty where none is known",
    "package": "package (socket) on which the rank ran; NaN where it was bound to several",
    "numa": "NUMA node on which the rank ran; NaN where it was bound to several",
    "core": "core on which the rank ran; NaN where it was bound to several",
}
