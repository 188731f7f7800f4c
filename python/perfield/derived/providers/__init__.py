# SPDX-License-Identifier: BSD-3-Clause
"""All fields of a run by name, whoever computes them: the kernel, an analysis, or a function of the user.

Each module beside this one gives fields: its PROVIDER is a class of `Provider`, or a function that `provided`
made one. So does each entry point of the group `perfield.fields`. Nothing is computed until a field is read.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from importlib import metadata
from pkgutil import iter_modules
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np

from perfield.fields.table import Field
from perfield.studies import given, loaded
from perfield.text import did_you_mean

if TYPE_CHECKING:
    from perfield.run.run_directory import RunDirectory

GROUP = "perfield.fields"  # of entry points
REGION = "<region>"


class Provider:
    """Computes some fields of a run. The registry makes one for each run, as the run was at one moment.

    gives : the fields that a run may have; `<region>` in a name stands for each of its regions.
    whole : it computes all frames together, so each new step of a running program changes all values. Such
    fields are found by name alone. drawn : of its fields, those that images show by default, where pictures
    hold them.
    """

    gives: Sequence[Field] = ()
    whole = False
    drawn: Sequence[str] = ()

    def __init__(self, run: RunDirectory):
        self.run = run

    @cached_property
    def kinds(self) -> Mapping[str, Field]:
        """The fields that this run has, by name, as in `gives`."""
        return {field.name: field for field in self.fields()}

    def fields(self) -> Iterable[Field]:
        """The same in turn. Reads no entries, unless `whole` is True."""
        return self.gives

    @cached_property
    def names(self) -> Sequence[str]:
        """Names of all its fields."""
        return [name for kind in self.kinds for name in of_kind(kind, self.run)]

    def has(self, name: str) -> bool:
        """Whether a field is one of these."""
        return name in self._by_name

    def field(self, name: str) -> Field:
        """What one of these fields means."""
        return self._by_name[name]

    def compute(self, names: Sequence[str], positions: np.ndarray) -> Mapping[str, np.ndarray]:
        """Values by name: float64 (n_positions, n_ranks), NaN where absent.

        positions : of frames. Raises ValueError, with a sentence, where the run cannot have such values.
        """
        raise NotImplementedError

    def in_words(self, name: str) -> Mapping[int, str]:
        """What the values of a field stand for, where it is a category."""
        return {}

    @property
    def notes(self) -> Sequence[str]:
        """Sentences on how the fields of this run were computed."""
        return ()

    def highlights(self) -> Sequence[int]:
        """Positions of the frames that show the fields best."""
        return ()

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        found = dict(self.kinds)
        own_name = {region.field: region.name for region in self.run.known_regions}
        for kind, field in self.kinds.items():
            if REGION in kind:
                del found[kind]
                for stem, name in zip(self.run.columns.stems, of_kind(kind, self.run)):
                    meaning = f"region '{own_name.get(stem, stem)}': {field.meaning}"
                    found[name] = replace(field, name=name, meaning=meaning)
        return found


def of_kind(kind: str, run: RunDirectory) -> list[str]:
    """Names of the fields of a kind: one, or for `<region>_time_s` one for each of `run.columns.stems`."""
    return [kind.replace(REGION, stem) for stem in run.columns.stems] if REGION in kind else [kind]


def provided(
    unit: str, meaning: str, needs: Sequence[str] = (), **about: str
) -> Callable[[Callable[[RunDirectory, np.ndarray], np.ndarray]], type[Provider]]:
    """Makes a function the provider of one field of the function's name.

    The function takes (run, positions of frames) and returns float64 (n_positions, n_ranks), NaN where
    absent. needs : fields without which a run does not have this one. about : more parts of `Field`.
    """

    def provider(function: Callable[[RunDirectory, np.ndarray], np.ndarray]) -> type[Provider]:
        class OfFunction(Provider):
            __doc__, __module__ = function.__doc__, function.__module__
            gives = (Field(function.__name__, unit, meaning, **about),)

            def fields(self) -> Iterable[Field]:
                known = fields_of(self.run)
                return self.gives if all(name in known for name in needs) else ()

            def has(self, name: str) -> bool:
                return name == function.__name__ and super().has(name)

            def compute(self, names: Sequence[str], positions: np.ndarray) -> Mapping[str, np.ndarray]:
                return {function.__name__: function(self.run, positions)}

        return OfFunction

    return provider


def fields_of(run: RunDirectory) -> FieldsOfRun:
    """The fields of a run as it is now, whoever computes them; `refresh` replaces it."""
    if run.derived.get("fields") is None:
        as_of_now = run.snapshot() if run.sent_from is None else run.sent_from[0](*run.sent_from[1])
        run.derived["fields"] = as_of_now.derived["fields"] = FieldsOfRun(as_of_now)
    return run.derived["fields"]


class FieldsOfRun:
    """The fields of a run, as it was at one moment. Where two providers have a name, the first one counts."""

    def __init__(self, run: RunDirectory, instead: Iterable[Provider] = ()):
        """instead : providers that take the place of those of their class."""
        given = {type(provider): provider for provider in instead}
        self._providers = [given.get(kind) or kind(run) for kind in provider_classes()]
        self._run = run
        self._lock = RLock()  # threads of dask read chunks; providers keep what they computed last

    def __reduce__(self) -> tuple:
        return type(None), ()  # another process finds its own: `fields_of`

    @cached_property
    def kinds(self) -> dict[str, Field]:
        """The kinds of fields that are computed frame by frame, by name; `<region>` stands for any region of
        the run."""
        return self._kinds(self._by_frame)

    @cached_property
    def all_kinds(self) -> dict[str, Field]:
        """The kinds of all fields; this may read samples."""
        return self._kinds(self._providers)

    @cached_property
    def names(self) -> list[str]:
        """Names of the fields that are computed frame by frame, those of the kernel first."""
        return list(dict.fromkeys(name for provider in self._by_frame for name in provider.names))

    @cached_property
    def all_names(self) -> list[str]:
        """Names of all fields; this may read samples."""
        return list(dict.fromkeys(name for provider in self._providers for name in provider.names))

    def __contains__(self, name: str) -> bool:
        return any(provider.has(name) for provider in self._providers)

    def __getitem__(self, name: str) -> Field:
        """What a field means. Raises KeyError, with the nearest names, if the run has no such field."""
        return self.provider_of(name).field(name)

    def provider_of(self, name: str) -> Provider:
        """Who computes a field. Raises KeyError likewise."""
        for provider in self._providers:
            if provider.has(name):
                return provider
        raise KeyError(self.unknown(name))

    def provider(self, kind: type[Provider]) -> Provider:
        """The provider of a class."""
        return next(one for one in self._providers if type(one) is kind)

    @cached_property
    def region_of(self) -> dict[str, str]:
        """The prefix of the region that a field belongs to, by name of the field."""
        stems = self._run.columns.stems
        of_regions = (kind for kind in self.kinds if REGION in kind)
        return {name: stem for kind in of_regions for name, stem in zip(of_kind(kind, self._run), stems)}

    def read(self, names: Sequence[str], positions: Sequence[int]) -> np.ndarray:
        """Values of fields in frames: (n_positions, len(names), n_ranks) float64, NaN where absent.

        Raises KeyError if the run has no such field, ValueError if it cannot have values of it.
        """
        positions = np.asarray(positions, np.int64)
        of_provider: dict[Provider, list[int]] = {}
        for number, name in enumerate(names):
            of_provider.setdefault(self.provider_of(name), []).append(number)
        values = np.empty((len(positions), len(names), self._run.n_ranks))
        for provider, numbers in of_provider.items():
            with self._lock:
                found = provider.compute([names[number] for number in numbers], positions)
            for number in numbers:
                values[:, number] = found[names[number]]
        return values

    def per_step(self, names: Sequence[str], positions: Sequence[int]) -> np.ndarray:
        """(n_positions, len(names), 1) float64, by what `read` is divided to give the values of one step."""
        adds_up = np.array([self[name].adds_up for name in names], dtype=bool)
        return np.where(adds_up, self._run.spans[positions][:, None], 1.0)[..., None]

    def unknown(self, name: str) -> str:
        """A sentence on a field that the run does not have."""
        others = (field.name for provider in self._providers if provider.whole for field in provider.gives)
        advice = (
            did_you_mean(name, [*self.names, *others]) or f"`perfield fields {self._run.path}` lists them."
        )
        return f"{self._run.path} has no field '{name}'; {advice}"

    @property
    def _by_frame(self) -> list[Provider]:
        return [provider for provider in self._providers if not provider.whole]

    @staticmethod
    def _kinds(providers: Sequence[Provider]) -> dict[str, Field]:
        found: dict[str, Field] = {}
        for provider in providers:
            found.update((name, field) for name, field in provider.kinds.items() if name not in found)
        return found


@cache
def provider_classes() -> tuple[type[Provider], ...]:
    """perfield's own providers, the kernel first, those of studies, and those that are installed as entry
    points."""
    names = sorted((one.name for one in iter_modules(__path__)), key=lambda name: (name != "kernel", name))
    classes = [loaded(f"{__name__}.{name}").PROVIDER for name in names]
    classes += [loaded(place).PROVIDER for place in given("PROVIDERS").values()]
    for point in entry_points():
        try:
            classes.append(point.load())
        except Exception as error:  # of any kind: it is not our code
            warnings.warn(f"the fields of {point.value} are missing: {error!r}", stacklevel=2)
    return tuple(classes)


@cache
def given_fields() -> dict[str, Field]:
    """All fields that a run may have, by name, whoever computes them."""
    return {field.name: field for kind in reversed(provider_classes()) for field in kind.gives}


def entry_points() -> Iterable[metadata.EntryPoint]:
    """The installed providers."""
    if sys.version_info < (3, 10):
        return metadata.entry_points().get(GROUP, ())
    return metadata.entry_points(group=GROUP)
