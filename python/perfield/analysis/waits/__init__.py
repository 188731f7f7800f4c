# SPDX-License-Identifier: BSD-3-Clause
"""Why ranks wait: wait states in Scalasca's terms, what they cost, and the critical path."""

from perfield.analysis.waits.costs import (
    COST,
    IN_MPI,
    NO_REGION,
    OTHER_REASONS,
    DelayCosts,
    bound_costs,
    by_function,
    by_region,
    delay_costs,
)
from perfield.analysis.waits.coverage import GAPS, Coverage
from perfield.analysis.waits.efficiency import Efficiency, efficiency
from perfield.analysis.waits.path import (
    PATH,
    CriticalPath,
    Replayed,
    critical_path,
    gain_of_balance,
    replay,
    with_marks,
)
from perfield.analysis.waits.path_sums import PathSums, Stretch
from perfield.analysis.waits.states import (
    BOUND,
    EVENT,
    EXACT,
    KINDS,
    STATE,
    UNCERTAIN,
    UNKNOWN,
    Waits,
    find_wait_states,
)
from perfield.analysis.waits.transfers import (
    TRANSFER,
    WAYS,
    Baselines,
    TransferSums,
    find_transfers,
    slow_ns,
    ways_of,
)

__all__ = [
    "BOUND",
    "COST",
    "EVENT",
    "EXACT",
    "GAPS",
    "IN_MPI",
    "KINDS",
    "NO_REGION",
    "OTHER_REASONS",
    "PATH",
    "STATE",
    "TRANSFER",
    "UNCERTAIN",
    "UNKNOWN",
    "WAYS",
    "Baselines",
    "Coverage",
    "CriticalPath",
    "DelayCosts",
    "Efficiency",
    "PathSums",
    "Replayed",
    "Stretch",
    "TransferSums",
    "Waits",
    "bound_costs",
    "by_function",
    "by_region",
    "critical_path",
    "delay_costs",
    "efficiency",
    "find_transfers",
    "find_wait_states",
    "gain_of_balance",
    "replay",
    "slow_ns",
    "ways_of",
    "with_marks",
]
