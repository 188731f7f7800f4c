# SPDX-License-Identifier: BSD-3-Clause
"""Transfers of runs: as a table by way and size, as fields of frames, and of a real exchange of two ranks."""

import numpy as np
import pytest
from compiled.c_programs import mpi_program
from known_runs.simulated_waits import Network, collective, compute, recv, send, simulate, step
from known_runs.waiting_runs import MONOTONIC_NS, with_waits, write_waiting_run

import perfield
from perfield.derived import event_blocks
from perfield.fields.waits import SLOW_TRANSFER, TRANSFER

US, MS = 1_000, 1_000_000


def exchange(n_steps=30, ranks=4, slow=None, latency=2 * US):
    """Rank 0 sends 1,000 B to each other rank, which waits for it, and all meet. The messages to one rank may
    take 200 µs longer in odd steps."""

    def extra(message):
        return 200 * US if message.receiver == slow and message.number % 2 else 0

    programs = [[collective("barrier")] for _ in range(ranks)]
    for _ in range(n_steps):
        programs[0].append(compute(MS))
        for rank in range(1, ranks):
            programs[0].append(send(rank, 1000))
            programs[rank].append(recv(0))
        for program in programs:
            program += [collective("allreduce"), step()]
    return simulate(programs, Network(latency_ns=latency, ns_per_byte=0.5, extra_ns=extra))


def messages_of(table):
    return table[table["of"] == "messages"].set_index("way")


def test_table_has_a_row_for_each_way_and_size(tmp_path):
    table = perfield.open(write_waiting_run(tmp_path / "run", exchange())).transfers().compute()
    row = messages_of(table).loc["within a node"]
    assert row["size"] == "to 4 kB" and row["count"] == 90
    assert row["baseline_s"] == pytest.approx(2.6e-6, rel=0.05) and row["gb_per_s"] == pytest.approx(
        1 / 2.6, rel=0.05
    )
    operations = table[table["of"] == "allreduce"]
    assert operations["way"].tolist() == ["4 ranks"] and operations["count"].item() == 120
    assert list(table.columns[-2:]) == ["time_s", "slow_s"]


def test_rows_of_one_message_count_as_logged_ones(tmp_path):
    logged = perfield.open(write_waiting_run(tmp_path / "logged", exchange())).transfers().compute()
    rows = (
        perfield.open(write_waiting_run(tmp_path / "rows", exchange(), lambda step: False))
        .transfers()
        .compute()
    )
    assert messages_of(rows).equals(messages_of(logged))


def test_table_does_not_depend_on_blocks_and_may_be_of_some_steps(tmp_path, monkeypatch):
    run = perfield.open(write_waiting_run(tmp_path / "run", exchange()))
    whole = run.transfers().compute()
    monkeypatch.setattr(event_blocks, "EVENTS_AT_ONCE", 20)
    assert run.transfers().compute().equals(whole)
    few = run.transfers(slice(0, 4))
    assert messages_of(few)["count"].item() == 15 and messages_of(few)["baseline_s"].isna().all()
    with pytest.raises(KeyError, match="step 99"):
        run.transfers(99)


