# SPDX-License-Identifier: BSD-3-Clause
"""The index of a stream file on disk: stored, extended, and rebuilt if it does not fit."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest
from drivers.limits import in_little_memory

from perfield import _bridge
from twins import twin

STRANGER = 12345
HEADER, PLACE = 200, 56  # bytes of an index' header, and of a place in it


@pytest.fixture
def paths(tmp_path):
    """A stream of two ranks and three steps, and the path of its index."""
    stream = next((twin.write_run(tmp_path / "run", ranks=2, steps=3) / "stream").iterdir())
    return stream, tmp_path / "run" / "analysis" / "index.pfi"


def opened(stream, stored, save_after=1, run_id=twin.RUN_ID):
    index = _bridge.StreamIndex(str(stream), str(stored), run_id, save_after)
    index.refresh()
    return index


def test_stored_index_loads_unchanged(paths):
    stream, stored = paths
    data = stream.read_bytes()
    stream.write_bytes(data + b"damage!!" + data)
    first = opened(*paths)
    assert stored.exists() and len(first.damage) == 1
    again = opened(*paths)
    assert (again.places == first.places).all()
    assert again.damage == first.damage
    assert again.message_calls == first.message_calls == [twin.ISEND, twin.RECV]


def test_loaded_index_is_not_read_again(paths):
    """A later change in a known entry shows only when the entry is read."""
    stream, _ = paths
    known = opened(*paths).places
    data = bytearray(stream.read_bytes())
    second = int(known["offset"][1])
    data[second + 60] ^= 1
    stream.write_bytes(data)
    assert len(opened(*paths).places) == len(known)
    assert _bridge.read_bodies(str(stream), [second]) == [None]


def test_index_grows_with_the_stream(paths):
    stream, _ = paths
    before = len(opened(*paths).places)
    writer = twin.Writer(stream, rank=0)
    writer.add("step", twin.step_body(), index=3)
    assert len(opened(*paths).places) == before + 1


@pytest.mark.parametrize("change", ["shorter", "other"])
def test_mismatched_index_is_rebuilt(paths, change, tmp_path):
    stream, _ = paths
    opened(*paths)
    data = stream.read_bytes()
    if change == "shorter":
        stream.write_bytes(data[: twin.decode(data)[0][3]["offset"]])
        expected = 3
    else:
        other = next((twin.write_run(tmp_path / "other", ranks=5, steps=9) / "stream").iterdir())
        stream.write_bytes(other.read_bytes())
        expected = len(twin.decode(other.read_bytes())[0])
    assert len(opened(*paths).places) == expected


def test_flipped_byte_of_the_index_changes_nothing(paths):
    stream, stored = paths
    expected = opened(*paths).places
    data = stored.read_bytes()
    for at in range(len(data)):
        flipped = bytearray(data)
        flipped[at] ^= 0x10
        stored.write_bytes(flipped)
        assert (opened(stream, stored, save_after=2**60).places == expected).all(), f"byte {at}"


def test_index_of_another_run_is_not_used(paths):
    opened(*paths)
    assert len(opened(*paths, run_id=5).places) == 0


def test_unwritable_place_is_no_error(paths):
    stream, stored = paths
    stored.parent.write_text("a file where the folder should be")
    index = opened(*paths)
    assert len(index.places) == len(twin.decode(stream.read_bytes())[0])


def test_small_streams_store_no_index(paths):
    stream, stored = paths
    _bridge.StreamIndex(str(stream), str(stored), twin.RUN_ID).refresh()
    assert not stored.exists()


def test_truncated_stream_is_read_anew(paths):
    stream, _ = paths
    index = opened(*paths)
    data = stream.read_bytes()
    stream.write_bytes(data[: twin.decode(data)[0][3]["offset"]])
    index.refresh()
    assert len(index.places) == 3


def test_index_of_a_terabyte_is_not_read(paths):
    stored = paths[1]
    first = opened(*paths)
    with stored.open("r+b") as file:
        file.truncate(1 << 40)
    again = in_little_memory(lambda: len(opened(*paths)))
    assert again == len(first)


def test_index_that_claims_more_entries_than_the_stream_holds_is_rebuilt(paths):
    stored = paths[1]
    n = len(opened(*paths))
    data = bytearray(stored.read_bytes())
    rows = 5000  # more than there are
    data[24:32] = (n + rows).to_bytes(8, "little")
    data[HEADER:HEADER] = bytes(rows * PLACE)
    data[HEADER - 8 : HEADER - 4] = _bridge.crc32c(bytes(data[HEADER:])).to_bytes(4, "little")
    data[HEADER - 4 : HEADER] = _bridge.crc32c(bytes(data[: HEADER - 4])).to_bytes(4, "little")
    stored.write_bytes(data)
    assert len(opened(*paths)) == n


def test_hole_of_a_sparse_stream_is_passed_over(paths):
    stream, _ = paths
    data = stream.read_bytes()
    with stream.open("r+b") as file:
        file.seek(1 << 40)
        file.write(data)
    index = opened(stream, "")
    assert len(index) == 2 * len(twin.decode(data)[0])
    assert [length for _, length, _ in index.damage] == [(1 << 40) - len(data)]


@pytest.mark.parametrize("index", [1 << 48, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
@pytest.mark.parametrize("type", ["step", "events", "field"])
def test_entry_of_an_impossible_step_is_damage_that_names_it(paths, type, index):
    stream, _ = paths
    n = len(opened(stream, ""))
    twin.Writer(stream, 1).add(type, twin.step_body(), index=index)
    twin.Writer(stream, 1).add("end", twin.json_body({}))
    found = opened(stream, "")
    assert len(found) == n + 1
    (sentence,) = [sentence for _, _, sentence in found.damage]
    assert f"the {type} entry of rank 1, index {index}, is of no step" in sentence


def test_index_is_written_through_no_link(paths, tmp_path):
    """Neither that of the file, nor one of a name that the writer is likely to take, nor the folder's."""
    stream, stored = paths
    victim, outside = tmp_path / "victim", tmp_path / "outside"
    victim.write_text("precious\n")
    outside.mkdir()
    stored.parent.mkdir()
    for name in (stored.name, f"{stored.name}.{os.getpid()}.part", f".{stored.name}"):
        stored.with_name(name).symlink_to(victim)
    opened(*paths)
    assert victim.read_text() == "precious\n"
    assert stored.read_bytes().startswith(b"pfindex") and not stored.is_symlink()
    elsewhere = tmp_path / "run" / "linked" / "index.pfi"
    elsewhere.parent.symlink_to(outside)
    assert len(opened(stream, elsewhere).places)
    assert not list(outside.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
@pytest.mark.parametrize("what", ["folder", "file"])
def test_index_of_another_user_is_not_used(paths, what):
    stream, stored = paths
    expected = opened(*paths).places
    data = bytearray(stream.read_bytes())
    data[int(expected["offset"][1]) + 60] ^= 1  # seen only if the entry is read again
    stream.write_bytes(data)
    before = stored.read_bytes()
    os.chown(stored.parent if what == "folder" else stored, STRANGER, STRANGER)
    assert len(opened(*paths).places) < len(expected)
    if what == "folder":
        assert stored.read_bytes() == before and len(list(stored.parent.iterdir())) == 1
    else:
        assert stored.stat().st_uid == 0, "it is replaced"


@pytest.fixture
def open_folder():
    """A folder that all users can enter, which pytest's own cannot be."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize(("mode", "expected"), [(0o644, 0o644), (0o640, 0o600), (0o600, 0o600)])
def test_index_is_no_more_readable_than_its_stream(open_folder, mode, expected):
    stream = next((twin.write_run(open_folder / "run", ranks=1, steps=1) / "stream").iterdir())
    stream.chmod(mode)
    stored = open_folder / "run/analysis/index.pfi"
    before = os.umask(0o022)
    try:
        opened(stream, stored)
    finally:
        os.umask(before)
    assert stat.S_IMODE(stored.stat().st_mode) == expected


def test_index_that_cannot_get_its_name_leaves_nothing(paths):
    _, stored = paths
    (stored / "in the way").mkdir(parents=True)
    assert len(opened(*paths).places)
    assert [path.name for path in stored.parent.iterdir()] == [stored.name]
