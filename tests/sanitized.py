# SPDX-License-Identifier: BSD-3-Clause
"""Compiles a program together with perfield's C++, for the sanitizers of the compiler."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BRIDGE = Path(__file__).resolve().parents[1] / "bridge"
READING = ("platform", "format", "configuration", "fields", "run_directory", "summary")
MEASURING = (*READING, "recorder", "session", "api")
_SKIPPED = {"older_glibc.cpp", "original_plugin.cpp"}  # not needed here


def sanitized(program: Path, rooms: tuple[str, ...], sanitizers: str, folder: Path) -> Path | None:
    """Builds `program` with the sources of these rooms of bridge/, without MPI.

    sanitizers : as -fsanitize takes them. Returns the program in `folder`; None if this compiler or kernel
    has no such sanitizer that works.
    """
    words = ["g++", "-std=c++17", "-O1", "-g", f"-fsanitize={sanitizers}"]
    if "undefined" in sanitizers:
        words.append("-fno-sanitize-recover=undefined")
    probe = subprocess.run(
        [*words, "-x", "c++", "-", "-o", folder / "probe"],
        input="int main() {}",
        text=True,
        check=False,
        capture_output=True,
    )
    if probe.returncode or subprocess.run([folder / "probe"], check=False, capture_output=True).returncode:
        return None

    def compiled(file: Path) -> Path:
        made = folder / f"{file.parent.name}-{file.stem}.o"
        flags = ['-DPERFIELD_VERSION="0"', f"-I{BRIDGE}", f"-I{BRIDGE / 'include'}"]
        subprocess.run([*words, *flags, "-c", file, "-o", made], check=True, timeout=300)
        return made

    sources = [file for room in rooms for file in sorted((BRIDGE / room).glob("*.cpp"))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(
            pool.map(compiled, [file for file in sources if file.name not in _SKIPPED] + [program])
        )
    made = folder / program.stem
    subprocess.run([*words, *objects, "-o", made, "-ldl", "-lpthread"], check=True, timeout=300)
    return made
