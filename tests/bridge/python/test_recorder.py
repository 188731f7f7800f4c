# SPDX-License-Identifier: BSD-3-Clause
"""The compiled module perfield._recorder: its stub, its documentation, and its single recorder."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import run_command

from perfield import _recorder

STUB = ast.parse((Path(__file__).resolve().parents[3] / "python/perfield/_recorder.pyi").read_text())
FUNCTIONS = [node for node in STUB.body if isinstance(node, ast.FunctionDef)]
WHICH_ONE = """
import perfield; perfield.region
libraries = {line.split()[-1] for line in open("/proc/self/maps") if "/libperfield.so" in line}
print(len(libraries), *libraries)
"""


def test_the_stub_has_the_names_of_the_module():
    variables = {node.target.id for node in STUB.body if isinstance(node, ast.AnnAssign)}
    classes = {node.name for node in STUB.body if isinstance(node, ast.ClassDef)}
    public = {name for name in dir(_recorder) if not name.startswith("_")}
    assert public == classes | variables | {node.name for node in FUNCTIONS}


@pytest.mark.parametrize("node", [n for n in FUNCTIONS if n.name != "region"], ids=lambda node: node.name)
def test_function_matches_the_stub_and_is_documented(node):
    function = getattr(_recorder, node.name)
    names = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
    signature = function.__text_signature__
    assert [word for word in re.findall(r"\w+", re.sub(r"=\w+", "", signature)) if word != "module"] == names
    assert "." in function.__doc__.partition("\n\n")[0]


@pytest.mark.parametrize("under", [[], ["perfield-exec"]], ids=["alone", "perfield-exec"])
def test_process_has_one_recorder(bin_dir, tmp_path, under):
    command = [*(bin_dir / word for word in under), sys.executable, "-c", WHICH_ONE]
    result = run_command(command, None, tmp_path, 60)
    number, path = result.stdout.split()
    assert number == "1" and Path(path) == Path(_recorder.__file__).parent / "lib/libperfield.so"


def test_module_needs_no_new_library_and_exports_its_entry_alone():
    command = ["objdump", "-T", _recorder.__file__]
    words = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert not re.search(r"\*UND\*.*(GLIBCXX|CXXABI)_", words)
    # As for all libraries in measured programs: see tests/test_house.py.
    assert max(int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", words)) <= 34
    symbols = [line for line in words.splitlines() if re.match(r"[0-9a-f]{16} [ gw]", line)]
    assert [line.split()[-1] for line in symbols if "*UND*" not in line] == ["PyInit__recorder"]
