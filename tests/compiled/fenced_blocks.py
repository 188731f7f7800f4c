# SPDX-License-Identifier: BSD-3-Clause
"""The fenced blocks of a page of docs/, which tests compile or run."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path


def fenced_blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of each block between ``` of a page, in order; the language may be empty.

    A block may be indented, as in the item of a list; its text is not.
    """
    found = re.findall(r"^( *)```(\w*)\n(.*?)^\1```$", page.read_text(), re.M | re.S)
    return [(language, textwrap.dedent(text)) for _, language, text in found]
