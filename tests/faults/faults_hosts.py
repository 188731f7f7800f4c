# SPDX-License-Identifier: BSD-3-Clause
"""48 ranks on four hosts start at once, again and again: all of them write into one run directory.

The hosts are namespaces of this machine (tests/multihost).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from campaign import FOLDER, compiled, options, run, verdict

import perfield

MULTIHOST = FOLDER.parent / "multihost"
sys.path[1:1] = [str(MULTIHOST)]
from test_multihost import why_no_hosts  # noqa: E402

HOSTS = ("n1", "n2", "n3", "n4")
STEPS = 5


def whole(folder: Path, n_ranks: int) -> bool:
    """Whether one run directory holds all ranks on all hosts, with all their steps."""
    if [path.name for path in folder.glob("perfield-run*")] != ["perfield-run"]:
        return False
    found = perfield.open(folder / "perfield-run")
    present = [entry for entry in found.rank_entries if entry is not None]
    return (
        len(present) == found.n_ranks == n_ranks
        and {entry["host"] for entry in present} == set(HOSTS)
        and found.steps_closed.tolist() == [STEPS] * n_ranks
        and (found.state, found.damage) == ("finished", [])
    )


def main() -> None:
    given = options(__doc__)
    n_ranks, times = (16, 2) if given.short else (48, 50)
    what, target = f"{n_ranks} ranks on {len(HOSTS)} hosts", "all ranks in 1 directory, each time"
    if reason := why_no_hosts():
        verdict(what, "nothing", f"not tried: {reason}", target, True)
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        program = compiled("../../multihost/ring.c", folder, compiler="mpicc.openmpi")
        perfield_exec = Path(sys.executable).parent / "perfield-exec"
        hosts = ",".join(f"{host}:{n_ranks // len(HOSTS)}" for host in HOSTS)
        good = 0
        for time in range(times):
            (inside := folder / str(time)).mkdir()
            words = ["mpirun", "--oversubscribe", "--host", hosts, "-n", n_ranks, perfield_exec, program]
            try:
                result = run([MULTIHOST / "mhrun", "n1,n2;n3,n4", *words], inside, timeout=300)
            except subprocess.TimeoutExpired:
                print(f"  time {time}: not over after 300 s", file=sys.stderr)
                continue
            fits = result.returncode == 0 and whole(inside, n_ranks)
            good += fits
            if not fits:
                print(f"  time {time}: {result.returncode}\n{result.stderr[-2000:]}", file=sys.stderr)
            shutil.rmtree(inside)
    verdict(what, f"{times} times", f"{good} of {times} times", target, good == times)


if __name__ == "__main__":
    main()
