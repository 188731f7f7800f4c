# SPDX-License-Identifier: BSD-3-Clause
"""The accessor `run.steps.perfield`: statistics over the ranks of each part of the machine.

Importing this module gives it to all xarray Datasets. What it needs to know of a rank's place is in the
Dataset's coordinates, so it works after a selection, and on Datasets that were stored elsewhere.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
import pandas as pd
import xarray as xr

from perfield.analysis.statistics import STATISTICS, statistics

PARTS = {"package": "package", "numa": "NUMA node", "core": "core"}  # of a node, by coordinate
NOWHERE = {"node": "no node", "host": "no host", "switch": "no known switch"}
LEVELS = (*NOWHERE, *PARTS, "step")
ONLY_PLACES = "placement"  # the source of variables that say where a rank ran


@xr.register_dataset_accessor("perfield")
class PerfieldAccessor:
    """What perfield adds to an xarray Dataset of a run, as `run.steps.perfield`."""

    def __init__(self, dataset: xr.Dataset):
        self._dataset = dataset

    def by(self, level: str) -> xr.Dataset:
        """Statistics over the ranks of each part of the machine, in each step.

        level : "node", "host", "switch" (the one that the node is attached to), "package", "numa", "core";
            "step" for all ranks of a step together; or any other coordinate along rank.
        Returns a Dataset with the same variables, lazy where they are. `level` takes the place of the
        dimension rank, with the names of its groups ("n1", "n1 package 0", "leaf3") and their `n_ranks`; the
        last dimension, statistic, is "min", "mean", "std", "max", "imbalance". Ranks that belong to no single
        package form a group of their own ("n1, no single package"), so no rank is left out. Variables that
        only say where a rank ran are left out.
        Raises ValueError if the Dataset has no dimension rank, or does not know the level.
        """
        dataset = self._dataset
        if "rank" not in dataset.dims:
            raise ValueError(
                f"by({level!r}) needs the dimension rank, but this Dataset has "
                f"{_listed(dataset.dims)}; select with a list or a slice of ranks, not with one rank."
            )
        number, names = groups(dataset, level)
        order = np.argsort(number, kind="stable")
        n_ranks = np.bincount(number, minlength=len(names))
        begin = np.cumsum(n_ranks) - n_ranks
        made = {}
        for name, variable in dataset.data_vars.items():
            numeric = variable.dtype.kind in "fiu" and variable.attrs.get("source") != ONLY_PLACES
            if "rank" in variable.dims and numeric:
                made[name] = _of_variable(variable, level, order, begin)
        size = (level, n_ranks) if level != "step" else ((), int(n_ranks.sum()))
        coordinates = {
            "statistic": ("statistic", list(STATISTICS), {"long_name": "imbalance: max over mean, no unit"}),
            "n_ranks": (*size, {"long_name": "number of the group's ranks"}),
        }
        if level != "step":
            coordinates[level] = (level, np.array(names, dtype=str), {"long_name": f"name of the {level}"})
        kept = dataset.drop_vars([name for name in dataset.variables if "rank" in dataset[name].dims])
        return xr.Dataset(made, {**kept.coords, **coordinates}, dataset.attrs)


def groups(dataset: xr.Dataset, level: str) -> tuple[np.ndarray, list[str]]:
    """The group of each rank, int64 (n_ranks,), and the names of the groups, from the coordinates along rank.

    Groups are in the order of their nodes. Raises ValueError as `PerfieldAccessor.by` says.
    """
    n_ranks = dataset.sizes["rank"]
    if level == "step":
        return np.zeros(n_ranks, np.int64), ["all ranks"][: min(n_ranks, 1)]
    known = [name for name in dataset.coords if dataset[name].dims == ("rank",) and name != "rank"]
    needed = {"node", "node_name", level} if level in ("node", *PARTS) else {level}
    if level == "rank" or not needed <= set(known):
        levels = [name for name in LEVELS if name in known]
        rest = [name for name in known if name not in LEVELS and name != "node_name"]
        raise ValueError(
            f"this Dataset has no groups by {level!r}; it has {_listed([*levels, *rest, 'step'])}."
        )
    column = dataset[level].values
    if level not in ("node", *PARTS):
        first = dataset["node"].values if "node" in known else np.zeros(n_ranks)
        return _by_name(column, first, NOWHERE.get(level, f"no {level}"))
    node = dataset["node"].values.astype(np.int64)
    label = dataset["node_name"].values
    part = np.zeros(n_ranks) if level == "node" else np.asarray(column, float)
    width = int(np.nanmax(part, initial=0)) + 2  # the last number of each node belongs to no single part
    number = np.where(np.isnan(part), width - 1, np.nan_to_num(part)).astype(np.int64)
    key = np.where(node < 0, np.iinfo(np.int64).max, node * width + number)
    different, first, number = np.unique(key, return_index=True, return_inverse=True)
    names = []
    for group, rank in zip(different.tolist(), first.tolist()):
        if node[rank] < 0:
            names.append(NOWHERE["node"])
        elif level == "node":
            names.append(str(label[rank]))
        elif group % width == width - 1:
            names.append(f"{label[rank]}, no single {PARTS[level]}")
        else:
            names.append(f"{label[rank]} {level} {group % width}")
    return number, names


def _by_name(column: np.ndarray, node: np.ndarray, nothing: str) -> tuple[np.ndarray, list[str]]:
    """Groups of equal values, by the lowest node of their ranks; empty and absent ones come last."""
    number, values = pd.factorize(pd.Series(column), use_na_sentinel=True)
    names = [str(value) for value in values]
    without = number < 0
    if "" in names:
        without |= number == names.index("")
    lowest = np.full(len(names) + 1, np.inf)
    number = np.where(without, len(names), number)
    np.minimum.at(lowest, number, np.where(without, np.inf, node))
    names.append(nothing)
    used = np.unique(number)
    used = used[np.argsort(lowest[used], kind="stable")]
    place = np.zeros(len(names), np.int64)
    place[used] = np.arange(len(used))
    return place[number], [names[i] for i in used]


def _of_variable(variable: xr.DataArray, level: str, order: np.ndarray, begin: np.ndarray) -> xr.DataArray:
    group = level if level != "step" else "all ranks"

    def of_groups(values: np.ndarray) -> np.ndarray:
        return statistics(values[..., order], begin)

    sizes: dict[Hashable, int] = {group: len(begin), "statistic": len(STATISTICS)}
    bare = variable.drop_vars([name for name in variable.coords if "rank" in variable[name].dims])
    found = xr.apply_ufunc(
        *(of_groups, bare),
        input_core_dims=[["rank"]],
        output_core_dims=[list(sizes)],
        dask="parallelized",
        output_dtypes=[float],
        dask_gufunc_kwargs={"output_sizes": sizes, "allow_rechunk": True},
        keep_attrs=True,
    )
    dims = [group if dim == "rank" else dim for dim in variable.dims]
    found = found.transpose(*dims, "statistic")
    return found.isel({group: 0}) if level == "step" else found


def _listed(words: Iterable[Hashable]) -> str:
    return ", ".join(map(str, words)) or "none"
