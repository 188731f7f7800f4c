# SPDX-License-Identifier: BSD-3-Clause
"""If Debian packages are missing and cannot be installed, the script names them and says what to do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / ".ci/install-packages"


@pytest.fixture
def install(tmp_path):
    """install(**commands): runs the script for the base packages, with shell scripts for these commands."""

    def run(**commands: str) -> subprocess.CompletedProcess[str]:
        for name, text in commands.items():
            file = tmp_path / name.replace("_", "-")
            file.write_text(f"#!/bin/sh\n{text}\n")
            file.chmod(0o755)
        environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        return subprocess.run(
            [SCRIPT, "base"],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


# Reports every package but hwloc and xvfb as installed.
TWO_MISSING = 'case "$3" in hwloc|xvfb) exit 1;; *) printf installed;; esac'


def test_installer_is_silent_if_nothing_is_missing(install):
    result = install(dpkg_query="printf installed", apt_get="exit 1")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_without_root_missing_packages_are_named_with_the_command(install):
    result = install(dpkg_query=TWO_MISSING, id="echo 1000", sudo="exit 1")
    assert result.returncode == 1
    assert "these Debian packages are missing: hwloc xvfb" in result.stderr
    assert "apt-get install --no-install-recommends hwloc xvfb" in result.stderr


def test_packages_that_apt_cannot_install_are_named(install):
    result = install(dpkg_query=TWO_MISSING, id="echo 0", apt_get="echo no such package >&2; exit 100")
    assert result.returncode == 1
    assert "no such package" in result.stderr
    assert "could not install all of these Debian packages: hwloc xvfb" in result.stderr


def test_daemons_of_packages_are_not_started(install):
    result = install(dpkg_query=TWO_MISSING, id="echo 0", apt_get="echo offline $SYSTEMD_OFFLINE >&2; exit 1")
    assert "offline 1" in result.stderr


def test_services_of_packages_are_not_enabled_and_others_stay_as_they_are(install, tmp_path):
    units = tmp_path / "units"
    units.write_text("cron.service enabled enabled\n")
    systemctl = f'case "$1" in list*) cat {units};; *) echo "$@" > {tmp_path}/called;; esac'
    installs = f"case \"$*\" in *' install '*) echo 'munge.service enabled enabled' >> {units};; esac"
    result = install(dpkg_query=TWO_MISSING, id="echo 0", apt_get=installs, systemctl=systemctl)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "called").read_text() == "--quiet disable munge.service\n"
    assert "came with them and do not start with this machine: munge.service" in result.stdout


def test_no_packages_setting_skips_the_check():
    result = subprocess.run(
        [SCRIPT, "base"],
        env={"PATH": os.environ["PATH"], "PERFIELD_NO_PACKAGES": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
