# SPDX-License-Identifier: BSD-3-Clause
"""Names of functions as a reader wants them."""

from __future__ import annotations

import re


def short(function: str) -> str:
    """A function's name without parameters, template arguments and return type: Foam::reduce.

    glibc's own names of its functions (__GI_sched_yield) become those that programs call. Of a hash at the
    end, as in code that FEniCSx makes, seven digits stay.
    """
    name = function.replace("(anonymous namespace)::", "")
    while "<" in name and (inner := re.sub(r"<[^<>]*>", "", name)) != name:
        name = inner  # first, as they may hold parameters, too: std::function<void (int)>::operator()(int)
    name = name.partition("(")[0]
    name = re.sub(r"_([0-9a-f]{7})[0-9a-f]{25,}$", r"_\1", name)
    return re.sub(r"^__GI_+", "", name.split()[-1]) if name.split() else function