def test_frames_say_transfer_and_what_of_it_is_slow(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", exchange(slow=2)))
    frames = with_waits(run)
    for number in (3, 4):
        values = frames.frame(number).values
        slow = values[SLOW_TRANSFER]
        # Message number 1, 3, ... is slow: that of step 0, 2, ...
        assert slow[2] == pytest.approx(0 if number % 2 else 200e-6, abs=1e-6)
        assert slow[[1, 3]] == pytest.approx([0, 0], abs=1e-6)
        assert values[TRANSFER][2] == pytest.approx((2.6 + 5.1 + (0 if number % 2 else 200)) * 1e-6, rel=0.2)
    assert run.transfers().compute()["slow_s"].sum() == pytest.approx(15 * 200e-6, rel=0.05)


def test_frames_of_long_runs_take_their_baselines_from_some_steps(tmp_path, monkeypatch):
    run = perfield.open(write_waiting_run(tmp_path / "run", exchange(n_steps=60, slow=2)))
    whole = [frame.values[SLOW_TRANSFER] for frame in with_waits(run).frames()]
    monkeypatch.setattr(event_blocks, "EVENTS_AT_ONCE", 400)
    for values, frame in zip(whole, with_waits(perfield.open(run.path)).frames()):
        assert frame.values[SLOW_TRANSFER] == pytest.approx(values, abs=1e-7)


def test_waiting_and_transfer_are_all_of_the_time_in_mpi(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", exchange()))
    values = with_waits(run).frame(3).values
    waits = sum(values[name] for name in values if name.startswith("wait_") and name.endswith("_time_s"))
    assert waits + values[TRANSFER] == pytest.approx(values["waiting_time_s"], rel=1e-6)


def test_fields_are_absent_where_nothing_is_known(tmp_path):
    few = perfield.open(write_waiting_run(tmp_path / "few", exchange(n_steps=3)))
    values = with_waits(few).frame(2).values
    assert np.isnan(values[SLOW_TRANSFER]).all() and np.isfinite(values[TRANSFER]).all()
    without = perfield.open(write_waiting_run(tmp_path / "without", exchange(), without=[3]))
    values = with_waits(without).frame(3).values
    assert np.isnan([values[SLOW_TRANSFER][3], values[TRANSFER][3]]).all() and values[TRANSFER][1] > 0
    old = perfield.open(write_waiting_run(tmp_path / "old", exchange(), without=range(4)))
    assert old.transfers().compute().empty and SLOW_TRANSFER not in with_waits(old).frame(3).values


def unsure_by_5_ms(rank, values):
    values["realtime_error_ns"] = 5 * MS


def test_ways_are_those_of_the_placement_and_unsure_clocks_have_no_baseline(tmp_path):
    path = write_waiting_run(
        tmp_path / "run",
        exchange(latency=20 * US),
        hosts=("n0", "n1"),
        clocks=((2, same_clock()),),
    )
    table = messages_of(perfield.open(path).transfers().compute())
    assert set(table.index) == {"within a node", "between nodes"}
    assert table["baseline_s"].to_numpy() == pytest.approx([20.6e-6] * 2, rel=0.05)
    (path / "machine").mkdir(exist_ok=True)
    (path / "machine" / "network.txt").write_text(
        "SwitchName=top Switches=s[0-1]\nSwitchName=s0 Nodes=n0\nSwitchName=s1 Nodes=n1\n"
    )
    assert set(messages_of(perfield.open(path).transfers().compute()).index) == {
        "within a node",
        "between switches",
    }
    unsure = write_waiting_run(
        tmp_path / "unsure", exchange(), hosts=("n0", "n1"), change_rank=unsure_by_5_ms
    )
    table = messages_of(perfield.open(unsure).transfers().compute())
    assert table["baseline_s"].isna().to_dict() == {"within a node": False, "between nodes": True}


def same_clock():
    """Host n1's clock is that of n0, within 100 ns."""
    body = {"reference_rank": 0, "monotonic_ns": MONOTONIC_NS, "offset_ns": 0, "drift_ppb": 0}
    return body | {"round_trip_ns": 200, "wander_ppb": 0, "compared_ns": [MONOTONIC_NS, MONOTONIC_NS + 10**9]}


PING_PONG = mpi_program("""
  enum { SIZES = 3, MOST = 1 << 20, ROUNDS = 4 };
  const int bytes[SIZES] = {8, 3000, MOST};
  char* out = calloc(MOST, 1);
  char* in = calloc(MOST, 1);
  for (int step = 0; step < 60; step++) {
    for (int k = 0; k < SIZES * ROUNDS; k++) {
      const int n = bytes[k % SIZES];
      if (rank == 0) MPI_Send(out, n, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(in, n, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 1) MPI_Send(out, n, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    perfield_step(step, step);
  }
  free(out);
  free(in);
""")


def test_real_messages_have_a_row_for_each_size(mpi, build_c, perfield_flags, bin_dir, tmp_path):
    program = build_c(PING_PONG, *perfield_flags("--cflags"), by=mpi)
    environment = {"PERFIELD_ARRIVALS_EVERY": "1"}
    result = mpi.run(2, bin_dir / "perfield-exec", program, cwd=tmp_path, env=environment)
    assert result.returncode == 0, result.stderr
    table = messages_of(perfield.open(tmp_path / "perfield-run").transfers().compute())
    assert table["size"].tolist() == ["to 63 B", "to 4 kB", "to 2 MB"]
    assert set(table.index) == {"within a node"} and (table["count"] <= 2 * 4 * 60).all()
    known = table.dropna()
    assert len(known), table
    assert (known["baseline_s"] <= known["median_s"]).all() and (known["median_s"] <= known["p95_s"]).all()
    assert (table["slow_s"].fillna(0) <= table["time_s"]).all()
