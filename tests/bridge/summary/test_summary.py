# SPDX-License-Identifier: BSD-3-Clause
"""The summary: its numbers on runs in closed form, and its words on damaged or empty runs."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest
from compiled.call_numbers import CALL, call_row
from drivers.limits import in_little_memory
from known_runs import mixed_spans

from perfield import _bridge
from twins import twin
from twins.events_twin import pack_events


def lines_of(path, **options) -> dict[str, str]:
    """Lines of the summary by their label."""
    lines = _bridge.summary_lines(str(path), **options)
    assert len(lines) <= 15
    without_path = [line for line in lines if "perfield report" not in line]
    assert all(len(line) <= 150 and "\n" not in line for line in without_path), lines
    return {line[:11].strip(): line[11:] for line in lines}


@pytest.fixture
def run(tmp_path):
    """Four ranks on two hosts, five steps."""
    return twin.write_run(tmp_path / "run", ranks=4, steps=5, hosts=("a", "b"))


def test_lines_match_the_run(run):
    lines = lines_of(run)
    assert list(lines) == [
        "imbalance",
        "why",
        "where",
        "steps",
        "run",
        "efficiency",
        "waiting",
        "region",
        "messages",
        "written",
        "perfield",
        "next",
    ]
    assert lines["steps"] == "5 on 4 ranks and 2 nodes, median 4.20 ms"
    # compute = solve + 0.1 ms: 4.102 / mean(1.102, 2.102, 3.102, 4.102) in the middle step
    # saved: five steps of 4.102 - 2.602 ms, of 4.202 ms each
    assert lines["imbalance"] == "1.58, costs 7.50 ms (36 %): rank 3 is slowest, on host b"
    assert lines["why"] == "bytes sent explain a factor of 1.58"
    # useful: without all MPI; 2.602 and 4.102 of 4.202 ms
    assert lines["efficiency"] == (
        "parallel 62 % = load balance 63 % x communication 98 % (POP, of sums over the steps; the imbalance "
        "is step by step)"
    )
    assert lines["where"] == "ranks differ most in solve (balancing it would save 7.50 ms)"
    # wait = step - solve - 0.15 ms: mean 1.55 of 4.202 ms; with isend 0.05 ms more
    assert lines["waiting"] == "38 % of the time; most on rank 0 (74 % of its time)"
    assert lines["region"] == "exchange: 45 % of it is waiting, 1.80 ms of 4.00 ms over all ranks"
    assert lines["messages"].startswith("60 with 100 kB; most bytes from rank 3 to 0: 40.0 kB in 15 messages")
    assert "most empty ones from rank 0 to 1: 5 of 15" in lines["messages"]
    assert "20.5 kB by the program, most by rank 0 (100 %)" in lines["written"]
    # 5 us to close a step, and 240 ns for 4 calls of MPI and 2 regions
    assert lines["perfield"].startswith("about 0.09 % of the time; memory 1.50 MB per rank")


def test_own_time_includes_what_calls_cost(tmp_path):
    def call_often(rank, step, values):
        values["measured_ns"] = 9_995_000
        values["calls"] = [call_row("test", count=40_000, ns=1_000_000)]  # 50 ns each

    path = twin.write_run(tmp_path / "run", change_step=call_often)
    # 20 % of the steps; setup and teardown, a fifth of the time, make no calls
    assert lines_of(path)["perfield"].startswith("about 16 % of the time; ")


def test_file_time_has_a_line_and_is_no_computing(tmp_path):
    def read_and_write(rank, step, values):
        values["measured_ns"] = 10_000_000
        values["quantities"] = [
            {"region": twin.OF_RANK, "quantity": 2, "value": 1000 * rank},
            {"region": twin.OF_RANK, "quantity": 3, "value": 1_000_000 * rank},
        ]
        values["calls"] = [{"call": 94, "time_class": 4, "count": 1, "ns": 500_000, "bytes_in": 2000}]

    def write_little(rank, step, values):
        values["quantities"].append({"region": twin.OF_RANK, "quantity": 3, "value": 20_000})

    files = (*twin.QUANTITIES, ("file_time", "ns", "rank"))
    path = twin.write_run(tmp_path / "run", ranks=4, steps=5, change_step=read_and_write, quantities=files)
    lines = lines_of(path)
    assert lines["files"] == (
        "20 % of the time; most on rank 3 (35 % of its time); 40.0 kB read, 30.0 kB written"
    )
    assert lines["imbalance"].startswith("1.19, costs ")  # 9.5 / mean(9.5, 8.5, 7.5, 6.5)
    assert "files" not in lines_of(
        twin.write_run(tmp_path / "other", change_step=write_little, quantities=files)
    )


def writes_in(steps: set[int], longer_ms: int = 0):
    """Changes a step so that rank 0 writes 1 MB in these steps, which take longer."""

    def change(rank, step, values):
        values["calls"] = []
        values["measured_ns"] = 10_000_000
        if step in steps:
            values["measured_ns"] += 1_000_000 * longer_ms
            values["calls"] = [call_row("file_write", count=1, ns=1000, bytes_out=1_000_000)]

    return change


@pytest.mark.parametrize(
    ("steps", "longer_ms", "reported"),
    [
        (
            {3, 7, 11},
            30,
            "every 4 steps (3 of 12); these take 4.0 times as long as the others and cost",
        ),
        ({3, 8, 11}, 30, "in 3 of 12 steps; these take 4.0 times as long as the others and cost"),
    ],
)
def test_output_that_costs_much_is_reported_first(tmp_path, steps, longer_ms, reported):
    path = twin.write_run(tmp_path / "run", steps=12, change_step=writes_in(steps, longer_ms))
    lines = lines_of(path)
    assert next(iter(lines)) == "output"
    assert lines["output"] == reported + " 43 % of the time"  # 90 of 210 ms


def test_output_that_costs_little_comes_after_the_steps(tmp_path):
    lines = list(lines_of(twin.write_run(tmp_path / "run", steps=12, change_step=writes_in({3, 7}, 3))))
    assert lines[0] == "imbalance"
    assert lines.index("output") == lines.index("run") + 1 == lines.index("steps") + 2


@pytest.mark.parametrize(
    ("steps", "longer_ms"),
    [(set(), 0), ({3, 7}, 0), ({5}, 90), (set(range(12)), 0)],
    ids=["none", "no longer", "one may be chance", "all"],
)
def test_output_that_costs_nothing_beyond_chance_has_no_line(tmp_path, steps, longer_ms):
    path = twin.write_run(tmp_path / "run", steps=12, change_step=writes_in(steps, longer_ms))
    assert "output" not in lines_of(path)


def test_written_bytes_equal_the_file_sizes(run):
    stream = sum(file.stat().st_size for file in (run / "stream").iterdir())
    mesh = sum(file.stat().st_size for file in (run / "mesh").iterdir())
    all_kb, stream_kb, mesh_kb = (f"{size / 1000:.1f} kB" for size in (stream + mesh, stream, mesh))
    expected = f"{all_kb} by perfield (stream {stream_kb}, mesh {mesh_kb})"
    assert lines_of(run)["written"].startswith(expected)


def test_one_rank_has_no_imbalance(tmp_path):
    lines = lines_of(twin.write_run(tmp_path / "run", ranks=1, steps=3))
    assert "imbalance" not in lines
    assert lines["steps"].startswith("3 on 1 rank, median")
    assert lines["messages"].startswith("9 with 6.00 kB; most bytes from rank 0 to 0")


def test_waiting_names_its_classes(tmp_path):
    def shares(rank, step, values):
        values["measured_ns"] = 1000
        times = {"send": 100, "allreduce": 200, "put": 300, "file_read": 50, "other": 25}
        values["calls"] = [call_row(name, ns=ns) for name, ns in times.items()]  # file and other: no waiting

    text = lines_of(twin.write_run(tmp_path / "run", ranks=1, steps=2, change_step=shares))["waiting"]
    assert text == "60 % of the time (point-to-point 10 %, collective 20 %, one-sided 30 %); all MPI 68 %"


def all_wait_for(peer, ns):
    def change(rank, step, values):
        values["waits"] = [{"peer": peer, "count": 1, "ns": ns}] if rank != peer else []

    return change


def test_rank_that_others_wait_for_is_named(tmp_path):
    """Five steps, three ranks that wait 0.5 ms in each; of 32 ms in MPI calls that may wait."""
    path = twin.write_run(tmp_path / "run", ranks=4, steps=5, change_step=all_wait_for(2, 500_000))
    assert lines_of(path)["waits"] == (
        "3 ranks wait 7.50 ms in all for rank 2: 23 % of all waiting, 100 % of the waiting that names a rank"
    )


@pytest.mark.parametrize("peer, ns", [(2, 20_000), (-3, 900_000)])
def test_short_waits_and_unknown_peers_have_no_line(tmp_path, peer, ns):
    path = twin.write_run(tmp_path / "run", ranks=4, steps=5, change_step=all_wait_for(peer, ns))
    assert "waits" not in lines_of(path)


def test_named_waits_that_are_little_of_all_waiting_accuse_nobody(tmp_path):
    """Rank 0 receives late: rank 1 sends for 4.2 ms, and is then waited for, too, but only for 0.4 ms."""

    def late_receiver(rank, step, values):
        values["measured_ns"] = 6_000_000
        values["waits"] = [{"peer": 1, "count": 1, "ns": 400_000}] if rank == 0 else []
        kinds = {0: ("recv", 400_000), 1: ("send", 4_200_000)}
        values["calls"] = [call_row(kinds[rank][0], ns=kinds[rank][1])]

    lines = lines_of(twin.write_run(tmp_path / "run", ranks=2, steps=12, change_step=late_receiver))
    assert "38 % of the time" in lines["waiting"] and "waits" not in lines


def test_rank_that_waits_for_itself_is_not_accused(tmp_path):
    def alone(rank, step, values):
        values["waits"] = [{"peer": 1, "count": 1, "ns": 900_000}] if rank == 1 else []

    path = twin.write_run(tmp_path / "run", ranks=2, steps=12, change_step=alone)
    assert "waits" not in lines_of(path)


def test_one_waiting_rank_is_in_the_singular(tmp_path):
    def one(rank, step, values):
        values["waits"] = [{"peer": 0, "count": 1, "ns": 1_000_000}] if rank == 1 else []

    text = lines_of(twin.write_run(tmp_path / "run", ranks=2, steps=2, change_step=one))["waits"]
    assert text.startswith("1 rank waits 2.00 ms for rank 0: 83 % of all waiting, 100 %")


def test_rank_that_passes_waiting_on_is_not_named(tmp_path):
    def chain(passes_on):
        def change(rank, index, values):
            waits = [{"peer": 1, "count": 1, "ns": 900_000}] if rank > 1 else []
            if rank == 1 and passes_on:
                waits = [{"peer": 0, "count": 1, "ns": 900_000}]
            values["waits"] = waits

        return lines_of(twin.write_run(tmp_path / f"run-{passes_on}", ranks=4, steps=12, change_step=change))

    assert "for rank 1" in chain(False)["waits"]
    assert "waits" not in chain(True)


def test_waits_in_a_ring_name_nobody(run):
    assert "waits" not in lines_of(run)


def test_innermost_region_is_named_as_waiting(tmp_path):
    """Region 1 is around region 2, and the waiting is in both."""

    def nested(rank, step, values):
        values["regions"] = [twin.region_row(1, 4_000_000), twin.region_row(2, 1_000_000)]
        values["quantities"] = [
            {"region": 1, "quantity": twin.WAIT, "value": 820_000},
            {"region": 2, "quantity": twin.WAIT, "value": 800_000},
        ]

    path = twin.write_run(tmp_path / "run", ranks=1, steps=2, regions=("all", "flux"), change_step=nested)
    assert lines_of(path)["region"] == "flux: 80 % of it is waiting, 1.60 ms of 2.00 ms"


@pytest.mark.parametrize("in_flux_ns, reported", [(2_000_000, "flux: 80 %"), (1_000_000, "step: 75 %")])
def test_region_of_the_whole_step_is_named_only_without_a_part(tmp_path, in_flux_ns, reported):
    """Region 1 is the step, with 3 ms of waiting, and region 2 a part of it."""

    def nested(rank, step, values):
        values["measured_ns"] = 4_000_000
        values["regions"] = [twin.region_row(1, 4_000_000), twin.region_row(2, 2_500_000)]
        values["quantities"] = [
            {"region": 1, "quantity": twin.WAIT, "value": 3_000_000},
            {"region": 2, "quantity": twin.WAIT, "value": in_flux_ns},
        ]

    path = twin.write_run(tmp_path / "run", ranks=1, steps=2, regions=("step", "flux"), change_step=nested)
    assert lines_of(path)["region"].startswith(reported)


def test_regions_that_hardly_wait_have_no_line(tmp_path):
    def little(rank, step, values):
        values["quantities"] = [{"region": 2, "quantity": twin.WAIT, "value": 1_000}]

    assert "region" not in lines_of(twin.write_run(tmp_path / "run", ranks=2, change_step=little))


def test_waiting_and_imbalance_are_unknown_without_mpi(tmp_path):
    path = twin.write_run(
        tmp_path / "run", ranks=3, change_rank=twin.without_mpi, change_step=twin.without_calls
    )
    lines = lines_of(path)
    assert "imbalance" not in lines and "messages" not in lines and "notice" not in lines
    assert lines["waiting"] == (
        "not known: MPI was not seen; start the program with perfield-exec, and let it call MPI_Init"
    )


def test_single_rank_needs_no_mpi(tmp_path):
    path = twin.write_run(
        tmp_path / "run", ranks=1, change_rank=twin.without_mpi, change_step=twin.without_calls
    )
    assert "waiting" not in lines_of(path)


def test_imbalance_omits_ranks_without_mpi(tmp_path):
    def last(rank, values):
        if rank == 3:
            twin.without_mpi(rank, values)

    def silent(rank, step, values):
        if rank == 3:
            twin.without_calls(rank, step, values)

    lines = lines_of(twin.write_run(tmp_path / "run", ranks=4, change_rank=last, change_step=silent))
    assert lines["imbalance"].startswith(
        "1.48 among ranks 0-2 "
    )  # of the other three: 3.102 / mean(1.102, 2.102, 3.102)
    assert "rank 2 is slowest" in lines["imbalance"]
    assert lines["notice"] == "1 rank whose MPI was not seen"


def test_zero_messages_have_no_line(tmp_path):
    def silent(rank, step, values):
        values["messages"] = []

    assert "messages" not in lines_of(twin.write_run(tmp_path / "run", change_step=silent))


def test_heaviest_pair_is_named(tmp_path):
    def full(rank, step, values):
        for row in values["messages"]:
            row["empty"] = 0

    text = lines_of(twin.write_run(tmp_path / "run", ranks=3, steps=1, change_step=full))["messages"]
    assert text == "9 with 12.0 kB; most bytes from rank 2 to 0: 6.00 kB in 3 messages"


def test_equal_pairs_are_not_named(tmp_path):
    def alike(rank, step, values):
        values["messages"] = [{"peer": 1 - rank, "call": twin.ISEND, "count": 2, "bytes": 64}]

    text = lines_of(twin.write_run(tmp_path / "run", ranks=2, steps=3, change_step=alike))["messages"]
    assert text == "12 with 384 bytes; each of 2 pairs: 192 bytes in 6 messages"


def test_get_messages_flow_from_the_target(tmp_path):
    def fetch(rank, step, values):
        values["messages"] = [{"peer": 1, "call": CALL["get"], "count": 2, "bytes": 10}] if rank == 0 else []

    assert (
        "most bytes from rank 1 to 0: 10 bytes in 2 messages"
        in lines_of(twin.write_run(tmp_path / "run", ranks=2, steps=1, change_step=fetch))["messages"]
    )


def test_run_without_steps_sums_up_the_whole_run(tmp_path):
    lines = lines_of(twin.write_run(tmp_path / "run", ranks=2, steps=0))
    assert lines["steps"] == "none closed on 2 ranks; the lines below are of the whole run"
    assert lines["next"].startswith("perfield report ")


def test_ranks_that_never_checked_in_are_counted(tmp_path):
    def larger_world(rank, values):
        values["size"] = 6

    lines = lines_of(twin.write_run(tmp_path / "run", ranks=4, change_rank=larger_world))
    assert lines["steps"].startswith("5 on 4 of 6 ranks")


def test_long_run_reads_only_its_newest_steps(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=300)
    text = lines_of(path, max_bytes=40_000)["steps"]
    assert text.startswith("the last ") and " on 2 ranks (in the newest " in text
    assert 20 < int(text.split()[2]) < 60


def test_entries_that_were_written_twice_count_once(run):
    once = lines_of(run)
    for path in (run / "stream").glob("*.pf"):
        first, *entries = path.read_bytes().split(twin.MARKER)
        batch = len(entries) // 2
        repeated = entries[: batch + 8] + entries[batch:]
        path.write_bytes(first + b"".join(twin.MARKER + entry for entry in repeated))
    twice = lines_of(run)
    assert twice.pop("written") and once.pop("written")
    assert twice == once


def test_damage_and_faults_share_one_line(tmp_path):
    def faulty(rank, step, values):
        values["faults"], values["overflowed"] = int(rank == 0), 3

    path = twin.write_run(tmp_path / "run", ranks=2, steps=2, change_step=faulty)
    stream = next((path / "stream").iterdir())
    data = stream.read_bytes()
    entry = next(e for e in twin.decode(data)[0] if e["type"] == "region")
    stream.write_bytes(data[: entry["offset"] + 20] + b"!" + data[entry["offset"] + 21 :])
    assert lines_of(path)["notice"] == (
        "1 damaged place in the streams, 2 events that could not be right, 12 events beyond full tables"
    )


def test_flipped_byte_still_gives_lines(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=1, mesh=False)
    stream = next((path / "stream").iterdir())
    data = stream.read_bytes()
    for at in range(len(data)):
        stream.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        assert "next" in lines_of(path), f"byte {at}"


def test_empty_run_is_one_sentence(tmp_path):
    (tmp_path / "none/stream").mkdir(parents=True)
    assert _bridge.summary_lines(str(tmp_path / "none")) == [
        f"nothing was recorded in {tmp_path / 'none'}: no rank has written a stream"
    ]


def test_run_that_is_gone_or_unreadable_is_not_said_to_be_empty(tmp_path):
    [line] = _bridge.summary_lines(str(tmp_path / "gone"))
    assert line.startswith(f"the run directory {tmp_path / 'gone'} is not there: it was deleted")
    (tmp_path / "run").mkdir()
    (tmp_path / "run/stream").touch()
    [line] = _bridge.summary_lines(str(tmp_path / "run"))
    assert line.startswith(f"the run directory {tmp_path / 'run'} cannot be read here (Not a directory)")


@pytest.mark.parametrize("name", ["run.json", "stream/x.pf"])
def test_pipe_in_a_run_does_not_stop_the_lines(tmp_path, name):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=1)
    (path / name).unlink(missing_ok=True)
    os.mkfifo(path / name)
    code = f"from perfield import _bridge; print(_bridge.summary_lines({str(path)!r}))"
    words = [sys.executable, "-c", code]
    result = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert name == "run.json" or "steps      1 on 1 rank" in result.stdout


def test_streams_that_cannot_be_opened_are_not_said_to_be_empty(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=1)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + 1, before[1]))  # enough to list them
    try:
        [line] = _bridge.summary_lines(str(path))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert line.startswith(f"the streams of {path} cannot be read here (Too many open files)")


def test_last_line_works_in_a_shell(tmp_path):
    path = twin.write_run(tmp_path / "my run's", ranks=1, steps=1)
    assert f"perfield report '{tmp_path}/my run'\\''s'" in lines_of(path)["next"]


def test_sums_of_several_steps_count_as_steps(tmp_path):
    text = lines_of(twin.write_run(tmp_path / "run", ranks=2, steps=3, sum_every=4))["steps"]
    assert text == "12 on 2 ranks, median 550 µs"  # (2 ms + 1 us + 0.2 ms) / 4 in the middle entry


def test_ranks_of_the_world_that_left_nothing_come_first(tmp_path):
    def of_a_larger_world(rank, values):
        values["size"] = 8

    path = twin.write_run(tmp_path / "run", ranks=2, steps=5, change_rank=of_a_larger_world)
    lines = lines_of(path)
    assert next(iter(lines)) == "missing"
    assert lines["missing"] == (
        "ranks 2-7 of 8 wrote nothing here: not started by perfield-exec, or in another run "
        "(docs/clusters.md: PERFIELD_RUN_ID)"
    )
    assert lines["steps"].startswith("5 on 2 of 8 ranks")


def test_ranks_of_different_spans_are_compared_over_the_same_steps(tmp_path):
    spans = {0: [1] * 32, 1: [2] * 16, 2: [4] * 8, 3: [1, 1, 2, 4] * 4}
    mixed = lines_of(mixed_spans.write(tmp_path / "a" / "run", spans, change=twin.one_hot_rank(1)))
    alike = lines_of(
        mixed_spans.write(
            tmp_path / "b" / "run", {rank: [4] * 8 for rank in spans}, change=twin.one_hot_rank(1)
        )
    )
    assert "rank 1" in mixed["imbalance"]
    for lines in (mixed, alike):
        for name in ("written", "next"):  # say the size and the path
            del lines[name]
    assert mixed == alike


@pytest.mark.parametrize("type", ["step", "events"])
def test_rank_beyond_the_world_takes_no_memory_and_changes_nothing(run, type):
    expected = lines_of(run)
    writer = twin.Writer(next((run / "stream").iterdir()), 2**31 - 1)
    event = {
        "kind": 0,
        "call": twin.ISEND,
        "peer": 1,
        "begun": 10**7,
        "wait_begin": 10**7,
        "wait_end": 2 * 10**7,
    }
    body = twin.step_body(**twin.step_values(0, 4, 3)) if type == "step" else pack_events([event])
    for index in (1, 3):
        writer.add(type, body, index=index)
    lines = in_little_memory(lines_of, run)
    assert lines.pop("written") != expected.pop("written")  # the file has grown
    assert lines == expected


def test_world_that_few_ranks_state_is_not_believed(tmp_path):
    def state(rank, values):
        values["size"] = 1 << 24

    run = twin.write_run(tmp_path / "run", ranks=4, steps=3, change_rank=state)
    lines = in_little_memory(lines_of, run)
    assert lines["steps"].startswith("3 on 4 ranks")
    assert "missing" not in lines
    assert lines["world"] == (
        "4 of 4 ranks state a world of up to 16,777,216 ranks, expected at most 262,144, so only ranks with "
        "entries count"
    )


def test_one_rank_that_states_too_large_a_world_is_named_beside_the_others(tmp_path):
    def state(rank, values):
        values["size"] = 1 << 31 if rank == 2 else 4

    lines = lines_of(twin.write_run(tmp_path / "run", ranks=4, steps=3, change_rank=state))
    assert lines["world"].startswith("1 of 4 ranks states a world of up to 2,147,483,648 ranks, expected")
    assert lines["world"].endswith("so the size that others state counts") and "missing" not in lines


def test_ranks_that_meet_in_no_step_take_no_room_for_each_step(tmp_path):
    n = 20_000
    run = twin.write_run(tmp_path / "run", ranks=1, steps=0, mesh=False)
    stream = next((run / "stream").iterdir())
    values, calls = twin.json_body({"size": n, "sources": ["pmpi"]}), twin.step_body(measured_ns=9, end_ns=9)
    with stream.open("ab") as file:
        for rank in range(n):
            file.write(twin.entry("rank", values, rank=rank, sequence=4))
            file.write(twin.entry("step", calls, rank=rank, sequence=5, index=rank))
    assert in_little_memory(lines_of, run)["steps"]
