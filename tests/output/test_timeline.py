# SPDX-License-Identifier: BSD-3-Clause
"""`perfield export --to perfetto`, read back with the schema that Perfetto's developers publish."""

from __future__ import annotations

import resource
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import perfield
from perfield import commands
from perfield.output.timeline import write_timeline
from twins import twin

schema = pytest.importorskip(
    "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="perfetto is not installed"
)


@dataclass
class Slice:
    """A slice of a track, in ns of the trace."""

    category: str
    name: str
    begin: int
    end: int = -1


@dataclass
class Track:
    """A track with all that it holds; `parent` is None for a process."""

    descriptor: object
    parent: Track | None = None
    slices: list[Slice] = field(default_factory=list)
    values: list[tuple[int, float]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.descriptor.name or self.descriptor.process.process_name


class Timeline:
    """A trace file as Perfetto's importer reads it: names are interned, slices nest by begin and end."""

    def __init__(self, path: Path):
        trace = schema.Trace.FromString(path.read_bytes())
        trace.DiscardUnknownFields()
        assert trace.ByteSize() == path.stat().st_size > 0, "the schema does not know some field"
        self.tracks: dict[int, Track] = {}
        names, categories, open_slices = {}, {}, {}
        cleared = schema.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        needs = schema.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        assert [p.sequence_flags for p in trace.packet] == [cleared] + [needs] * (len(trace.packet) - 1)
        for packet in trace.packet:
            assert packet.trusted_packet_sequence_id
            names |= {row.iid: row.name for row in packet.interned_data.event_names}
            categories |= {row.iid: row.name for row in packet.interned_data.event_categories}
            if packet.HasField("track_descriptor"):
                descriptor = packet.track_descriptor
                assert descriptor.uuid and descriptor.uuid not in self.tracks
                parent = self.tracks[descriptor.parent_uuid] if descriptor.parent_uuid else None
                assert parent or descriptor.HasField("process")
                self.tracks[descriptor.uuid] = Track(descriptor, parent)
            else:
                self._event(packet, names, categories, open_slices)
        assert not any(open_slices.values()), "a slice has no end"

    def _event(self, packet, names, categories, open_slices):
        event = packet.track_event
        track, inside = self.tracks[event.track_uuid], open_slices.setdefault(event.track_uuid, [])
        assert packet.HasField("timestamp")
        if event.type == event.TYPE_COUNTER:
            assert track.descriptor.HasField("counter")
            track.values.append((packet.timestamp, event.double_counter_value))
        elif event.type == event.TYPE_SLICE_BEGIN:
            assert not inside or inside[-1].begin <= packet.timestamp
            assert not track.slices or track.slices[-1].begin <= packet.timestamp
            (category,) = event.category_iids
            inside.append(Slice(categories[category], names[event.name_iid], packet.timestamp))
            track.slices.append(inside[-1])
        else:
            assert event.type == event.TYPE_SLICE_END
            done = inside.pop()
            assert packet.timestamp >= done.begin
            done.end = packet.timestamp

    def of_rank(self, rank: int) -> Track:
        (track,) = [t for t in self.tracks.values() if t.name == f"rank {rank}"]
        return track

    def part(self, rank: int, begin: str) -> Track:
        """The track below a rank's whose name begins so."""
        above = self.of_rank(rank)
        (track,) = [t for t in self.tracks.values() if t.parent is above and t.name.startswith(begin)]
        return track


def exported(path: Path, target: Path, *words: object) -> Timeline:
    arguments = ["export", path, "--to", "perfetto", "-o", target, *words]
    assert commands.main(list(map(str, arguments))) == 0
    return Timeline(target)


@pytest.fixture
def path(tmp_path):
    """Four ranks on two hosts, five steps; rank 1 lacks step 3."""
    return twin.write_run(
        tmp_path / "run",
        ranks=4,
        steps=5,
        hosts=("a", "b"),
        mesh=False,
        change_step=lambda rank, step, values: not (rank == 1 and step == 3),
    )


@pytest.fixture
def timeline(path, tmp_path):
    return exported(path, tmp_path / "out.pftrace", "--fields", "resident_bytes,compute_time_s")


def test_each_node_is_a_process_and_each_rank_a_track_in_it(timeline):
    processes = [track for track in timeline.tracks.values() if track.parent is None]
    assert [track.name for track in processes] == ["a", "b"]
    assert len({track.descriptor.process.pid for track in processes}) == 2
    assert [timeline.of_rank(rank).parent.name for rank in range(4)] == ["a", "a", "b", "b"]
    assert [timeline.of_rank(rank).descriptor.sibling_order_rank for rank in range(4)] == [0, 1, 2, 3]
    assert all(t.descriptor.child_ordering == t.descriptor.EXPLICIT for t in processes)


def test_steps_are_where_they_were_measured_on_the_common_clock(timeline, path):
    run = perfield.open(path)
    zero = np.nanmin(run.setup.begin_s)
    for rank in range(4):
        slices = timeline.of_rank(rank).slices
        present = [step for step in range(5) if not (rank == 1 and step == 3)]
        assert [s.name for s in slices] == ["setup", *(f"step {n + 1}" for n in present)]
        assert {s.category for s in slices} == {"step"}
        for step, one in zip(present, slices[1:]):
            frame = run.frame(step)
            expected = [(frame.begin_s[rank] - zero) * 1e9, (frame.end_s[rank] - zero) * 1e9]
            assert [one.begin, one.end] == pytest.approx(expected, abs=1)


def test_parts_of_a_step_lie_in_it_with_their_lengths_and_unknown_order(timeline):
    for rank in range(4):
        steps = timeline.of_rank(rank).slices[1:]
        for begin in ("computing and MPI", "regions", "waits for other ranks"):
            track = timeline.part(rank, begin)
            assert "(order unknown)" in track.name and "order is not" in track.descriptor.description
            for one in track.slices:
                assert any(step.begin <= one.begin and one.end <= step.end for step in steps)
            assert all(a.end <= b.begin for a, b in zip(track.slices, track.slices[1:]))
    regions = timeline.part(2, "regions").slices
    lengths = {s.name: s.end - s.begin for s in regions[:2]}
    assert lengths == {"solve": twin.solve_ns(2, 0), "exchange": 200_000}
    calls = {s.name: s.end - s.begin for s in timeline.part(3, "computing").slices[:3]}
    assert calls == {"computing": twin.solve_ns(3, 0) + 100_000, "point-to-point": 50_000, "wait": 50_000}
    assert [(s.name, s.end - s.begin) for s in timeline.part(0, "waits").slices[:1]] == [
        ("for rank 3", 60_000)
    ]


def test_fields_are_counters_that_change_with_each_step(timeline):
    memory = timeline.part(3, "resident_bytes")
    assert memory.descriptor.counter.unit_name == "B"
    assert [value for _, value in memory.values] == [50_000_003.0] * 5
    assert [at for at, _ in memory.values] == [s.begin for s in timeline.of_rank(3).slices[1:]]
    assert len(timeline.part(1, "compute_time_s").values) == 4


def test_steps_can_be_chosen(path, tmp_path):
    timeline = exported(path, tmp_path / "some", "--steps", "2:4")
    assert [s.name for s in timeline.of_rank(0).slices] == ["step 2", "step 3"]


@pytest.mark.parametrize("entries", [4, 1000])  # chunks of one step, and a single chunk
def test_limit_of_slices_stops_with_a_whole_step_and_is_reported(
    path, tmp_path, capsys, monkeypatch, entries
):
    monkeypatch.setattr("perfield.run.snapshot.ENTRIES_PER_CHUNK", entries)
    timeline = exported(path, tmp_path / "some", "--most-slices", 40)
    steps = [s.name for s in timeline.of_rank(3).slices]
    assert steps == ["setup", "step 1", "step 2"] == [s.name for s in timeline.of_rank(0).slices]
    printed = capsys.readouterr().out
    assert "slices of 2 steps on 4 ranks" in printed
    assert "These are the first 2 of 5 steps, as --most-slices is 40; choose others with --steps." in printed


def test_one_step_is_counted_as_one(path, tmp_path, capsys):
    exported(path, tmp_path / "one", "--steps", "4")
    assert "slices of 1 step on 4 ranks" in capsys.readouterr().out


def test_times_of_overlapping_threads_are_left_out_and_reported(tmp_path, capsys):
    def overlap(rank, step, values):
        if step == 1:
            values["calls"][0]["ns"] = 50_000_000

    path = twin.write_run(tmp_path / "run", ranks=1, steps=3, change_step=overlap)
    timeline = exported(path, tmp_path / "out")
    assert len(timeline.of_rank(0).slices) == 4
    begin = timeline.of_rank(0).slices[2].begin
    assert not [s for s in timeline.part(0, "computing").slices if s.begin == begin]
    assert "Threads overlapped in 1 place: the times" in capsys.readouterr().out


def test_files_are_shown_without_mpi_io(tmp_path):
    mpi_io = 4  # the class of calls

    def use_files(rank, step, values):
        values["calls"].append({"call": twin.WAITALL, "time_class": mpi_io, "count": 1, "ns": 20_000})
        values["quantities"].append(
            {"region": twin.OF_RANK, "quantity": len(twin.QUANTITIES), "value": 30_000}
        )

    quantities = (*twin.QUANTITIES, ("file_time", "ns", "rank", "sum"))
    path = twin.write_run(
        tmp_path / "run", ranks=1, steps=1, quantities=quantities, change_step=use_files, mesh=False
    )
    slices = exported(path, tmp_path / "out").part(0, "computing").slices
    lengths = {s.name: s.end - s.begin for s in slices}
    assert (lengths["MPI-IO"], lengths["files"]) == (20_000, 30_000)
    assert sum(lengths.values()) == twin.solve_ns(0, 0) + 200_000


def test_run_that_closed_no_step_is_one_slice(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=0)
    timeline = exported(path, tmp_path / "out")
    assert [s.name for s in timeline.of_rank(1).slices] == ["the whole run"]


def test_default_name_ends_in_pftrace_and_says_where_to_drop_it(path, perfield_cli):
    result = perfield_cli("export", path, "--to", "perfetto")
    assert result.returncode == 0, result.stderr
    assert [entry.name for entry in result.cwd.iterdir()] == ["run.pftrace"]
    assert "run.pftrace: " in result.stdout and "open https://ui.perfetto.dev" in result.stdout


def test_real_program_has_steps_one_after_the_other(planted_run, tmp_path):
    run = planted_run("waits").cwd / "perfield-run"
    timeline = exported(run, tmp_path / "out")
    frames = len(perfield.open(run))
    for rank in range(4):
        slices = timeline.of_rank(rank).slices
        assert [slices[0].name, slices[-1].name] == ["setup", "teardown"] and len(slices) == frames + 2
        assert all(a.end <= b.begin for a, b in zip(slices, slices[1:]))
    waiting = {s.name for s in timeline.part(1, "computing").slices}
    assert {"computing", "collective"} <= waiting


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--fields", "memory"], "has no field 'memory'"),
        (["--steps", "10"], "step 10 is not in this run, which has steps 1 to 5"),
        (["--most-slices", "0"], "--most-slices is 0; expected at least 1."),
    ],
)
def test_mistakes_are_answered_in_a_sentence(path, tmp_path, capsys, words, answer):
    assert commands.main(["export", str(path), "--to", "perfetto", "-o", str(tmp_path / "out"), *words]) == 2
    assert answer in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_steps_are_refused_for_other_formats(path, capsys):
    pytest.importorskip("zarr", reason="zarr is not installed")
    assert commands.main(["export", str(path), "--to", "zarr", "--steps", "2"]) == 2
    assert "--steps is an option of --to perfetto" in capsys.readouterr().err


def test_full_disk_leaves_nothing(path, tmp_path):
    place = tmp_path / "full"
    place.mkdir()
    result = subprocess.run(
        [Path(sys.executable).parent / "perfield", "export", path, "--to", "perfetto", "-o", place / "out"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2 and "could not be written: File too large" in result.stderr
    assert list(place.iterdir()) == []


def test_frames_of_several_steps_are_called_so_and_count_the_mean_of_one(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=4, sum_every=10))
    with (tmp_path / "trace").open("wb") as file:
        write_timeline(run, file, range(4), ["sent_count"])
    tracks = Timeline(tmp_path / "trace").tracks.values()
    assert any(each.name.startswith("10 steps up to step") for track in tracks for each in track.slices)
    sent = [track.values[0][1] for track in tracks if track.name == "sent_count"]
    assert sent == (run.frame(0).values["sent_count"] / 10).tolist()
