# SPDX-License-Identifier: BSD-3-Clause
"""The sampled CPU time of the functions that matter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from perfield import _bridge
from perfield.derived.providers import Provider
from perfield.derived.samples import OUTSIDE, Samples, functions_that_matter, sampled
from perfield.fields.functions import PREFIX, UNIT, is_of_function
from perfield.fields.table import Field

OTHER = "other functions"


class Functions(Provider):
    """A field `sampled_<function>_time_s` for each function that matters, in s of CPU time in user mode, of
    all threads. A rank has 0 where it was not found in the function, and NaN where it took no samples at all.

    Its names are known only once all samples and the program's symbols are read.
    """

    whole = True
    gives = (
        Field(
            f"{PREFIX}<function>{UNIT}",
            "s",
            "CPU time in user mode in <function>, of all threads, as samples show it",
            direction="lower",
            source="measured",
            over_threads="sum",
            in_runs="ranks took samples",
            absent="the rank took no samples",
        ),
    )

    def fields(self) -> Iterable[Field]:
        """One for each function."""
        for name, function in (self._names if self.run.has_samples else {}).items():
            meaning = self.gives[0].meaning.replace("<function>", function)
            yield replace(self.gives[0], name=name, meaning=meaning)

    def has(self, name: str) -> bool:
        """Reads samples only for names of such a form."""
        return is_of_function(name) and super().has(name)

    def compute(self, names: Sequence[str], positions: np.ndarray) -> Mapping[str, np.ndarray]:
        """From the samples of all steps; most functions are seen in few."""
        rows, names_of = self._rows, list(self._names)
        found = {}
        for name in names:
            values = np.zeros((len(positions), self.run.n_ranks))
            own = rows[rows["function"] == names_of.index(name)]
            begin, end = (np.searchsorted(own["frame"], positions, side) for side in ("left", "right"))
            for at in np.flatnonzero(end > begin).tolist():
                here = own[begin[at] : end[at]]
                np.add.at(values[at], here["rank"], here["time_s"])
            values[:, ~self._took_samples] = np.nan
            found[name] = values
        return found

    @cached_property
    def _chosen(self) -> np.ndarray:
        return functions_that_matter(sampled(self.run), self.run.n_ranks)

    @cached_property
    def _names(self) -> dict[str, str]:
        """By name of each field, its function."""
        found: Samples = sampled(self.run)
        names: dict[str, str] = {}
        for number in self._chosen.tolist():
            stem = _bridge.region_stem(found.functions[number].name)
            name, again = f"{PREFIX}{stem}{UNIT}", 2
            while name in names:
                name, again = f"{PREFIX}{stem}_{again}{UNIT}", again + 1
            names[name] = found.functions[number].name
        if len(np.setdiff1d(found.table["function"][found.table["frame"] != OUTSIDE], self._chosen)):
            names[f"{PREFIX}{_bridge.region_stem(OTHER)}{UNIT}"] = OTHER
        return names

    @cached_property
    def _rows(self) -> np.ndarray:
        """Structured (samples.TABLE) by frame, `function` numbering the names."""
        found: Samples = sampled(self.run)
        rows = found.table[found.table["frame"] != OUTSIDE].copy()
        place = np.full(len(found.functions), len(self._chosen), np.int64)
        place[self._chosen] = np.arange(len(self._chosen))
        rows["function"] = place[rows["function"]]
        return rows

    @cached_property
    def _took_samples(self) -> np.ndarray:
        return np.isin(np.arange(self.run.n_ranks), sampled(self.run).table["rank"])


PROVIDER = Functions
