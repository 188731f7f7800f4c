# SPDX-License-Identifier: BSD-3-Clause
"""A waiting ParaView sees the program's newest step while the program runs."""

from __future__ import annotations

from drivers import live_client

BEFORE = """
#include <unistd.h>
static int n_seen(const char* path) {
  char line[999];
  int n = 0;
  FILE* words = fopen(path, "r");
  while (fgets(line, sizeof line, words)) n += strstr(line, "heat") != NULL;
  fclose(words);
  return n;
}
"""
UNTIL_SEEN_TWICE = """
    usleep(100000);
    int over = n_seen(argv[2]) >= 2;
    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (over) break;
"""


def test_waiting_paraview_sees_both_channels_change(in_process, program, tmp_path):
    with live_client.Client(tmp_path) as client:
        built = program(UNTIL_SEEN_TWICE, before=BEFORE)
        result = in_process(built, 600, client.words, live=client.address, extracts="false")
        assert result.returncode == 0, result.stderr
        assert not list((result.cwd / "perfield-run/catalyst").glob("[!.]*"))
        ranges = client.seen()
    assert len(ranges) >= 2
    for low, high in ranges:  # 100 times the step, plus the rank
        assert low % 100 == 0 and high == low + 1
