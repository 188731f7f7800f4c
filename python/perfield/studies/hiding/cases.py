# SPDX-License-Identifier: BSD-3-Clause
"""The cases of a study: settings of the model, runs of the solver, or records of earlier runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from perfield.studies.hiding.matvecs import finest, read_study
from perfield.studies.hiding.model import simulate
from perfield.studies.hiding.model.errors import HidingError
from perfield.studies.hiding.model.presets import PRESETS, preset
from perfield.studies.hiding.model.scaled import in_words, scaled
from perfield.studies.hiding.solver import Setting, records_in, run_all
from perfield.text import counted, in_seconds

ALL = "all"  # settings of the model
PAPER = {"fixed": 0.47, "dynamic": 0.71, "test": 0.75}  # section 4.1: steps in the fast regime, on Anvil


@dataclass(frozen=True)
class Case:
    """One setting of a study. name : for tables. sentence : what it is. studies : the repeats of each method.
    parameters : as JSON holds them. full_name : that of a case in a sweep, with its size."""

    name: str
    sentence: str
    studies: Mapping[str, Sequence[xr.Dataset]]
    eps_s: float
    parameters: Mapping[str, Any]
    full_name: str

    @property
    def source(self) -> str:
        """Where its times are from: "model", "measured" or "injected"."""
        attributes = next(iter(self.studies.values()))[0].attrs
        return "injected" if attributes.get("injected") else str(attributes.get("source", "measured"))

    def without_times(self) -> Case:
        """It with the sizes and attributes of its repeats alone: all times of a sweep would fill memory."""
        bare = {name: [each.drop_vars(each.data_vars) for each in of] for name, of in self.studies.items()}
        return replace(self, studies=bare)


def modelled(
    setting: str,
    ranks: Sequence[int],
    elements: Sequence[int | tuple[int, int, int]],
    n_matvecs: int,
    n_repeats: int,
    *,
    methods: Sequence[str],
    changed: Mapping[str, float],
    seed: int,
    progress: Callable[[str], object],
) -> Iterator[Case]:
    """Cases of the model: of each number of ranks and of elements; those of the setting where none are given.

    setting : "all" for all. changed : `eps` (s) or `theta`, in place of the setting's. progress : takes what
    is under way, "" at the end of a case.
    """
    for name in PRESETS if setting == ALL else [setting]:
        of = preset(name)
        for n_ranks in ranks or [of.program.n_ranks]:
            for n_elements in elements or [of.program.n_elements]:
                n = int(np.prod(n_elements))
                program = scaled(of.program, n_ranks, n)
                program = replace(program, splitting=replace(program.splitting, **changed))
                repeats = []
                for i in range(n_repeats):
                    progress(f"model {name}, {counted(n_ranks, 'rank')}: run {i + 1} of {n_repeats}")
                    repeats.append(simulate(program, n_matvecs, methods=methods, seed=seed + i))
                progress("")
                yield Case(
                    name=name,
                    sentence=f"Model, {of.title[0].lower()}{of.title[1:]}: {in_words(program)}",
                    studies={
                        method: [each.sel(splitting=method, drop=True) for each in repeats]
                        for method in methods
                    },
                    eps_s=program.splitting.eps,
                    parameters={"setting": name, "seed": seed, **program.described()},
                    full_name=f"{name}-{n_ranks}-ranks-{n}-elements",
                )


def run(
    settings: Sequence[Setting],
    n_repeats: int,
    *,
    methods: Sequence[str],
    folder: Path,
    eps_s: float | None,
) -> Iterator[Case]:
    """Cases of the solver, as they end. folder : for its records. eps_s : s; None: the records'."""
    for setting in settings:
        records: dict[str, list[Path]] = {method: [] for method in methods}
        for method, _, record in run_all(setting, methods, n_repeats, folder):
            records[method].append(record)
        yield _case_of(setting.name, records, eps_s)


def recorded(folder: Path, eps_s: float | None) -> Iterator[Case]:
    """Cases of the records below a folder. eps_s : s; None: the records'."""
    for name, records in records_in(folder).items():
        known = [method for method in PAPER if method in records]
        ordered = {method: records[method] for method in [*known, *(m for m in records if m not in known)]}
        yield _case_of(name, ordered, eps_s)


def _case_of(name: str, records: Mapping[str, Sequence[Path]], eps_s: float | None) -> Case:
    studies = {method: [finest(read_study(path)) for path in paths] for method, paths in records.items()}
    first = next(iter(studies.values()))[0]
    eps = _eps_of(first, name) if eps_s is None else eps_s
    injected = first.attrs.get("injected")
    what = "Measured, with latencies injected" if injected else "Measured"
    n_inner = int(first["n_inner1"][0, 0] + first["n_inner2"][0, 0])
    sentence = (
        f"{what}: {counted(first.sizes['rank'], 'rank')} with {n_inner:,} inner elements on rank 0, eps = "
        f"{in_seconds(eps)}"
    )
    if injected:
        sentence += f" ({injected})"
    return Case(name, sentence, studies, eps, {"setting": name, **first.attrs}, name)


def _eps_of(study: xr.Dataset, name: str) -> float:
    """Up to which wait a MatVec counts as hidden, s, as records say. Raises HidingError without it."""
    eps_s = study.attrs.get("eps_s", study.attrs.get("eps"))
    if not isinstance(eps_s, (int, float)) or not eps_s > 0:
        raise HidingError(f"the records of {name} have no eps; give --eps, in s.")
    return float(eps_s)
