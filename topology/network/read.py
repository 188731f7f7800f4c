# SPDX-License-Identifier: BSD-3-Clause
"""Reads the description of a network, whose kind follows from its content."""

from __future__ import annotations

import re
from pathlib import Path

from perfield.catalyst_scripts.safe_open import UnsafeFileError, safe_read

from .hostlist import short
from .ibnetdiscover import is_ibnetdiscover, read_ibnetdiscover
from .model import Network, NetworkError
from .opareport import is_opareport, read_opareport
from .slurm import is_slurm, read_slurm

MOST_BYTES = 64_000_000  # of a description, as the measured side keeps it
_CONTROL = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]")
_KINDS = (
    (is_opareport, read_opareport),
    (is_ibnetdiscover, read_ibnetdiscover),
    (is_slurm, read_slurm),
)
_EXPECTED = (
    "expected Slurm's topology.conf, or what `scontrol show topology`, `ibnetdiscover` or "
    "`opareport -o links` prints"
)


def read_network(path: str | Path, source: str = "", below: str | Path | None = None) -> Network:
    """The network that a file describes.

    source : the file's name in sentences; "" takes the path. below : the run directory that holds the file.
    What is wrong in single lines becomes a note of the network. Raises NetworkError if the file describes no
    network, and OSError if reading fails.
    """
    path = Path(path)
    source = source or str(path)
    try:
        data = safe_read(path, below, MOST_BYTES)
    except UnsafeFileError as error:
        raise NetworkError(f"{error} Name the file of one network.") from error
    return parse_network(data, source)


def parse_network(data: bytes, source: str) -> Network:
    """The network that the bytes of a file describe; see `read_network`."""
    text, notes = _decoded(data, source)
    for is_kind, read in _KINDS:
        if is_kind(text):
            network = read(text, source)
            break
    else:
        line = next((line.strip() for line in text.split("\n") if line.strip()), "")
        found = f"begins with {short(line)}" if line else "is empty"
        raise NetworkError(f"{source} {found}, {_EXPECTED}. Correct the setting topology_file, or remove it.")
    if not network.leaf_of:
        notes += (f"{source} puts no host on a switch; set topology_file to a whole description.",)
    return network.with_notes(notes)


def _decoded(data: bytes, source: str) -> tuple[str, tuple[str, ...]]:
    """The text, and a note on bytes that are not UTF-8."""
    try:
        return _CONTROL.sub("?", data.decode()), ()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        note = (
            f"{source}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8; it is shown as "
            f"\\x{data[error.start]:02x}. Save the file as UTF-8."
        )
        return _CONTROL.sub("?", data.decode(errors="backslashreplace")), (note,)
