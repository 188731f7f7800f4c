# SPDX-License-Identifier: BSD-3-Clause
"""Steps that are stated as differences to an earlier one: against the slow twin, whole and damaged."""

from __future__ import annotations

import numpy as np
import pytest

from perfield import _bridge
from twins import twin


def body_of(step, change=None):
    values = twin.step_values(1, 4, step)
    if change:
        change(values)
    return twin.step_body(**values)


def stamps(values, count, peer, call):
    """Sums of stamps within the step, other ones in each."""
    begun = values["begin_ns"] + 1_000 * peer + 37 * call + values["label"] % 7
    sums = [count * begun, count * (begun + 2_000_000), count * (begun + 2_300_000 + 31 * peer)]
    return dict(zip(("begun_sum", "wait_begin_sum", "wait_end_sum"), sums))


def many_rows(values):
    values["regions"] = [twin.region_row(n, 1_000 * n + values["label"], 900 * n) for n in range(1, 11)]
    values["messages"] = [
        {"peer": peer, "call": call, "count": 1, "bytes": 800, "empty": 0, "largest": 800}
        | twin.sizes_of(800)
        | stamps(values, 1, peer, call)
        | {"number": values["label"], "channel": 0xCAFE0000 + peer}
        for call in (twin.ISEND, twin.RECV)
        for peer in range(26)
    ]
    values["collectives"] = [
        {"communicator": 0xABCD, "call": 57, "flags": 1, "count": 3, "bytes_out": 24, "bytes_in": 24}
        | stamps(values, 3, 0, 57)
        | {"number": 3 * values["label"]}
    ]
    values["synchronisations"] = [
        {"peer": peer, "call": 40 + peer % 4, "count": 1 + peer % 2, "number": values["label"], "channel": 2}
        | stamps(values, 1 + peer % 2, peer, 40)
        for peer in range(8)
    ]
    values["waits"] = [{"peer": n, "count": 1, "ns": 7_000 + 31 * n * values["label"]} for n in range(26)]


def other_partners(values):
    many_rows(values)
    new = {"peer": 99, "call": twin.ISEND, "count": 1, "bytes": 2**63}
    values["messages"] = [*values["messages"][3:20], new]
    for row, name in zip(values["messages"], ("begun_sum", "wait_begin_sum", "wait_end_sum")):
        row[name] = 0  # not known
    values["messages"][5]["begun_sum"] = values["begin_ns"]  # its distance would be 0, too
    values["waits"].insert(4, {"peer": 77, "count": 1, "ns": 2**64 - 1})


def several_threads(values):
    many_rows(values)
    values["regions"][3] |= {"threads": 3, "inclusive_min_ns": 5, "self_max_ns": 2**64 - 1}


def no_tables(values):
    values |= {"regions": [], "messages": [], "waits": [], "calls": [], "quantities": []}
    values["collectives"] = values["synchronisations"] = []


CHANGES = [None, many_rows, other_partners, several_threads, no_tables]


@pytest.mark.parametrize("before", CHANGES)
@pytest.mark.parametrize("now", CHANGES)
def test_packed_as_the_twin_packs_and_unpacked_again(before, now):
    full, plain = body_of(0, before), body_of(9, now)
    expected = twin.pack_body(plain, full, 17)
    packed = _bridge.pack_step(plain, full, 17)
    assert packed == expected or (packed is None and len(expected) > len(plain))
    assert _bridge.unpack_step(expected, full) == plain == twin.unpack_body(expected, full)


def test_wild_numbers_survive():
    random = np.random.default_rng(3)
    for _ in range(20):
        full, plain = bytearray(body_of(0, many_rows)), bytearray(body_of(1, many_rows))
        for body in (full, plain):  # not the number of tables, nor the tables' headers
            body[:144] = random.bytes(144)
            body[160:800] = random.bytes(640)
        packed = twin.pack_body(bytes(plain), bytes(full), 0)
        assert _bridge.unpack_step(packed, bytes(full)) == bytes(plain)


def test_unchanged_rows_cost_next_to_nothing():
    full = body_of(0, many_rows)
    assert len(_bridge.pack_step(full, full, 0)) <= 24
    assert len(full) > 3_400


