# SPDX-License-Identifier: BSD-3-Clause
"""Names of arrays in titles and legends."""

from __future__ import annotations

import pytest
from known_runs import fake_run

from perfield.output.titles import region_titles, title

REGIONS = region_titles(
    [fake_run.FakeRegion("flux (x-dir)", "flux__x_dir_"), fake_run.FakeRegion("a_b", "a_b")]
)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        ("flux__x_dir__time_s", ("flux (x-dir) time", "s")),
        ("a_b_compute_time_per_cell_s", ("a_b compute time per cell", "s")),
        ("compute_time_per_cell_s", ("compute time per cell", "s")),
        ("waiting_time_s", ("waiting time", "s")),
        ("cells", ("cells", "1")),
        ("ghost_cells", ("ghost cells", "1")),
        ("flux__x_dir__time_per_call_s", ("flux (x-dir) time per call", "s")),
        ("flux__x_dir__self_time_s", ("flux (x-dir) self time", "s")),
        ("a_b_caused_wait_time_s", ("a_b caused waiting of others", "s")),
        ("slow_transfer_time_s", ("time of transfer beyond its baseline", "s")),
        ("a_b_count", ("a_b entries", "1")),
        ("mpi_wait_time_s", ("MPI wait time", "s")),
        ("mpi_call_count", ("calls of MPI", "1")),
        ("resident_peak_bytes", ("peak of resident memory", "B")),
        ("compute_time_s", ("compute time", "s")),
        ("sent_bytes", ("bytes sent", "B")),
        ("compute_time_s_rank_max", ("compute time, largest rank", "s")),
        ("compute_time_s_rank_std", ("compute time, standard deviation over ranks", "s")),
        ("compute_time_s_rank_imbalance", ("compute time, largest rank over mean", "1")),
        ("a_b_count_rank_max", ("a_b entries, largest rank", "1")),
        ("isend_bytes", ("isend bytes", "B")),
        ("put_count_to_3", ("put messages to rank 3", "1")),
        ("sent_bytes_from_12", ("bytes sent from rank 12", "B")),
        ("flux__x_dir__mpi_wait_time_s", ("flux (x-dir) wait time in MPI", "s")),
        ("flux__x_dir__instructions_per_cycle", ("flux (x-dir) instructions per cycle", "1")),
        ("a_b_task_clock_time_s", ("a_b task clock time", "s")),
        ("a_b_page_faults", ("a_b page faults", "1")),
        ("device_kernel_count", ("kernels on devices", "1")),
        ("device_copy_to_bytes", ("bytes copied to devices", "B")),
        ("source", ("messages by sending rank", "")),
        ("target", ("messages by receiving rank", "")),
        ("alpha_water", ("alpha.water", "")),
    ],
)
def test_titles_use_the_programs_names(array, expected):
    assert title(array, REGIONS, {"alpha_water": "alpha.water"}) == expected


def test_regions_with_equal_names_get_different_titles():
    regions = [fake_run.FakeRegion("solve", "solve"), fake_run.FakeRegion("solve", "solve_2")]
    assert region_titles(regions) == {"solve": "solve (solve)", "solve_2": "solve (solve_2)"}


def test_titles_are_one_line():
    assert region_titles([fake_run.FakeRegion("two\nlines", "two_lines")]) == {"two_lines": "two lines"}
