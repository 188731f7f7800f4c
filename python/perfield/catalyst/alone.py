# SPDX-License-Identifier: BSD-3-Clause
"""One process that makes pictures by itself, without MPI: in place of `World` and of a communicator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from perfield.catalyst.errors import PicturesEnded, reason

Result = TypeVar("Result")


class Alone:
    """The one rank of a world without MPI. It is its own communicator."""

    rank, size = 0, 1

    def agree(self, *numbers: int, comm: Any = None) -> list[int]:
        """The numbers."""
        return list(numbers)

    def together(self, what: str, action: Callable[[], Result], comm: Any = None) -> Result:
        """Runs an action; raises PicturesEnded if it fails. what : its name, for the error message."""
        try:
            return action()
        except PicturesEnded:
            raise
        except Exception as error:
            raise PicturesEnded(f"{what} failed ({reason(error)})") from error

    def Barrier(self) -> None:
        """Waits for nobody."""

    def allgather(self, value: Any) -> list[Any]:
        """The values of all ranks."""
        return [value]
