# SPDX-License-Identifier: BSD-3-Clause
"""What a program with an adaptor of its own did under perfield."""

from __future__ import annotations

from typing import TYPE_CHECKING

import perfield

if TYPE_CHECKING:
    from conftest import Completed

    from perfield.run import RunDirectory


class AdaptorRun:
    """A program that succeeded: its output, what perfield said, and its run."""

    def __init__(self, result: Completed):
        assert result.returncode == 0, result.stdout + result.stderr
        self.out, self.err, self.cwd = result.stdout, result.stderr, result.cwd
        self.said = [line for line in result.stderr.splitlines() if line.startswith("perfield: ")]
        self.folder = result.cwd / "perfield-run"

    @property
    def run(self) -> RunDirectory:
        """What was measured."""
        return perfield.open(self.folder)
