# SPDX-License-Identifier: BSD-3-Clause
"""A run as pictures need it: frames hold chosen fields and the mean of one step, since a film of sums would
show how long frames are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.derived.providers import fields_of

if TYPE_CHECKING:
    import xarray as xr

    from perfield.derived.providers import FieldsOfRun
    from perfield.run.frame import Frame
    from perfield.run.protocol import AnyRun
    from perfield.run.run_directory import RunDirectory


class RunView:
    """The run with chosen fields in its frames and its Dataset; everything else is the run's own.

    more : names of these fields; those absent in every frame are dropped.
    """

    def __init__(
        self,
        run: RunDirectory,
        names: Sequence[str] = (),
        of_one_step: bool = False,
        all_fields: FieldsOfRun | None = None,
    ):
        """of_one_step : whether frames hold the mean of their steps in place of sums. all_fields : where
        fields come from, if not from the run's own. Raises KeyError if the run has no such field, ValueError
        if it cannot have values of it."""
        self._run, self._is_mean, self._fields = run, of_one_step, all_fields
        more = [name for name in dict.fromkeys(names) if name not in run.columns]
        together = (name for name in more if self.all_fields.provider_of(name).whole)
        absent = {name for name in together if not self._is_there(name)}
        self.more = [name for name in more if name not in absent]

    def __getattr__(self, name: str) -> Any:
        if name == "_run":  # not there yet, while a copy of this object is made
            raise AttributeError(name)
        return getattr(self._run, name)

    def __len__(self) -> int:
        return len(self._run)

    def frame(self, number: int) -> Frame:
        """The frame at a position, with the fields of this view."""
        return self._seen(number, self._run.frame(number))

    def frames(self) -> Iterator[Frame]:
        """All frames in turn; one at a time is in memory."""
        return (self._seen(number, frame) for number, frame in enumerate(self._run.frames()))

    def with_fields(self, names: Sequence[str]) -> RunView:
        """The same with further fields. Raises as the class."""
        return RunView(self._run, [*self.more, *names], self._is_mean, self._fields)

    def of_one_step(self) -> RunView:
        """The same with the mean of each frame's steps in place of sums."""
        return RunView(self._run, self.more, True, self._fields)

    @property
    def all_fields(self) -> FieldsOfRun:
        """Where the fields come from."""
        return fields_of(self._run) if self._fields is None else self._fields

    @property
    def steps(self) -> xr.Dataset:
        """As `Run.steps`, with the fields of this view."""
        from perfield.derived.dataset import open_steps  # importing xarray is slow

        return open_steps(self._run, self.more)

    @property
    def meanings(self) -> Mapping[str, Mapping[int, str]]:
        """What the values of added fields stand for, in words, where they are categories."""
        of = {name: self.all_fields.provider_of(name).in_words(name) for name in self.more}
        return {name: words for name, words in of.items() if words}

    @property
    def highlights(self) -> list[int]:
        """Positions of frames that show the added fields best."""
        providers = dict.fromkeys(self.all_fields.provider_of(name) for name in self.more)
        return [number for provider in providers for number in provider.highlights()]

    def _is_there(self, name: str) -> bool:
        return bool(np.isfinite(self.all_fields.read([name], np.arange(len(self)))).any())

    def _seen(self, number: int, frame: Frame) -> Frame:
        if self.more:
            (added,) = self.all_fields.read(self.more, [number % len(self)])
            frame = replace(frame, values=frame.values | dict(zip(self.more, added)))
        return self._of_one_step(frame) if self._is_mean and frame.span > 1 else frame

    def _of_one_step(self, frame: Frame) -> Frame:
        sums = {name for name in frame.values if self.all_fields[name].adds_up}
        values = {name: v / frame.span if name in sums else v for name, v in frame.values.items()}
        of_blocks = {
            name: {key: value / frame.span for key, value in blocks.items()} if name in sums else blocks
            for name, blocks in frame.block_values.items()
        }
        tables = {
            name: _of_one(getattr(frame, name), frame.span) for name in ("messages", "received", "waits")
        }
        return replace(frame, values=values, block_values=of_blocks, is_mean=True, **tables)


def per_step(run: AnyRun) -> AnyRun:
    """The run for pictures: itself, unless frames add up several steps."""
    if (run.spans == 1).all():
        return run
    return (run if isinstance(run, RunView) else RunView(run)).of_one_step()


def _of_one(rows: np.ndarray, span: int) -> np.ndarray:
    """Rows of messages or waits with the amounts of one step; a part of a message rounds to the nearest."""
    rows = rows.copy()
    for name in set(rows.dtype.names).intersection(("count", "bytes", "empty", "time_s")):
        each = rows[name] / span
        rows[name] = np.rint(each) if rows[name].dtype.kind in "iu" else each
    return rows
