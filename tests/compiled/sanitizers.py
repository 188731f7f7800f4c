# SPDX-License-Identifier: BSD-3-Clause
"""Compiles programs together with perfield's C++ for the sanitizers of the compiler, without MPI.

Sanitizers are named as -fsanitize takes them: "thread", "address,undefined"; "" means none.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compiled.built import built, compiler_state, state_of

BRIDGE = Path(__file__).resolve().parents[2] / "bridge"
READING = ("platform", "format", "configuration", "fields", "run_directory", "waits", "summary")
MEASURING = (*READING, "recorder", "session", "api")
_SKIPPED = {"older_glibc.cpp", "original_plugin.cpp"}  # for old C libraries; of another library


def sources(*rooms: str) -> list[Path]:
    """The C++ files of these rooms of the bridge."""
    files = [file for room in rooms for file in sorted((BRIDGE / room).glob("*.cpp"))]
    return [file for file in files if file.name not in _SKIPPED]


def has_sanitizer(sanitizers: str, folder: Path) -> bool:
    """Whether this compiler and kernel have sanitizers that work."""
    probe = subprocess.run(
        [*_words(sanitizers), "-x", "c++", "-", "-o", folder / "probe"],
        input="int main() {}",
        text=True,
        check=False,
        capture_output=True,
    )
    started = probe.returncode == 0 and subprocess.run([folder / "probe"], check=False, capture_output=True)
    return bool(started) and started.returncode == 0


def compiled(files: Sequence[Path], sanitizers: str) -> list[Path]:
    """The objects of these files, each compiled once (tests/compiled/built.py)."""
    flags = ['-DPERFIELD_VERSION="0"', f"-I{BRIDGE}", f"-I{BRIDGE / 'include'}"]
    words = [*_words(sanitizers), *flags]
    headers = [state_of(BRIDGE, pattern) for pattern in ("**/*.h*", "**/*.def")]

    def compile_one(file: Path) -> Path:
        def compile_in(folder: Path) -> None:
            subprocess.run([*words, "-c", file, "-o", folder / f"{file.stem}.o"], check=True, timeout=600)

        beside = state_of(file.parent, "*.h*")
        key = str(file), file.read_text(), beside, headers, words, compiler_state("g++")
        return built(file.stem, key, compile_in) / f"{file.stem}.o"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_one, files))


def linked(program: Path, objects: Sequence[Path], sanitizers: str, folder: Path) -> Path:
    """The program of this source, linked with these objects, in `folder`."""
    own = compiled([program], sanitizers)
    made = folder / program.stem
    words = [*_words(sanitizers), *own, *objects, "-o", made, "-ldl", "-lpthread"]
    subprocess.run(words, check=True, timeout=300)
    return made


def _words(sanitizers: str) -> list[str]:
    checked = ["-g", f"-fsanitize={sanitizers}", "-fno-sanitize-recover=undefined"] if sanitizers else []
    return ["g++", "-std=c++17", "-O1", *checked]
