# SPDX-License-Identifier: BSD-3-Clause
"""Command lines that start another Python, to which files in the current directory are no modules.

`python -m` and `python -c` import from the current directory first, so a `json.py` there would run in place
of Python's own. Option -P prevents that, but only since Python 3.11; -I would hide PYTHONPATH, too.
"""

from __future__ import annotations

WITHOUT_CURRENT = "import sys; sys.path[:] = [folder for folder in sys.path if folder]\n"


def run_code(python: str, code: str, *arguments: str) -> list[str]:
    """The words that run `code` in a Python. arguments : its sys.argv[1:]."""
    return [python, "-c", WITHOUT_CURRENT + code, *arguments]


def run_module(python: str, module: str, *arguments: str) -> list[str]:
    """The words that run a module or package as `python -m` does. arguments : its sys.argv[1:]."""
    code = f"import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    return run_code(python, code, *arguments)
