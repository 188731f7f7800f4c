# SPDX-License-Identifier: BSD-3-Clause
"""The C++ decoder against the slow twin: on complete, damaged and growing streams."""

from __future__ import annotations

import os
import shutil
import signal

import numpy as np
import pytest

from perfield import _bridge
from twins import twin

TABLE_DTYPES = {
    **{"regions": "region", "messages": "message", "waits": "wait", "calls": "call"},
    "collectives": "collective",
}


@pytest.fixture
def stream(tmp_path):
    """A small stream file: two ranks, three steps."""
    return next((twin.write_run(tmp_path / "run", ranks=2, steps=3) / "stream").iterdir())


def scanned(path, run_id=twin.RUN_ID):
    index = _bridge.StreamIndex(str(path), run_id=run_id)
    assert index.refresh()
    return index


def full_steps(path, offsets):
    """Steps that name no other."""
    return _bridge.read_steps(str(path), offsets, offsets)


def keys_of_twin(entries):
    return [
        (e["offset"], twin.TYPES.get(e["type"], e["type"]), e["rank"], e["sequence"], e["index"])
        for e in entries
    ]


def keys_of(index):
    columns = ("offset", "type", "rank", "sequence", "index")
    return [tuple(int(place[name]) for name in columns) for place in index.places]


def test_crc32c_matches_the_standard():
    assert _bridge.crc32c(b"123456789") == 0xE3069283  # RFC 3720, B.4
    assert _bridge.crc32c(b"\0" * 32) == 0x8A9136AA


def test_crc32c_of_parts_equals_that_of_the_whole():
    data = bytes(range(256)) * 3
    for cut in (0, 1, 7, 8, 9, 511):
        assert _bridge.crc32c(data[cut:], _bridge.crc32c(data[:cut])) == twin.crc32c(data)


def test_decoder_finds_what_the_twin_finds(stream):
    entries, holes = twin.decode(stream.read_bytes())
    index = scanned(stream)
    assert holes == [] and index.damage == [] and index.pending[1] == 0
    assert keys_of(index) == keys_of_twin(entries)


def test_steps_hold_what_the_twin_reads(stream):
    expected = [entry for entry in twin.decode(stream.read_bytes())[0] if entry["type"] == "step"]
    read = full_steps(stream, [entry["offset"] for entry in expected])
    assert read["whole"].all() and len(read["whole"]) == len(expected)
    for number, entry in enumerate(expected):
        body = entry["body"]
        for key in twin.STEP_KEYS:
            np.testing.assert_equal(read["steps"][key][number], body[key], err_msg=key)
        for table, name in TABLE_DTYPES.items():
            begin, end = read[f"{name}_start"][number : number + 2]
            rows = read[table][begin:end]
            assert len(rows) == len(body[table])
            for row, row_of_twin in zip(rows, body[table]):
                assert {key: twin.value_in(row, key) for key in row_of_twin} == row_of_twin


def test_bodies_equal_the_written_bytes(stream):
    entries, _ = twin.decode(stream.read_bytes())
    data = stream.read_bytes()
    expected = [data[entry["offset"] + twin.HEADER.size : entry["end"]] for entry in entries]
    assert _bridge.read_bodies(str(stream), [entry["offset"] for entry in entries]) == expected


def test_flipped_byte_costs_only_its_entry_and_is_reported(stream, tmp_path):
    data = stream.read_bytes()
    whole, _ = twin.decode(data)
    ends = [entry["end"] for entry in whole]
    expected = keys_of_twin(whole)
    path = tmp_path / "flipped.pf"
    for at in range(len(data)):
        flipped = bytearray(data)
        flipped[at] ^= 1 << (at % 8)
        path.write_bytes(flipped)
        index = scanned(path)
        hit = next(n for n, end in enumerate(ends) if at < end)
        assert keys_of(index) == expected[:hit] + expected[hit + 1 :], f"byte {at}"
        begin, length = whole[hit]["offset"], whole[hit]["end"] - whole[hit]["offset"]
        reported = index.damage if hit + 1 < len(whole) else [index.pending]
        assert [(offset, n) for offset, n, _ in reported] == [(begin, length)], f"byte {at}"
        assert reported[0][2], f"byte {at}: no sentence"
        steps = [offset for offset, type, *_ in expected if type == twin.TYPES["step"]]
        assert full_steps(path, steps)["whole"].sum() == len(steps) - (begin in steps)


