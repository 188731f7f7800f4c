# SPDX-License-Identifier: BSD-3-Clause
"""The fields that C++ computes from step entries: each is a row of bridge/fields/fields.def."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from perfield.derived.providers import Provider
from perfield.fields.table import FIELDS, Field


class Kernel(Provider):
    """What `run.columns` computes."""

    gives = FIELDS

    @property
    def kinds(self) -> Mapping[str, Field]:
        """Those of the columns."""
        return self.run.columns.kinds

    @property
    def names(self) -> Sequence[str]:
        """Those of the columns."""
        return self.run.columns.names

    def has(self, name: str) -> bool:
        """Whether a column has the name."""
        return name in self.run.columns

    def field(self, name: str) -> Field:
        """From the columns."""
        return self.run.columns.field(name)

    def compute(self, names: Sequence[str], positions: np.ndarray) -> Mapping[str, np.ndarray]:
        """Reads the entries of the frames."""
        values = self.run.columns.read(self.run.places(positions), names)
        return dict(zip(names, values.swapaxes(0, 1)))


PROVIDER = Kernel
