# SPDX-License-Identifier: BSD-3-Clause
"""Memory of ten constant fields on a million points, for each way to hold them in VTK."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from report import figure
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonDataModel import vtkImageData

from perfield import _bridge

FIELDS, POINTS = 10, 1_000_000
TARGET_PERCENT = 3
WAYS = {
    "attach": "as perfield.attach holds them",
    "field": "as field data, one number each",
    "single": "in single precision",
    "double": "as arrays of doubles",
}


def own_kilobytes() -> int:
    """Memory that only this process uses, including its page tables, in kB."""
    rows = Path("/proc/self/smaps_rollup").read_text() + Path("/proc/self/status").read_text()
    fields = dict(row.split(":", 1) for row in rows.splitlines() if ":" in row)
    return sum(int(fields[name].split()[0]) for name in ("Pss_Anon", "Pss_Shmem", "VmPTE"))


def numbers(way: str, value: float, n: int) -> np.ndarray:
    """One field's values, held in the given way."""
    if way == "attach":
        return np.frombuffer(_bridge.Constant(value, n))
    return np.full(1 if way == "field" else n, value, dtype=np.float32 if way == "single" else np.float64)


def attach(way: str, side: int) -> vtkImageData:
    """A grid of side**3 points with ten fields; VTK reads each once."""
    grid = vtkImageData()
    grid.SetDimensions(side, side, side)
    for number in range(FIELDS):
        array = numpy_to_vtk(numbers(way, number + 0.5, side**3))
        array.SetName(str(number))
        (grid.GetFieldData() if way == "field" else grid.GetPointData()).AddArray(array)
        array.GetRange()
    return grid


def share(way: str) -> float:
    """Memory of the ten fields, in per cent of ten arrays of doubles.

    Run it first in a fresh process: earlier allocations would falsify it.
    """
    warm = attach(way, 20)  # loads modules, whose memory must not count
    before = own_kilobytes()
    grid = attach(way, 100)
    taken = own_kilobytes() - before
    del warm, grid
    return taken / (FIELDS * POINTS * 8 / 1024) * 100


def measured(way: str) -> float:
    """The same, measured in a separate process."""
    command = [sys.executable, __file__, way]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def main() -> None:
    """Prints the share of each way; with a way as argument, prints its share as a number."""
    if len(sys.argv) > 1:
        print(share(sys.argv[1]))
        return
    for way, what in WAYS.items():
        target = TARGET_PERCENT if way == "attach" else None
        values = [measured(way) for _ in range(5)]
        figure(f"memory of 10 constant fields on 1,000,000 points, {what}", values, "%", target=target)


if __name__ == "__main__":
    main()
