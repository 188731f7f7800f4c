# SPDX-License-Identifier: BSD-3-Clause
"""Archives that damage or malice made: one sentence, exit code 2, bounded memory, and no run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

small_traces = pytest.importorskip("small_traces", reason="the module otf2 is not installed")

from perfield.traces import TraceError, import_trace  # noqa: E402

PEAK = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""
CHUNK = 15  # where the anchor file has the bytes of a chunk of events, which the library takes at once


@pytest.fixture
def anchor(tmp_path) -> Path:
    """The anchor file of a good trace."""
    return small_traces.write_ring(tmp_path / "trace", 4, 3)


def changed(data: bytes, at: int, new: bytes) -> bytes:
    """The data with other bytes at a place."""
    return data[:at] + new + data[at + len(new) :]


@pytest.mark.parametrize(
    ("suffix", "change"),
    [
        (".otf2", lambda data: changed(data, 3, b"\x00")),
        (".otf2", lambda data: data[: len(data) // 2]),
        (".otf2", lambda data: changed(data, CHUNK, (1 << 62).to_bytes(8, "big"))),
        (".otf2", lambda data: changed(data, CHUNK, b"\x7f\xff\xff\xff")),
        (".def", lambda data: changed(data, len(data) // 2, b"\xff")),
        (".def", lambda data: data[: len(data) // 2]),
        (".def", lambda data: changed(data, 100, b"\xff" * 60)),
        (".def", lambda data: b""),
    ],
)
def test_damaged_archive_is_one_sentence(anchor, suffix, change, tmp_path):
    file = anchor.with_suffix(suffix)
    file.write_bytes(change(file.read_bytes()))
    command = [str(Path(sys.executable).parent / "perfield"), "import", str(anchor), "-o", "run"]
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("perfield import: ") and str(anchor) in sentence
    assert int(done.stdout) < 1_500_000  # kB
    assert [path.name for path in tmp_path.iterdir()] == ["trace"]


@pytest.mark.parametrize(
    ("library", "reason"),
    [
        ("import os; os.abort()", "its library ended the process"),
        ("bytearray(3 << 30)", r"more than 1.07 GB of memory for the [\d.]+ kB that its files take"),
    ],
)
def test_library_that_fails_on_an_archive_leaves_no_run(anchor, library, reason, tmp_path, monkeypatch):
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake/otf2.py").write_text(library)
    monkeypatch.syspath_prepend(tmp_path / "fake")
    with pytest.raises(TraceError, match=rf"{anchor} cannot be imported: .*{reason}"):
        import_trace(anchor, tmp_path / "run")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fake", "trace"]


def test_pipe_in_an_archive_is_refused(anchor, tmp_path):
    events = anchor.parent / "traces/2.evt"
    events.unlink()
    os.mkfifo(events)
    with pytest.raises(TraceError, match=r"2\.evt is a pipe, expected a regular file"):
        import_trace(anchor, tmp_path / "run")
