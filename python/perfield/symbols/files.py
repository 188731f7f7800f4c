# SPDX-License-Identifier: BSD-3-Clause
"""Functions of a program or library by address, from the symbols in the file; also of stripped ones, which
keep what they export."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

from perfield.catalyst_scripts.safe_open import safe_open

_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_FUNCTION, _INDIRECT = 2, 10  # kinds of symbols that are code
_MOST_SECTIONS = 1 << 17  # programs with a section for each function have tens of thousands
_MOST_OF_ID = 128  # hexadecimal digits of a build id; linkers write 40
DEBUG = Path("/usr/lib/debug/.build-id")


@dataclass(frozen=True)
class Symbols:
    """Functions of a file: begin and end (n,) of each, by begin, and the symbols' names as in the file.

    starts : (m,) where functions begin, by the table for unwinding, which stripped files keep, too.
    build_id : of the file, "" if it has none.
    """

    begin: np.ndarray
    end: np.ndarray
    names: list[str]
    starts: np.ndarray
    build_id: str

    def of(self, addresses: Sequence[int]) -> list[str]:
        """The symbol of each address in the file; "" where none covers it."""
        wanted = np.asarray(addresses, dtype=np.uint64)
        at = np.searchsorted(self.begin, wanted, side="right") - 1
        inside = (at >= 0) & (wanted < self.end[at]) if len(self.begin) else np.zeros(len(wanted), bool)
        return [self.names[n] if here else "" for n, here in zip(at.tolist(), inside.tolist())]

    def start_of(self, address: int) -> int:
        """Where the function around an address begins; the address itself if that is not known."""
        at = int(np.searchsorted(self.starts, np.uint64(address), side="right")) - 1
        return int(self.starts[at]) if at >= 0 else address


@lru_cache(maxsize=64)
def symbols_of(path: str) -> Symbols | None:
    """The functions of a file, with those in a separate debug file that has its build id; None if it cannot
    be read as an ELF file."""
    try:
        with safe_open(path, most=None) as file:
            elf = ELFFile(file)
            if elf.num_sections() > _MOST_SECTIONS:
                return None
            build_id = _build_id(elf)
            tables = [_functions(section) for section in elf.iter_sections() if _is_table(section)]
            starts = _starts(elf)
    except Exception:  # pyelftools has many for a damaged file
        return None
    tables += _separate(build_id)
    begin = np.concatenate([np.zeros(0, np.uint64), *(table[0] for table in tables)])
    end = np.concatenate([np.zeros(0, np.uint64), *(table[1] for table in tables)])
    names = [name for table in tables for name in table[2]]
    order = np.lexsort([np.array([len(name) for name in names], np.int64), begin])
    order = order[np.diff(begin[order], prepend=begin[order[:1]] ^ np.uint64(1)) != 0]
    return Symbols(begin[order], end[order], [names[n] for n in order.tolist()], starts, build_id)


def demangled(names: Sequence[str]) -> list[str]:
    """Names of C++, Rust and Fortran as the source has them; of C++ only if c++filt (or LLVM's) is there."""
    names = [of_fortran(name.partition("@")[0]) for name in names]
    tool = next((tool for tool in ("c++filt", "llvm-cxxfilt") if shutil.which(tool)), None)
    if tool is None or not any(name.startswith("_Z") for name in names):
        return names
    result = subprocess.run(
        [tool], input="\n".join(names) + "\n", capture_output=True, text=True, errors="replace", check=False
    )
    lines = result.stdout.splitlines()
    return lines if len(lines) == len(names) else names


def of_fortran(name: str) -> str:
    """`__flow_MOD_advance` is flow::advance, `relax_` is relax."""
    if name.startswith("__") and "_MOD_" in name:
        return name[2:].replace("_MOD_", "::", 1)
    return name[:-1] if name.endswith("_") and not name.startswith("_") and name.islower() else name


def _is_table(section: object) -> bool:
    return isinstance(section, SymbolTableSection)


def _functions(section: SymbolTableSection) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Begin, end and name of each function in a table of symbols of 64-bit files."""
    data = section.data()
    table = np.frombuffer(data[: len(data) // _SYMBOL.itemsize * _SYMBOL.itemsize], _SYMBOL)
    kind = table["info"] & 15
    table = table[((kind == _FUNCTION) | (kind == _INDIRECT)) & (table["section"] != 0)]
    texts = section.stringtable.data()
    names = [texts[at : texts.find(b"\0", at)].decode(errors="replace") for at in table["name"].tolist()]
    # A function of hand-written code may have no size: it reaches as far as one byte here.
    return table["value"], table["value"] + np.maximum(table["size"], np.uint64(1)), names


def _starts(elf: ELFFile) -> np.ndarray:
    """Where functions begin: the table of .eh_frame_hdr, as compilers write it (Linux Standard Base)."""
    section = elf.get_section_by_name(".eh_frame_hdr")
    data = section.data() if section is not None else b""
    if len(data) < 12 or data[:4] != b"\x01\x1b\x03\x3b":  # offsets of 4 bytes from this section
        return np.zeros(0, np.uint64)
    n = min(int.from_bytes(data[8:12], "little"), (len(data) - 12) // 8)
    offsets = np.frombuffer(data, "<i4", 2 * n, 12)[::2].astype(np.int64)
    return np.sort(offsets + int(section["sh_addr"])).astype(np.uint64)


def _build_id(elf: ELFFile) -> str:
    for section in elf.iter_sections():
        if isinstance(section, NoteSection):
            for note in section.iter_notes():
                if note["n_type"] == "NT_GNU_BUILD_ID":
                    return str(note["n_desc"])
    return ""


def _separate(build_id: str) -> list[tuple[np.ndarray, np.ndarray, list[str]]]:
    """The symbols of the debug file that a distribution installs apart from the program."""
    path = DEBUG / build_id[:2] / f"{build_id[2:]}.debug"
    if not 0 < len(build_id) <= _MOST_OF_ID or not path.is_file():
        return []
    try:
        with safe_open(path, most=None) as file:
            return [_functions(section) for section in ELFFile(file).iter_sections() if _is_table(section)]
    except Exception:
        return []