def test_damage_names_its_entry(stream):
    data = bytearray(stream.read_bytes())
    entry = next(e for e in twin.decode(bytes(data))[0] if e["type"] == "step" and e["index"] == 1)
    data[entry["offset"] + twin.HEADER.size + 5] ^= 1
    stream.write_bytes(data)
    sentence = scanned(stream).damage[0][2]
    assert sentence == "the checksum of the step entry of rank 0, index 1 is wrong"


def test_garbage_between_entries_is_skipped(stream):
    data = stream.read_bytes()
    entries, _ = twin.decode(data)
    noise = np.random.default_rng(7).bytes(1001) + twin.MARKER + b"\xff" * 100
    cut = entries[4]["offset"]
    stream.write_bytes(data[:cut] + noise + data[cut:])
    index = scanned(stream)
    assert [(offset, n) for offset, n, _ in index.damage] == [(cut, len(noise))]
    assert len(index.places) == len(entries)


def test_false_lengths_are_rejected(stream):
    """Headers with a correct checksum but a length beyond the file, or tables beyond the body."""
    data = stream.read_bytes()
    fields = (5, 1, 0xFFFFFFF8, twin.RUN_ID, 0, 0, 0, 0)
    header = twin.HEADER.pack(twin.MARKER, *fields, 0)[:44]
    endless = header + twin.struct.pack("<I", twin.crc32c(header))
    body = bytearray(twin.step_body())
    body[twin.STEP.size - 4 : twin.STEP.size] = b"\xff" * 4  # four billion tables
    crowded = twin.entry("step", bytes(body), rank=0, sequence=0)
    short = twin.entry("step", b"\0" * 16, rank=0, sequence=0)
    stream.write_bytes(endless + crowded + short + data)
    index = scanned(stream)
    assert len(index.places) == len(twin.decode(data)[0])
    assert [(offset, n) for offset, n, _ in index.damage] == [(0, len(endless + crowded + short))]
    read = full_steps(stream, [0, len(endless), len(endless + crowded), 10**15])
    assert not read["whole"].any() and len(read["regions"]) == 0


def test_unknown_type_and_version_are_skipped(stream):
    data = stream.read_bytes()
    newer = twin.entry(5, b"x" * 24, rank=0, sequence=0, version=9) + twin.entry(99, b"", rank=0, sequence=1)
    stream.write_bytes(newer + data)
    index = scanned(stream)
    assert index.damage == []
    assert keys_of(index)[2:] == keys_of_twin(twin.decode(newer + data)[0])[2:]


def with_table(body: bytes, number: int, row_bytes: int, rows: int, data: bytes) -> bytes:
    """A step's body with one additional table."""
    body = bytearray(body)
    at = twin.STEP.size - 4
    (n_tables,) = twin.struct.unpack_from("<I", body, at)
    twin.struct.pack_into("<I", body, at, n_tables + 1)
    return bytes(body) + twin.TABLE.pack(number, row_bytes, rows) + data


def test_unknown_tables_of_a_step_are_skipped():
    body = twin.step_body(regions=[twin.region_row(3, 50)])
    read = _bridge.decode_steps([with_table(body, 77, 24, 2, b"x" * 48)])
    assert read["whole"].all() and read["regions"]["id"].tolist() == [3]


def test_additional_columns_of_a_row_are_skipped():
    layout, _ = twin.TABLES["waits"]
    rows = b"".join(layout.pack(peer, 0, 1, 10 * peer) + b"later..." for peer in (4, 5))
    read = _bridge.decode_steps([with_table(twin.step_body(), 3, layout.size + 8, 2, rows)])
    assert read["waits"]["peer"].tolist() == [4, 5] and read["waits"]["ns"].tolist() == [40, 50]


def test_too_short_rows_make_no_step():
    read = _bridge.decode_steps([with_table(twin.step_body(), 3, 16, 1, b"x" * 16)])
    assert not read["whole"].any() and len(read["waits"]) == 0


@pytest.mark.parametrize("kept", [0, 1, 47, 48, 49, 200])
def test_cut_tail_is_pending_until_the_rest_arrives(stream, kept):
    data = stream.read_bytes()
    last = twin.decode(data)[0][-1]
    cut = last["offset"] + kept
    stream.write_bytes(data[:cut])
    index = scanned(stream)
    assert index.damage == [] and index.pending[:2] == (last["offset"], kept)
    before = len(index.places)
    stream.write_bytes(data)
    index.refresh()
    assert len(index.places) == before + 1 and index.pending[1] == 0 and index.damage == []


