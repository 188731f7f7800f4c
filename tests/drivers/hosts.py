# SPDX-License-Identifier: BSD-3-Clause
"""Hosts of namespaces for tests: why there are none, and running a command on them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parents[1] / "multihost"


def why_no_hosts() -> str:
    """Why this machine cannot make hosts; empty if it can."""
    if os.geteuid() != 0:
        return "making hosts of namespaces needs root"
    for tool in ("ip", "unshare", "nsenter", "mpirun"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    namespaces = ["--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
    tried = subprocess.run(
        ["unshare", *namespaces, "sh", "-c", "mount -t tmpfs none /run && ip link add b0 type bridge"],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"namespaces cannot be made here: {tried.stderr.strip()}" if tried.returncode else ""


def why_no_slurm() -> str:
    """Why this machine cannot run a Slurm of its own on hosts of namespaces; empty if it can."""
    for tool in ("slurmctld", "slurmd", "munged", "srun", "sbatch", "lstopo"):
        if shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
            return f"{tool} is not installed"
    return why_no_hosts()


def compiled(source: str, folder: Path, *flags: str) -> Path:
    """A C file of multihost/, compiled: a library if its name begins with "fake", else a program."""
    built = folder / Path(source).with_suffix(".so" if source.startswith("fake") else "")
    shared = ["-shared", "-fPIC"] if built.suffix else []
    subprocess.run(["gcc", "-O2", *shared, "-o", built, HERE / source, *flags, "-ldl"], check=True)
    return built


def faked_machines(folder: Path, built: Path | None = None) -> dict[str, str]:
    """The variables by which each host has the machine of `folder`/HOST.xml, and ranks are bound to its PUs.

    built : where the library goes that fakes this; None: into `folder`.
    """
    library = compiled("fakeaff.c", built or folder)
    return {"MH_MACHINES": str(folder), "MH_FAKE_AFFINITY": str(library)}


def run_on_hosts(
    hosts: str, command: list[object], folder: Path, env: Mapping[str, str], timeout: float = 120
) -> subprocess.CompletedProcess:
    """Runs a command in `folder` on a cluster of `hosts` ("n1,n2;n3": two leaf switches)."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PERFIELD_")}
    return subprocess.run(
        [str(word) for word in (HERE / "mhrun", hosts, *command)],
        env=environment | dict(env),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
