# SPDX-License-Identifier: BSD-3-Clause
"""A waiting ParaView sees the program's newest step while the program runs."""

from __future__ import annotations

from drivers import live_client


def test_waiting_paraview_sees_both_channels_change(in_process, program, tmp_path):
    with live_client.Client(tmp_path) as client:
        built = program("usleep(100000);", before="#include <unistd.h>")
        result = in_process(built, 60, live=client.address, extracts="false")
        assert result.returncode == 0, result.stderr
        assert not list((result.cwd / "perfield-run/catalyst").glob("[!.]*"))
        ranges = client.seen()
    assert len(ranges) >= 2
    for low, high in ranges:  # 100 times the step, plus the rank
        assert low % 100 == 0 and high == low + 1