def test_tail_of_zeros_becomes_an_entry_once_its_bytes_arrive(stream):
    """On a network file system, new pages may read as zeros at first, even before newer entries."""
    data = stream.read_bytes()
    entries = twin.decode(data)[0]
    begin, end = entries[-3]["offset"], entries[-3]["end"]
    stream.write_bytes(data[:begin] + b"\0" * (end - begin) + data[end:])
    index = scanned(stream)
    assert [(offset, n) for offset, n, _ in index.damage] == [(begin, end - begin)]
    stream.write_bytes(data)
    index.refresh()
    assert index.damage == [] and keys_of(index) == keys_of_twin(entries)


def test_entries_of_another_run_are_ignored_and_counted(stream):
    data = stream.read_bytes()
    foreign = twin.entry("place", twin.json_body({"cpuset": "0"}), rank=0, sequence=0, run_id=77)
    stream.write_bytes(foreign + data + foreign)
    index = scanned(stream)
    assert index.strangers == {77: 2}
    assert len(index.places) == len(twin.decode(data)[0])


def test_bodies_larger_than_a_window_are_read_whole(tmp_path):
    path = tmp_path / "mesh.pf"
    writer = twin.Writer(path, rank=0)
    big = np.arange(700_000, dtype="<f8").tobytes()  # 5.6 MB
    header = twin.padded(b'{"block": 0}')
    body = twin.struct.pack("<II", len(header), 0) + header + big
    crc = _bridge.crc32c(body)  # the twin would take seconds
    fields = (twin.TYPES["field"], 1, len(body), twin.RUN_ID, 0, 0, 3, crc)
    head = twin.HEADER.pack(twin.MARKER, *fields, 0)[:44]
    data = head + twin.struct.pack("<I", twin.crc32c(head)) + body
    writer.path.write_bytes(data)
    writer.sequence = 1
    writer.add("mesh", twin.slab_mesh(0, 1), index=1)
    index = scanned(path)
    assert [int(place["offset"]) for place in index.places] == [0, len(data)]
    assert _bridge.read_bodies(str(path), [0])[0] == body
    flipped = bytearray(path.read_bytes())
    flipped[5_000_000] ^= 4
    path.write_bytes(flipped)
    index = scanned(path)
    assert [int(place["offset"]) for place in index.places] == [len(data)] and len(index.damage) == 1


def test_missing_file_gives_an_error(tmp_path):
    assert _bridge.StreamIndex(str(tmp_path / "nothing.pf")).refresh() is False
    assert not full_steps(tmp_path / "nothing.pf", [0])["whole"].any()
    assert _bridge.read_bodies(str(tmp_path / "nothing.pf"), [0]) == [None]


@pytest.fixture
def no_waiting():
    """Interrupts what waits in a pipe."""

    def too_long(*_):
        raise AssertionError("it waited for 30 s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("kind", ["pipe", "device", "link out", "room out", "owner"])
def test_file_that_takes_the_place_of_a_stream_is_not_read(stream, tmp_path, kind):
    """As after it was looked at: nothing waits, and nothing outside the run is read."""
    index = scanned(stream)
    offsets = index.places["offset"]
    outside = shutil.copytree(stream.parent, tmp_path / "outside")
    if kind == "room out":
        shutil.rmtree(stream.parent)
        stream.parent.symlink_to(outside)
    elif kind == "owner":
        if os.geteuid() != 0:
            pytest.skip("only root can give a file to another user")
        os.chown(stream, 12345, 12345)
    else:
        stream.unlink()
        if kind == "pipe":
            os.mkfifo(stream)
        else:
            stream.symlink_to("/dev/zero" if kind == "device" else outside / stream.name)
    assert not index.refresh()
    assert not _bridge.StreamIndex(str(stream), run_id=twin.RUN_ID).refresh()
    assert _bridge.read_bodies(str(stream), offsets) == [None] * len(offsets)


def test_links_that_stay_inside_the_run_are_followed(stream):
    expected = keys_of(scanned(stream))
    stream.rename(stream.parent.parent / "kept")
    stream.symlink_to("../kept")
    assert keys_of(scanned(stream)) == expected
    stream.parent.rename(stream.parent.parent / "moved")
    stream.parent.symlink_to("moved")
    assert keys_of(scanned(stream)) == expected
    link = stream.parent.parent.with_name("link to the run")
    link.symlink_to(stream.parent.parent)
    assert keys_of(scanned(link / "stream" / stream.name)) == expected
