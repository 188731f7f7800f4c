# SPDX-License-Identifier: BSD-3-Clause
"""Checks before ParaView is loaded into a program: the same MPI, and a display for images.

The checks load nothing that could disturb the program.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from pathlib import Path

from perfield.catalyst.errors import UnfitError

_FAMILIES = {
    "libmpi.so.40": "Open MPI",
    "libmpi.so.20": "Open MPI",
    "libmpich.so.12": "MPICH",
    "libmpi.so.12": "MPICH",
}


def check_mpi(known: str) -> None:
    """Raises UnfitError unless mpi4py, which ParaView uses, is built for the program's MPI.

    known : the MPI that the wrappers found; "" if they found none.
    """
    spec = importlib.util.find_spec("mpi4py")
    origin = Path(str(spec.origin)) if spec is not None else None
    if origin is None:
        raise UnfitError(
            f"{sys.prefix} has no mpi4py; install the Debian package python3-mpi4py, or perfield's extra "
            "(pip install 'perfield[catalyst]', with the program's MPI in PATH), or name another Python "
            "as catalyst_python"
        )
    version = known or _running_mpi()
    program = next((family for family in ("Open MPI", "MPICH") if family in version), version)
    found = _families_in(next(iter(origin.parent.glob("MPI.*so")), origin))
    if program and found and program not in found:
        raise UnfitError(
            f"the program uses {program}, but mpi4py ({origin.parent}) and thus ParaView are built for "
            f"{found[0]}; build the program with {found[0]}, or make its pictures afterwards"
        )


def check_paraview(else_: str = "set catalyst_python to a Python that has it") -> None:
    """Raises UnfitError if this Python has no ParaView. else_ : what to do if it cannot be installed."""
    if importlib.util.find_spec("paraview") is None:
        raise UnfitError(
            f"the Python of {sys.prefix} has no module paraview; install the Debian package "
            f"python3-paraview, or {else_}"
        )


def needs_display() -> bool:
    """Whether this ParaView can draw only through X."""
    from vtkmodules import vtkRenderingOpenGL2

    return hasattr(vtkRenderingOpenGL2, "vtkXOpenGLRenderWindow")


def _running_mpi() -> str:
    """The version text of the MPI that this process has loaded; "" if it sees none."""
    if "mpi4py.MPI" in sys.modules:
        return str(sys.modules["mpi4py.MPI"].Get_library_version())
    try:
        ask = ctypes.CDLL(None).MPI_Get_library_version
    except AttributeError:
        return ""
    text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
    return text.value.decode(errors="replace") if ask(text, ctypes.byref(length)) == 0 else ""


def mpi_is_running(known: str) -> bool:
    """Whether the program has started MPI; if not, mpi4py will. known : as for `check_mpi`."""
    if known or "mpi4py.MPI" in sys.modules:
        return True
    try:
        started = ctypes.c_int()
        return ctypes.CDLL(None).MPI_Initialized(ctypes.byref(started)) == 0 and bool(started.value)
    except AttributeError:
        return False


def _families_in(library: Path) -> list[str]:
    """The MPIs whose library names occur in a shared object."""
    try:
        content = library.read_bytes()
    except OSError:
        return []
    return [family for name, family in _FAMILIES.items() if name.encode() + b"\0" in content]
