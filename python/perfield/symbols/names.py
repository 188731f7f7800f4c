# SPDX-License-Identifier: BSD-3-Clause
"""Names of functions as a reader wants them."""

from __future__ import annotations

import re
from pathlib import PurePath

_OF_PYTHON = re.compile(r"py::(?P<name>.+):(?P<path>/.+|<.+>)")
# What compilers make of a function: copies for some callers (GCC), and glibc's versions for several numbers
# at once, as the vector ABIs of x86 and Arm name them: _ZGVbN2v_sin_sse4.
_COPY = re.compile(r"(\.(constprop|isra|part|cold|lto_priv)(\.\d+)?)+$")
_VECTOR = re.compile(r"_ZGV[a-z][NM](?:\d+|x)[a-z0-9]*_(?P<name>\w+?)(?:_(?:sse\d|avx\w*|knl|skx))?")
_OF_NODE = re.compile(
    r"(?:JS|LazyCompile|Function|Script|Eval):[~^*+']*(?P<name>[^ ]*) (?P<path>[^ ]+?)(?::\d+)*"
)


def short(function: str) -> str:
    """A function's name without parameters, template arguments and return type: Foam::reduce.

    glibc's own names of its functions (__GI_sched_yield, _ZGVbN2v_sin_sse4) become those that programs call,
    a compiler's copies their original, and Fortran's MAIN__ the main program. Of a hash at the end, as in
    code that FEniCSx makes, seven digits stay.
    """
    if function == "MAIN__":
        return "main program"
    name = function.replace("(anonymous namespace)::", "")
    while "<" in name and (inner := re.sub(r"<[^<>]*>", "", name)) != name:
        name = inner  # first, as they may hold parameters, too: std::function<void (int)>::operator()(int)
    name = name.partition("(")[0]
    name = re.sub(r"_([0-9a-f]{7})[0-9a-f]{25,}$", r"_\1", name)
    name = _COPY.sub("", name.split()[-1]) if name.split() else function
    vector = _VECTOR.fullmatch(name)
    return vector["name"] if vector else re.sub(r"^__GI_+", "", name)


def made_function(listed: str) -> tuple[str, str]:
    """Name and source file ("" if unknown) of a function that a compiler in the program made.

    listed : what the compiler lists for perf. Python ("py::solve:/a/flow.py") and Node.js ("JS:*solve
    /a/flow.js:3:1") name the file, so the name becomes `solve (flow.py)`. Names of others stay as they are.
    """
    found = _OF_PYTHON.fullmatch(listed) or _OF_NODE.fullmatch(listed)
    if not found:
        return listed, ""
    name, path = found["name"] or "anonymous", found["path"].removeprefix("file://")
    return f"{name} ({PurePath(path).name})", path


def is_interpreter(path: str) -> bool:
    """Whether a file is the interpreter of Python, which runs functions of Python."""
    return PurePath(path).name.startswith(("libpython", "python3"))
