# SPDX-License-Identifier: BSD-3-Clause
"""perfield setup config: prints each setting, its value, where that came from and what it means."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from perfield._bridge import load_config

HELP = "print each setting, where its value came from and what it means"
DESCRIPTION = """\
Prints the configuration that a program would get if it started here and now:
each key with its value, where the value came from, its unit and its meaning.
The output is a valid perfield.toml: `perfield setup config > perfield.toml` keeps it.
Errors go to stderr, and the exit code is then 2.

With --from it converts the input files of the original plug-in (plugin.input)
and of its adaptor:

  perfield setup config --from plugin.input adaptor.input > perfield.toml"""

MARKDOWN_HEAD = """\
# Configuration

perfield reads `perfield.toml` in the working directory, or the file that `PERFIELD_CONFIG` names. Each key is
also an environment variable: `PERFIELD_` and the key in capitals. The variable overrides the file. A list is
written there with commas: `PERFIELD_REGIONS="solve*,halo"`. The defaults below hold for everything else.
`perfield setup config` prints the values in force and where each came from.

Settings name scripts that run in your program and files that are copied into the run. So perfield ignores,
with a warning, a `perfield.toml` of the working directory that another user may have written: the file and
its directory must belong to you or root, and nobody else may write them. A file that you name is always
read.

An unknown key, a wrong type or a value out of range is an error. perfield reports all errors at once, and the
program runs unmeasured. The file may use this part of TOML: comments, texts in one line, integers, numbers,
booleans, lists and tables. A table's name and `_` precede its keys: `every` in `[catalyst]` is
`catalyst_every`.

```toml
# measure one step in ten, two regions, into a directory of its own
measure_every = 10
regions = ["solve*", "halo exchange"]
run_directory = "runs/first"
```

| key | type | default | unit | meaning |
| --- | --- | --- | --- | --- |
"""

MARKDOWN_TAIL = """
Types: `boolean` is true or false; `integer` and `real` are numbers; `text` is in quotes; `texts` is a
list of them in brackets.

perfield uses five more variables:
- `PERFIELD_CONFIG` names the file.
- `PERFIELD_RUN_ID` is the same in all ranks of a run. It lets ranks agree on one run directory where the
  launcher does not identify the job. `perfield run` sets it.
- `PERFIELD_RUN` is the run directory that `perfield-exec` has claimed.
- `PERFIELD_ALL_RANKS` vouches that every rank of a launch runs under `perfield-exec`, so that nodes may
  compare their clocks. It holds the run id, or the run id, a colon and the number of ranks. `perfield run`
  sets it.
- `PERFIELD_PRELOADED` is what `perfield-exec` put into LD_PRELOAD.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the forms of the output."""
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--markdown", action="store_true", help="print docs/configuration.md")
    forms.add_argument(
        "--from",
        dest="original",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="convert input files of the original plug-in into a perfield.toml",
    )


def markdown(keys: list[dict[str, str]]) -> str:
    """The page docs/configuration.md. keys : as `perfield._bridge.load_config` returns them."""
    rows = []
    for key in keys:
        cells = [f"`{key['key']}`", key["type"], f"`{key['default']}`", key["unit"], key["help"]]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return MARKDOWN_HEAD + "\n".join(rows) + "\n" + MARKDOWN_TAIL


def listing(keys: list[dict[str, str]]) -> str:
    """All keys as a perfield.toml: each with its meaning and unit above and its origin behind."""
    width = max(len(f"{key['key']} = {key['value']}") for key in keys if len(key["value"]) < 30)
    lines = []
    for key in keys:
        unit = f" [{key['unit']}]" if key["unit"] else ""
        setting = f"{key['key']} = {key['value']}"
        lines += [f"# {key['help']}{unit}", f"{setting:{width}}  # {key['origin']}", ""]
    return "\n".join(lines)


def execute(arguments: argparse.Namespace) -> int:
    """Prints the keys on stdout, and errors and what is ignored on stderr; returns 2 if there are errors."""
    if arguments.original:
        from perfield.original_input import converted

        text, errors = converted(arguments.original)
        notices: list[str] = []
    else:
        keys, errors, notices = load_config()
        text = markdown(keys) if arguments.markdown else listing(keys)
    print(text, end="")
    for sentence in [*notices, *errors]:
        print(f"perfield setup config: {sentence}", file=sys.stderr)
    return 2 if errors else 0
