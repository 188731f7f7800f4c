# SPDX-License-Identifier: BSD-3-Clause
"""clang-tidy finds nothing in the bridge; bridge/.clang-tidy has what it looks for.

Left out: sources/cupti, which needs CUDA's headers, and rooms that are seldom changed and read no files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from compiled.sanitizers import BRIDGE, sources

WITHOUT_ANALYZER = "--checks=-clang-analyzer-*"  # which takes half a minute for each file


ROOMS = ("platform", "format", "configuration", "fields", "run_directory", "session")
ROOMS += ("recorder", "summary", "waits", "injector")
PMPI = BRIDGE / "sources/pmpi"
SOURCES = sorted(
    f"sources/{folder.name}"
    for folder in (BRIDGE / "sources").iterdir()
    if folder.is_dir() and folder.name != "cupti"
)


@pytest.fixture(scope="module")
def generated(tmp_path_factory) -> Path:
    """A folder with the headers that the build generates for Open MPI, in the folders of their rooms."""
    folder = tmp_path_factory.mktemp("generated")
    words = ["g++", "-std=c++17", f"-I{BRIDGE}", *sources("sources/pmpi/generate"), "-o", folder / "generate"]
    subprocess.run(words, check=True, timeout=600)
    header = Path(mpi_folders()[0]) / "mpi.h"
    for tables, made in ((PMPI, "sources/pmpi"), (BRIDGE / "injector", "injector")):
        (folder / made).mkdir(parents=True)
        options = ["--mpi-header", header, "--table", tables / "table", "--out", folder / made]
        subprocess.run([folder / "generate", *options], check=True)
    options = ["--table", PMPI / "table", "--out", folder / "sources/pmpi"]
    subprocess.run([folder / "generate", *options], check=True)
    return folder


def mpi_folders() -> list[str]:
    """The folders of Open MPI's headers."""
    words = ["mpicc", "-showme:incdirs"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


def of_mpi(room: str, generated: Path) -> list[str]:
    """Flags of rooms that know MPI: call.hpp is that of the room, so it comes first."""
    if room != "injector" and not room.startswith("sources"):
        return []
    own = generated / ("injector" if room == "injector" else "sources/pmpi")
    system = [word for folder in mpi_folders() for word in ("-isystem", folder)]
    folders = [f"-I{folder}" for folder in (BRIDGE / room, own, generated / "sources/pmpi", PMPI)]
    return [*folders, *system, "-fno-exceptions", "-DPERFIELD_WRAPS_MPI4=true"]


def reports(file: Path, more: list[str], *options: str) -> str:
    """What clang-tidy 14 says of a file, compiled with more flags; "" if nothing."""
    flags = ["-std=c++17", '-DPERFIELD_VERSION="0"', *more, f"-I{BRIDGE}", f"-I{BRIDGE / 'include'}"]
    words = ["clang-tidy-14", "--quiet", *options, file, "--", *flags]
    result = subprocess.run(words, capture_output=True, text=True, timeout=900, check=False)
    return result.stdout + result.stderr if result.returncode else ""


@pytest.mark.long
@pytest.mark.parametrize("room", [*ROOMS, *SOURCES])
def test_room_has_no_report(room, generated):
    if shutil.which("clang-tidy-14") is None:
        pytest.skip("clang-tidy-14 is not installed; see .ci/packages")
    options = [] if room == "format" else [WITHOUT_ANALYZER]  # it reads what others wrote
    flags = of_mpi(room, generated)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda file: reports(file, flags, *options), sources(room)))
    assert not any(found), "\n".join(found)
