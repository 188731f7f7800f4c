# SPDX-License-Identifier: BSD-3-Clause
"""Wait states of events: who waited for whom, how long, and how surely.

The terms are those of Scalasca's pattern documentation. `bridge/waits/events.hpp` says what each column of
EVENT and STATE means.
"""

from __future__ import annotations

import numpy as np

from perfield import _bridge

EVENT: np.dtype = _bridge.WAIT_EVENT
STATE: np.dtype = _bridge.WAIT_STATE

# A stamp that is not known.
UNKNOWN = np.iinfo(np.int64).min

# Names of STATE's kinds.
KINDS = (
    "late_sender",
    "late_receiver",
    "barrier",
    "n_to_n",
    "late_broadcast",
    "early_reduce",
    "late_one_sided",
)
