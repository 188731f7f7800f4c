# SPDX-License-Identifier: BSD-3-Clause
"""A fitted hidden Markov model of timings, and its file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from perfield.studies.regimes.model.errors import RegimeError

VERSION = 1
EMISSIONS = ("student-t", "log-gaussian", "gaussian")  # the first is the default


def is_list_of_texts(value: Any) -> bool:
    """Whether a value of JSON is one."""
    return isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)


@dataclass(frozen=True)
class Model:
    """A hidden Markov model: states that follow one another, and how long a step takes in each.

    emission : "gaussian" of seconds (the paper's); "log-gaussian" or "student-t" of the logarithm of seconds.
    location, scale : (n_states) of the emission, in seconds or in the logarithm of seconds; ascending by the
    mean time. dof : degrees of freedom of Student's t, else None. start : (n_states) probability of the state
    of a first step, and of one behind an unknown time; of a fit the share of times in each.
    transition : (n_states, n_states), Pi of the paper; rows are the states that are left.
    regime : (n_states) the regime of each state, from 0 for the fastest; several states may form one.
    field : what was timed. notes : sentences about the fit that its user must know, empty if all is well.
    """

    emission: str
    location: np.ndarray
    scale: np.ndarray
    dof: float | None
    start: np.ndarray
    transition: np.ndarray
    regime: np.ndarray
    field: str = "time"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Makes arrays of lists, and checks that they fit together. Raises RegimeError."""
        for name in ("location", "scale", "start", "transition", "regime"):
            kind = np.int64 if name == "regime" else np.float64
            try:
                values = np.asarray(getattr(self, name), dtype=kind)
            except (OverflowError, TypeError, ValueError):
                raise RegimeError(
                    f"{name} of a model is no array of numbers, one for each state; fit it again."
                ) from None
            object.__setattr__(self, name, values)
        if not isinstance(self.field, str) or not is_list_of_texts(self.notes):
            raise RegimeError(
                f"a model has field {self.field!r:.40} and notes {self.notes!r:.40}; expected a text, and a "
                "list of texts: fit it again."
            )
        object.__setattr__(self, "notes", tuple(self.notes))
        n = self.location.size
        shapes = [self.scale.shape, self.start.shape, self.regime.shape, self.transition.shape]
        if self.emission not in EMISSIONS or n == 0 or shapes != [(n,), (n,), (n,), (n, n)]:
            raise RegimeError(
                f"a model with emission {self.emission!r} and {n} states has arrays of shapes {shapes}; "
                f"expected one of {', '.join(EMISSIONS)}, and one number per state (two for transition)."
            )
        has_dof = isinstance(self.dof, (int, float)) and 0 < self.dof < np.inf
        if has_dof != (self.emission == "student-t") or not (has_dof or self.dof is None):
            raise RegimeError(
                f"a model with emission {self.emission} has dof {self.dof!r}; expected degrees of freedom "
                "above 0 with student-t, and none with the others: fit it again."
            )
        chances = np.vstack([self.transition, self.start])
        is_sound = np.isfinite(self.location).all() and (self.scale > 0).all() and (chances >= 0).all()
        if not (is_sound and np.isfinite(self.scale).all() and np.allclose(chances.sum(axis=1), 1)):
            raise RegimeError(
                "a model has a location that is not a number, a scale that is not above 0, or probabilities "
                "below 0 or that do not add up to 1; fit it again."
            )
        if not 0 <= self.regime.min() <= self.regime.max() < n or set(self.regime.tolist()) != set(
            range(self.regime.max() + 1)
        ):
            raise RegimeError(
                f"the states of a model are of the regimes {self.regime.tolist()}; expected all numbers "
                "from 0 on: fit it again."
            )

    @property
    def n_states(self) -> int:
        """How many hidden states there are."""
        return len(self.location)

    @property
    def n_regimes(self) -> int:
        """How many regimes they form."""
        return int(self.regime.max()) + 1

    def to_json(self) -> str:
        """The model as one JSON object, which `from_json` reads."""
        entries = {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in asdict(self).items()
        }
        return json.dumps({"perfield_regimes": VERSION, **entries})

    @classmethod
    def from_json(cls, text: str) -> Model:
        """The model of such an object. Raises RegimeError if it is none, or of another version."""
        try:
            entries: dict[str, Any] = json.loads(text)
            version = entries.pop("perfield_regimes")
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            raise RegimeError(
                'this is not a model of regimes: it lacks "perfield_regimes"; `perfield lab regimes RUN '
                "--save FILE` writes one."
            ) from None
        if version != VERSION:
            raise RegimeError(
                f"this model of regimes has version {version}, but this perfield reads version {VERSION}; "
                "fit it again with `perfield lab regimes RUN --save FILE`."
            )
        missing = [field.name for field in fields(cls) if field.name not in entries]
        if missing:
            raise RegimeError(f"this model of regimes lacks {', '.join(missing)}; fit it again.")
        return cls(**{field.name: entries[field.name] for field in fields(cls)})
