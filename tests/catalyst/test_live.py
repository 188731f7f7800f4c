# SPDX-License-Identifier: BSD-3-Clause
"""A waiting ParaView sees the program's newest step while the program runs."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

CLIENT = """
import json, sys, time
from paraview.simple import *
from paraview import live
link = live.ConnectToCatalyst("localhost", int(sys.argv[1]))
end = time.time() + 90

def pump(seconds):
    until = time.time() + seconds
    while time.time() < until:
        live.ProcessServerNotifications()
        time.sleep(0.01)

while time.time() < end:
    pump(0.1)
    manager = link.GetInsituProxyManager()
    if manager and manager.GetNumberOfProxies("sources") >= 2:
        break
data = {name: live.ExtractCatalystData(link, name) for name in ("geometry", "topology")}
seen = set()
while time.time() < end and len(seen) < 2:
    pump(0.2)
    for source in data.values():
        source.UpdatePipeline()
    heat, steps = data["geometry"].PointData["heat"], data["topology"].CellData["step_time_s"]
    if heat is not None and steps is not None:
        seen.add(heat.GetRange(0))
print(json.dumps(sorted(seen)))
"""


def test_waiting_paraview_sees_both_channels_change(in_process, program, tmp_path):
    with socket.socket() as listening:
        listening.bind(("localhost", 0))
        port = listening.getsockname()[1]
    words = tmp_path / "client.txt"
    with words.open("w") as file:
        client = subprocess.Popen([sys.executable, "-c", CLIENT, str(port)], stdout=file, stderr=file)
    try:
        built = program("usleep(100000);", before="#include <unistd.h>")
        result = in_process(built, 60, live=f"localhost:{port}", extracts="false")
        assert result.returncode == 0, result.stderr
        assert not list((result.cwd / "perfield-run/catalyst").iterdir())
        client.wait(timeout=60)
    finally:
        client.kill()
        client.wait()
    ranges = json.loads(words.read_text().strip().splitlines()[-1])
    assert len(ranges) == 2
    for low, high in ranges:  # 100 times the step, plus the rank
        assert low % 100 == 0 and high == low + 1
