# SPDX-License-Identifier: BSD-3-Clause
"""Names of functions as a reader wants them."""

from __future__ import annotations

import re


def short(function: str) -> str:
    """A function's name without parameters, template arguments and return type: Foam::reduce. glibc's own
    names of its functions (__GI_sched_yield) become those that programs call."""
    name = function.replace("(anonymous namespace)::", "").partition("(")[0]
    while "<" in name and (inner := re.sub(r"<[^<>]*>", "", name)) != name:
        name = inner
    return re.sub(r"^__GI_+", "", name.split()[-1]) if name.split() else function
