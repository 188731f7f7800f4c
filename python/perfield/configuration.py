# SPDX-License-Identifier: BSD-3-Clause
"""Settings by their key. Their defaults stand in one table, which the measured program reads, too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from perfield import _bridge


class _WithInfo(Protocol):
    @property
    def info(self) -> Mapping[str, Any]: ...


def in_force(key: str) -> Any:
    """The value of a key in this directory and environment: a bool, number, text or list of texts.

    Raises KeyError if the configuration has no such key.
    """
    return _value(key, "value")


def setting(run: _WithInfo, key: str) -> Any:
    """The value of a key when this run was measured, or the default if run.json lacks the key.

    Raises KeyError if the configuration has no such key.
    """
    configured = run.info.get("configuration", {})
    return configured[key] if key in configured else _value(key, "default")


def _value(key: str, column: str) -> Any:
    return json.loads({row["key"]: row[column] for row in _bridge.load_config()[0]}[key])
