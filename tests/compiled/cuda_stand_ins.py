# SPDX-License-Identifier: BSD-3-Clause
"""Builds the stand-ins of libcuda, libnvidia-ml and libcupti: fakes, for machines without a device."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

_PROGRAMS = Path(__file__).parents[1] / "bridge/sources/programs"
DRIVER = (_PROGRAMS / "cuda_driver.h").read_text()
"""C text: what a program needs of CUDA's driver, the real one or the stand-in."""


def cuda_folders() -> list[str]:
    """Compiler options for the include folders of CUDA's headers, where CMake looks for them, too."""
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    names = ("cuda_cupti", "cuda_runtime", "cuda_nvcc", "nvml_dev", "cu13")
    packages = [f"nvidia/{name}/include" for name in names]
    inside = ["include", "extras/CUPTI/include", *packages]
    places = [Path(root) / place for root in roots if root for place in inside]
    return [f"-I{place}" for place in places if place.is_dir()]


def driver_stand_in(folder: Path) -> Path:
    """Builds the stand-ins of CUDA's driver and of NVML in the folder; returns it."""
    for source, library in (("cuda_host.c", "libcuda.so.1"), ("nvml_host.c", "libnvidia-ml.so.1")):
        words = ["gcc", "-O1", "-shared", "-fPIC", "-Wall", "-Werror", _PROGRAMS / source, "-ldl"]
        subprocess.run([*words, "-o", folder / library], check=True)
    return folder


def cupti_stand_in(folder: Path) -> Path:
    """Builds the stand-in of CUPTI in the folder, under each possible name; returns the folder.

    Skips the test where CUPTI's headers are not.
    """
    words = ["gcc", "-shared", "-fPIC", "-w", *cuda_folders(), _PROGRAMS / "cupti_host.c"]
    built = subprocess.run(
        [*words, "-o", folder / "libcupti.so"], capture_output=True, text=True, check=False
    )
    if built.returncode:
        pytest.skip(f"the headers of CUPTI are not found below CUDA_HOME or /usr/local/cuda:\n{built.stderr}")
    for number in range(10, 20):
        (folder / f"libcupti.so.{number}").symlink_to("libcupti.so")
    return folder
