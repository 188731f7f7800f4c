# SPDX-License-Identifier: BSD-3-Clause
"""Describes this computer through lstopo, without a run."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from .machine import Machine, MachineError
from .read_hwloc_xml import read_machine

PROGRAMS = ("lstopo-no-graphics", "lstopo")
PATIENCE_S = 60


def this_machine(programs: tuple[str, ...] = PROGRAMS) -> Machine:
    """The machine that this process runs on, as lstopo of hwloc describes it.

    programs : names or paths of lstopo; the first that is found is called.
    Raises MachineError if there is no lstopo, or if it fails.
    """
    for program in programs:
        try:
            done = subprocess.run(
                [program, "--no-io", "--of", "xml", "-"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PATIENCE_S,
                check=False,
            )
        except FileNotFoundError:
            continue
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MachineError(
                f"{program} cannot describe this machine: {error}. Call `{program} --of xml -` to see why."
            ) from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip() or "it said nothing"
            raise MachineError(
                f"{program} cannot describe this machine: it ended with {done.returncode} ({said[:200]}). "
                f"Call `{program} --of xml -` to see why."
            )
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "this-machine.xml"
            file.write_bytes(done.stdout)
            return read_machine(file)
    raise MachineError(
        f"found no {' or '.join(programs)} that describes this machine; install the package hwloc."
    )
