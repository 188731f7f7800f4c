# SPDX-License-Identifier: BSD-3-Clause
"""Files of oscillator models: TOML tables, topologies as matrices, and results that can be repeated."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.catalyst_scripts.safe_open import why_unsafe
from perfield.commands import CommandError
from perfield.commands._datasets import ENDINGS

if TYPE_CHECKING:
    import xarray as xr

MATRICES = (".mtx", ".npz")


def read_tables(path: Path) -> dict[str, Any]:
    """The tables of a TOML file, or those that repeat a saved result (.nc, .zarr)."""
    if not path.exists():
        raise CommandError(
            f"{path} does not exist; `perfield lab oscillate --preset figure-5 --show-config > {path}` "
            "makes a file to begin with."
        )
    if path.suffix != ".zarr" and (words := why_unsafe(path, None)):
        raise CommandError(words)
    if path.suffix in ENDINGS:
        from perfield.studies.oscillators.model.configured import tables_of_result
        from perfield.studies.rhythm.model.errors import ModelError

        try:
            return tables_of_result(read_result(path))
        except ModelError as error:
            raise CommandError(f"{path}: {error}") from error
    tables = _loaded(path.read_text(encoding="utf-8", errors="replace"), str(path))
    named = tables.get("topology", {})
    if isinstance(named, Mapping) and isinstance(named.get("file"), str):
        tables["topology"] = {
            **{key: value for key, value in named.items() if key != "file"},
            **topology_table(path.parent / named["file"]),
        }
    return tables


def read_value(text: str) -> Any:
    """A value of TOML as the command line gives it; a bare word is a text."""
    try:
        return _loaded(f"value = {text}", text)["value"]
    except CommandError:
        return text


def topology_table(path: Path) -> dict[str, Any]:
    """The table [topology] of a matrix T on disk: row = receiver, column = sender."""
    from perfield.studies.oscillators.model.topologies import from_matrix

    if path.suffix not in MATRICES:
        raise CommandError(f"topology.file = {path} is no {' or '.join(MATRICES)} file; convert it to one.")
    if not path.exists():
        raise CommandError(f"topology.file = {path} does not exist; name a file beside the config.")
    if words := why_unsafe(path, None):
        raise CommandError(words)
    if path.suffix == ".mtx":
        read = _read_mtx
    else:
        from scipy.sparse import load_npz as read
    try:
        of = from_matrix(read(str(path)))
    except Exception as error:  # SciPy, zipfile and zlib have many for a damaged file
        raise CommandError(
            f"topology.file = {path} holds no matrix: {error!s:.300}; write it again."
        ) from error
    return {
        "kind": "edges",
        "ranks": of.n,
        "receiver": of.receiver.tolist(),
        "sender": of.sender.tolist(),
        "weight": of.weight.tolist(),
    }


def _read_mtx(path: str) -> Any:
    """The matrix of a file. SciPy reads for ever where there is no line of sizes."""
    from scipy.io import mmread

    with Path(path).open("rb") as lines:
        next(lines, b"")  # the header
        if not any(line.strip() and not line.lstrip().startswith((b"%", b"#")) for line in lines):
            raise ValueError("it has no line of sizes")
    return mmread(path)


def toml(tables: Mapping[str, Any]) -> str:
    """Tables as TOML; stages become inline tables, lists of tables [[...]]."""
    lines, later = [], []
    for name, part in tables.items():
        if isinstance(part, Mapping):
            later += ["", f"[{name}]", *(f"{key} = {_literal(value)}" for key, value in part.items())]
        elif isinstance(part, (list, tuple)) and part and isinstance(part[0], Mapping):
            for row in part:
                later += ["", f"[[{name}]]", *(f"{key} = {_literal(value)}" for key, value in row.items())]
        else:
            lines.append(f"{name} = {_literal(part)}")
    return "\n".join([*lines, *later]).strip("\n") + "\n"


def read_result(path: Path) -> xr.Dataset:
    """A saved result, loaded."""
    import xarray as xr

    try:
        if path.suffix == ".zarr":
            return xr.open_zarr(path, consolidated=False).load()
        return xr.open_dataset(path, engine="scipy").load()
    except Exception as error:  # SciPy and zarr have many for a damaged file
        raise CommandError(
            f"{path} is not a saved result: {error}. Name a file that perfield lab oscillate --output made."
        ) from error


def _loaded(text: str, source: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # int() has one, too, for a number of thousands of digits
        raise CommandError(f"{source} is not TOML: {error}.") from error


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_literal(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return repr(value)
