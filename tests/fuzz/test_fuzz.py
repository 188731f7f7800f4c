# SPDX-License-Identifier: BSD-3-Clause
"""A few cases of each fuzzer; `make fuzz` tries more."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent


def fuzz_runs(tmp_path: Path, *words: str, by: str = "fuzz_runs.py") -> subprocess.CompletedProcess:
    words = [sys.executable, str(FOLDER / by), *words]
    return subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=600, check=False)


@pytest.mark.parametrize(
    "cases", [pytest.param(12, id="few"), pytest.param(500, marks=pytest.mark.long, id="many")]
)
def test_commands_end_with_a_sentence_whatever_a_run_says(tmp_path, cases):
    result = fuzz_runs(tmp_path, "--cases", str(cases), *([] if cases > 100 else ["--quick"]))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "holds  info: " in result.stdout and "MISSES" not in result.stdout
    only_refused = re.findall(r"  (.*): ([\d,]+) runs \(\2 ended with", result.stdout)
    assert {name for name, _ in only_refused} <= {"regimes"}, result.stdout  # which reads few runs to its end


@pytest.mark.parametrize(
    "cases", [pytest.param(60, id="few"), pytest.param(5000, marks=pytest.mark.long, id="many")]
)
def test_damaged_files_cost_a_sentence_that_names_them(tmp_path, cases):
    result = fuzz_runs(tmp_path, "--cases", str(cases), by="fuzz_files.py")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "holds  model of regimes: " in result.stdout and "MISSES" not in result.stdout


def test_fuzzer_of_files_reports_a_reader_that_lets_an_exception_through(tmp_path, monkeypatch):
    planted = "import perfield.studies.regimes.injection.latencies as i\ni.read_trace = lambda *args: [][0]\n"
    (tmp_path / "sitecustomize.py").write_text(planted)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    result = fuzz_runs(tmp_path, "--cases", "4", "--only", "latencies", by="fuzz_files.py")
    assert result.returncode == 1 and "IndexError in sitecustomize.py:2" in result.stdout


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ("1 / 0", "ZeroDivisionError in sitecustomize.py:2"),
        ("open('x', 'w').close() or 'finished'", "changed or removed ['a/b/c/x']"),
    ],
    ids=["an error", "a file of the user's"],
)
def test_fuzzer_reports(tmp_path, monkeypatch, planted, said):
    code = f"import perfield.run.ranks as r\nr.run_state = lambda *args: {planted}\n"
    (tmp_path / "sitecustomize.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    result = fuzz_runs(tmp_path, "--cases", "4", "--only", "info")
    assert result.returncode == 1 and said in result.stdout + result.stderr


def test_fuzzer_ends_if_a_run_cannot_be_made(tmp_path, monkeypatch):
    folders = [str(FOLDER.parent), str(FOLDER)]
    planted = f"import sys\nsys.path += {folders}\nimport meaning\nmeaning.write = lambda *args: {{}}[0]\n"
    (tmp_path / "sitecustomize.py").write_text(planted)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    result = fuzz_runs(tmp_path, "--cases", "2", "--only", "steps")
    assert result.returncode == 1 and "cannot be made" in result.stderr
