# SPDX-License-Identifier: BSD-3-Clause
"""The frames of a run as columns: what each is called, its time and its mesh.

Only the lowest rank's entry of each frame is read, and none is read again once all its ranks have delivered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from perfield.analysis.steps import StepKinds
from perfield.derived.injected import is_injected
from perfield.derived.run import Run
from perfield.output.description import step_title
from perfield.output.survey import Meshes
from perfield.serve.ranges import Ranges


@dataclass(frozen=True)
class _Header:
    """What the title of a frame needs of it."""

    kind: str
    label: int
    uneven: bool
    span: int
    is_mean: bool = True


class Frames:
    """The columns of a run's frames; each is (n_frames,). Not for several threads at once.

    label, time, begin_s : of the lowest rank; time is NaN where the program gave none. n_present : how many
    ranks have delivered. span, states : as Run.spans and frame_states. mesh : the number of the mesh, from 0;
    it changes if that of any rank does. has_mesh : whether any rank has one.
    """

    def __init__(self) -> None:
        self.label, self.time, self.span = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64)
        self.begin_s = np.zeros(0)
        self.n_present, self.mesh = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.states = np.zeros(0, np.int64)
        self.has_mesh = False

    def refresh(self, run: Run) -> None:
        """Takes in frames that are new, and those that have grown."""
        states = run.frame_states
        before = np.zeros(len(run), np.int64)
        common = min(len(run), len(self.states))
        before[:common] = self.states[:common]
        grown = np.flatnonzero(states != before)
        self.label, self.time, self.begin_s = (
            np.concatenate([column[:common], np.zeros(len(run) - common, column.dtype)])
            for column in (self.label, self.time, self.begin_s)
        )
        headers = run.frame_headers(grown)
        self.label[grown], self.time[grown] = headers["label"], headers["time"]
        self.begin_s[grown] = headers["begin_s"]
        self.span, self.states, self.n_present = run.spans, states, run.n_present
        self.mesh, self.has_mesh = _meshes(run)

    def columns(self, run: Run, ranges: Ranges) -> dict[str, list[Any]]:
        """As the page gets them; see `about`."""
        n_frames = len(self.label)
        kinds: StepKinds | None = ranges.kinds(n_frames)
        kind = "whole" if n_frames == 1 and not (run.steps_closed > 0).any() else "step"
        injected = is_injected(run)
        uneven = [ranges.uneven(position) for position in range(n_frames)]
        titles = [
            step_title(
                _Header(kind, label, bool(uneven[position]), int(self.span[position])),  # type: ignore[arg-type]
                position,
                time if np.isfinite(time) else None,
                kinds,
                injected,
            )
            for position, (label, time) in enumerate(zip(self.label.tolist(), self.time.tolist()))
        ]
        return {
            "title": titles,
            "step": self.label.tolist(),
            "index": run.step_indexes.tolist(),
            "time": [time if np.isfinite(time) else None for time in self.time.tolist()],
            "begin_s": [round(begin, 6) if np.isfinite(begin) else None for begin in self.begin_s.tolist()],
            "kind": [kind] * n_frames,
            "mesh_version": self.mesh.tolist(),
            "uneven": uneven,
            "n_present": self.n_present.tolist() if kind == "step" else [run.n_ranks],
        }


def _meshes(run: Run) -> tuple[np.ndarray, bool]:
    """The number of each frame's mesh, and whether any rank has a mesh in any frame."""
    meshes, numbers, some = Meshes(), np.zeros(len(run), np.int64), False
    for position in range(len(run)):
        versions = run.mesh_versions(position)
        some |= bool(versions.any())
        numbers[position] = meshes.number(versions)
    return numbers, some