@pytest.mark.parametrize("change", [many_rows, other_partners])
def test_no_bytes_break_the_unpacking(change):
    """Every truncation and every flipped bit: refused, or a body of which every table is checked."""
    full, packed = body_of(0, many_rows), twin.pack_body(body_of(1, change), body_of(0, many_rows), 0)
    for length in range(0, len(packed), 8):
        assert _bridge.unpack_step(packed[:length], full) is None
    refused = 0
    for bit in range(64, 8 * len(packed)):
        flipped = bytearray(packed)
        flipped[bit // 8] ^= 1 << bit % 8
        plain = _bridge.unpack_step(bytes(flipped), full)
        refused += plain is None
        if plain:
            _bridge.decode_steps([plain])
    assert refused > len(packed)
    random = np.random.default_rng(5)
    for length in (1, 8, 9, 40, 400):
        for _ in range(200):
            _bridge.unpack_step(packed[:8] + random.bytes(length), full)
            _bridge.unpack_step(packed[:8] + bytes([1, 1]) + random.bytes(length), full)


def test_vast_tables_are_refused():
    start = twin.struct.pack("<II", 0, 0)
    vast = start + bytes([1, 1, 2, 5]) + b"\xff\xff\xff\x7f" + b"\0" + b"\xff\xff\xff\x7f"
    assert _bridge.unpack_step(vast + b"\0" * 64, body_of(0)) is None


def test_strange_references_are_refused():
    packed = twin.pack_body(body_of(1), body_of(0), 0)
    for reference in (b"", b"\0" * 144, body_of(0)[:-8], b"\xff" * 200):
        assert _bridge.unpack_step(packed, reference) is None
        assert _bridge.pack_step(body_of(1), reference, 0) is None


# --- in a stream --------------------------------------------------------------------------------------------


@pytest.fixture
def stream(tmp_path):
    """Two ranks in turn: a full step, three packed ones, and all of that again."""
    path = tmp_path / "node.pf"
    writers = [twin.Writer(path, rank) for rank in (0, 1)]
    for step in range(8):
        for writer in writers:
            body = body_of(step, other_partners if step == 3 else many_rows)
            if step % 4:
                writer.add_packed(body, index=step)
            else:
                writer.add("step", body, index=step)
    return path


def scanned(path):
    index = _bridge.StreamIndex(str(path), run_id=twin.RUN_ID)
    assert index.refresh()
    return index


def steps_of(path, places):
    return _bridge.read_steps(str(path), places["offset"], places["reference_offset"])


def test_packed_steps_are_read_as_the_twin_reads_them(stream):
    entries, holes = twin.decode(stream.read_bytes())
    index = scanned(stream)
    assert holes == [] and index.damage == [] and index.waiting == [] and len(index.places) == len(entries)
    assert index.places["version"].tolist() == [entry["version"] for entry in entries]
    assert index.places["reference"].tolist() == [0] * 8 + [4] * 8
    order = np.random.default_rng(1).permutation(len(entries))
    read = steps_of(stream, index.places[order])
    assert read["whole"].all()
    for at, row in enumerate(order):
        body = entries[row]["body"]
        assert int(read["steps"]["end_ns"][at]) == body["end_ns"]
        for table, name in {"messages": "message", "waits": "wait", "regions": "region"}.items():
            begin, end = read[f"{name}_start"][at : at + 2]
            found = [
                {key: twin.value_in(line, key) for key in body[table][0]} for line in read[table][begin:end]
            ]
            assert found == body[table]


def test_flipped_byte_costs_its_entry_or_those_that_build_on_it(stream, tmp_path):
    data = stream.read_bytes()
    entries, _ = twin.decode(data)
    path = tmp_path / "flipped.pf"
    for at in range(0, len(data), 61):
        flipped = bytearray(data)
        flipped[at] ^= 1 << (at % 8)
        path.write_bytes(flipped)
        index = scanned(path)
        hit = next(entry for entry in entries if at < entry["end"])
        lost = [hit]
        if hit["version"] == 3:
            lost = [e for e in entries if e["rank"] == hit["rank"] and e["index"] // 4 == hit["index"] // 4]
        kept = [entry["offset"] for entry in entries if entry not in lost]
        assert index.places["offset"].tolist() == kept, f"byte {at}"
        reported = [*index.damage, *index.waiting, *[index.pending] * bool(index.pending[1])]
        assert sorted(offset for offset, *_ in reported) == [entry["offset"] for entry in lost], f"byte {at}"


def test_steps_without_their_full_one_wait_and_then_are_damage(stream):
    data = stream.read_bytes()
    entries, _ = twin.decode(data)
    begin, end = entries[0]["offset"], entries[0]["end"]
    half = entries[8]["offset"]
    hidden = data[:begin] + b"\0" * (end - begin) + data[end:]
    stream.write_bytes(hidden[:half])
    index = scanned(stream)
    packed = [entry["offset"] for entry in entries[1:8] if entry["rank"] == 0]
    assert [offset for offset, *_ in index.waiting] == packed
    assert [offset for offset, *_ in index.damage] == [begin]
    sentence = index.waiting[0][2]
    assert sentence == "the step entry of rank 0, index 1 builds on entry 0 of this rank, which is not there"

    stream.write_bytes(hidden)  # the rank has written a newer full one: the first will not come
    index.refresh()
    assert index.waiting == [] and [offset for offset, *_ in index.damage] == [begin, *packed]

    stream.write_bytes(data)  # unless the file system showed it late
    index.refresh()
    assert index.damage == [] and len(index.places) == len(entries)
    assert steps_of(stream, index.places)["whole"].all()


def test_steps_that_name_an_entry_of_another_content_are_not_unpacked(tmp_path):
    path = tmp_path / "node.pf"
    writer = twin.Writer(path, 0)
    writer.add("step", body_of(0))
    packed = twin.pack_body(body_of(1), body_of(2), 0)
    writer.add("step", packed, 1, twin.PACKED)
    assert len(scanned(path).waiting) == 1
    assert not _bridge.read_steps(str(path), [len(path.read_bytes()) - 48 - len(packed)], [0])["whole"].any()


def test_a_reference_entry_is_no_step_but_can_be_named(tmp_path):
    path = tmp_path / "node.pf"
    writer = twin.Writer(path, 0)
    writer.add("reference", body_of(0))
    writer.add_packed(body_of(1), index=1)
    index = scanned(path)
    assert index.damage == index.waiting == []
    steps = index.places[index.places["type"] == twin.TYPES["step"]]
    assert steps["index"].tolist() == [1] and steps_of(path, steps)["whole"].all()


def test_index_on_disk_remembers_what_packed_steps_name(stream, tmp_path):
    data = stream.read_bytes()
    entries, _ = twin.decode(data)
    stream.write_bytes(data[: entries[5]["offset"]])

    def opened():
        index = _bridge.StreamIndex(str(stream), str(tmp_path / "index.pfi"), twin.RUN_ID, 1)
        index.refresh()
        return index

    opened()
    stream.write_bytes(data)
    assert len(opened().places) == len(entries)
