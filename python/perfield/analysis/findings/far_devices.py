# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that use a GPU or network card that is nearer to other PUs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.placed import hosts_of, rank_ranges
from perfield.analysis.findings.sight import Sight, of_places
from perfield.analysis.observed import Observed
from perfield.text import start

QUESTION = "Do ranks use devices that are far from them?"
KINDS = ("far device",)
NEEDS = ()


def find(observed: Observed, worth: float = WORTH_REPORTING) -> Iterator[Finding]:
    """Yields a finding about ranks whose PUs have nothing in common with those near a device that they use.

    worth : has no part in it, since one run does not show the cost.
    """
    placement, used = observed.placement, observed.devices
    if placement is None or used is None:
        return
    near = np.array([(device.first, device.last) for device in used.device], np.int64).reshape(-1, 2)[
        used.user
    ]
    far = (placement.last[used.rank] <= near[:, 0]) | (near[:, 1] <= placement.first[used.rank])
    if not far.any():
        return
    ranks = np.unique(used.rank[far])
    first = int(np.flatnonzero(far)[0])
    device, rank = int(used.user[first]), int(used.rank[first])
    host = placement.nodes[used.node[device]].label
    yield Finding(
        kind="far device",
        words=f"{start(rank_ranges(ranks))} used a device that is nearer to other PUs: rank {rank} used "
        f"{used.name[device]} of {host}. This run does not show its cost.",
        saved_s=None,
        remedy="Bind each rank near its device: `srun --gpu-bind=closest`, or choose the near one by "
        "CUDA_VISIBLE_DEVICES (UCX_NET_DEVICES for network cards) for each rank.",
        picture=Picture("machine", "compute_time_s"),
        ranks=ranks,
        hosts=hosts_of(placement, ranks),
    )


def sees(observed: Observed) -> Sight:
    """Places are known exactly, where they and the devices in use are known."""
    if observed.devices is None:
        return Sight("The run does not say which devices its ranks used.", False)
    return of_places(observed)
