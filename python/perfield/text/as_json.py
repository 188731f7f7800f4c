# SPDX-License-Identifier: BSD-3-Clause
"""Results as JSON has them."""

from __future__ import annotations

import dataclasses
import math
from datetime import datetime
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A value of dataclasses, arrays, numbers and times as JSON has them; NaN and infinity become None."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
