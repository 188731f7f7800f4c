# SPDX-License-Identifier: BSD-3-Clause
"""How much memory is free: a grid of any size is described in a few bytes."""

from __future__ import annotations

import resource
from pathlib import Path


def free_bytes() -> int:
    """Memory that this process may still take: by the machine, its control group and its own limit."""
    free = [_number_in("/proc/meminfo", "MemAvailable:") * 1024 or 1 << 62]
    most, used = (_number_in(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
    if most:
        free.append(most - used)
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        free.append(limit - _number_in("/proc/self/statm") * resource.getpagesize())
    return max(0, min(free))


def _number_in(path: str, key: str = "") -> int:
    """The first number behind a key in a file of the kernel; 0 if there is none."""
    try:
        words = Path(path).read_text().partition(key)[2].split() if key else Path(path).read_text().split()
    except OSError:
        return 0
    return int(words[0]) if words and words[0].isdigit() else 0
