# SPDX-License-Identifier: BSD-3-Clause
"""lstopo describes this machine, or a sentence says why not."""

from __future__ import annotations

import os
import shutil

import pytest

from perfield.topology import MachineError, this_machine


def test_this_machine_has_the_pus_of_this_process():
    if not shutil.which("lstopo-no-graphics") and not shutil.which("lstopo"):
        pytest.skip("lstopo (package hwloc) is not installed")
    assert os.sched_getaffinity(0) <= set(this_machine().pus)


def test_missing_lstopo_names_the_package():
    with pytest.raises(
        MachineError, match=r"found no such-lstopo that describes this machine; install.* hwloc"
    ):
        this_machine(("such-lstopo",))


def test_failing_lstopo_is_reported_with_its_words(tmp_path):
    broken = tmp_path / "lstopo"
    broken.write_text("#!/bin/sh\necho no memory >&2\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(MachineError, match=r"it ended with 3 \(no memory\)"):
        this_machine((str(broken),))


def test_lstopo_that_writes_no_xml_is_reported(tmp_path):
    broken = tmp_path / "lstopo"
    broken.write_text("#!/bin/sh\necho hello\n")
    broken.chmod(0o755)
    with pytest.raises(MachineError, match="is not XML"):
        this_machine((str(broken),))
