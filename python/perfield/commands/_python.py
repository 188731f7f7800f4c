# SPDX-License-Identifier: BSD-3-Clause
"""Whether a Python program will find perfield in its own Python."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from perfield.child_python import run_code

PYTHON = re.compile(r"python(\d+(\.\d+)*)?$")
IMPORTS = re.compile(r"^\s*(from|import)\s+perfield\b", re.MULTILINE)
#: The end of an option's name that takes a value: python -W error solver.py
WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")
TEXT_LIMIT = 1_000_000  # bytes of a program that are searched for an import


def missing_perfield(program: list[str], functions: list[str]) -> str:
    """A sentence if `program` is started by a Python without perfield and needs it, else "".

    program : the words of a command. functions : names in the settings that may be Python functions.
    """
    interpreter, arguments = _interpreter(program)
    if not interpreter:
        return ""
    imports = bool(IMPORTS.search(_text(arguments)))
    if not (imports or functions) or _has_perfield(interpreter):
        return ""
    effects = ["the program cannot import it"] if imports else []
    effects += [f"no Python function becomes a region ({', '.join(functions)})"] if functions else []
    return (
        f"{interpreter} has no perfield, so {' and '.join(effects)}; install perfield there "
        f"({interpreter} -m pip install, in perfield's repository), or start the program with "
        f"{sys.executable}"
    )


def _interpreter(program: list[str]) -> tuple[str, list[str]]:
    """The Python that runs a program, and its arguments; ("", []) for other programs."""
    found = shutil.which(program[0]) or ""
    if PYTHON.match(Path(program[0]).name):
        return found, program[1:]
    try:
        with Path(found).open("rb") as file:
            line = file.readline(200).decode("utf-8", "replace")
    except OSError:
        return "", []
    words = line[2:].split() if line.startswith("#!") else []
    words = words[1:] if words and Path(words[0]).name == "env" else words
    if not words or not PYTHON.match(Path(words[0]).name):
        return "", []
    return shutil.which(words[0]) or "", [found, *program[1:]]


def _text(arguments: list[str]) -> str:
    """The text of the program that a Python runs: its file, or the words after -c; "" if unknown."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        if arguments[at] in ("-c", "-m"):
            return arguments[at + 1] if arguments[at] == "-c" and at + 1 < len(arguments) else ""
        at += 2 if arguments[at] in WITH_VALUE else 1
    try:
        with Path(arguments[at]).open("rb") as file:
            return file.read(TEXT_LIMIT).decode("utf-8", "replace")
    except (OSError, IndexError):
        return ""


def _has_perfield(interpreter: str) -> bool:
    """Whether that Python finds perfield; True if it cannot be asked."""
    look = "import importlib.util, sys; sys.exit(3 if importlib.util.find_spec('perfield') is None else 0)"
    try:
        answer = subprocess.run(run_code(interpreter, look), capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return True
    return answer.returncode != 3
