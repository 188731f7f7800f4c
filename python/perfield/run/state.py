# SPDX-License-Identifier: BSD-3-Clause
"""Whether a run is still running, has finished or was killed."""

from __future__ import annotations

import os
import time
from pathlib import Path

SILENCE_S = 60  # a rank on another host counts as dead after this long without an entry


def run_state(ranks: list[dict | None], ends: dict[int, dict], newest_ns: dict[int, int]) -> str:
    """The state of a run: "running", "finished" or "killed".

    ranks : rank entries. ends : their `end` entries. newest_ns : CLOCK_REALTIME of each rank's newest entry.
    A run has finished when each rank that checked in has an `end` entry, unless one says "abort". A rank
    without one is alive if its process is (on this host), or if it wrote an entry within 60 s
    (elsewhere).
    """
    open_ranks = [rank for rank, entry in enumerate(ranks) if entry is not None and rank not in ends]
    if not open_ranks:
        return "killed" if any(end.get("reason") == "abort" for end in ends.values()) else "finished"
    return "running" if any(_alive(ranks[rank], newest_ns.get(rank, 0)) for rank in open_ranks) else "killed"


def is_certain(ranks: list[dict | None], ends: dict[int, dict]) -> bool:
    """Whether "finished" or "killed" is certain: all ranks said so, or lack a process on this host.

    It is not where a rank of another host is only silent; the arguments are those of `run_state`.
    """
    if any(end.get("reason") == "abort" for end in ends.values()):
        return True
    open_ranks = [entry for rank, entry in enumerate(ranks) if entry is not None and rank not in ends]
    return all(_is_here(entry) for entry in open_ranks)


def _is_here(entry: dict) -> bool:
    """Whether a rank's process number means something in this process."""
    here = entry.get("boot_id", "") and _same_boot(entry["boot_id"])
    return bool(here) and entry.get("pid_namespace") == _pid_namespace()


def _alive(entry: dict, newest_ns: int) -> bool:
    if _is_here(entry):
        return _process_lives(entry.get("pid", 0), entry.get("realtime_ns", 0))
    newest_ns = max(newest_ns, entry.get("realtime_ns", 0))
    return time.time_ns() - newest_ns < SILENCE_S * 1_000_000_000


def _pid_namespace() -> str:
    """The PID namespace. Process numbers are comparable only within one; a container has its own."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _same_boot(boot_id: str) -> bool:
    try:
        here = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return False
    return here.replace("-", "").startswith(boot_id.replace("-", ""))


def _process_lives(pid: int, checked_in_ns: int) -> bool:
    """Whether the process exists, is not a zombie, and started before the rank checked in (pids are
    reused)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        booted_s = next(
            int(line.split()[1])
            for line in Path("/proc/stat").read_text().splitlines()
            if line.startswith("btime")
        )
    except (OSError, StopIteration):
        return False
    started_s = booted_s + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return fields[0] not in "ZX" and started_s <= checked_in_ns / 1e9 + 2  # both clocks count in seconds
