# SPDX-License-Identifier: BSD-3-Clause
"""A part of the twin: the bodies of steps as differences to an earlier one, slowly; and the checksum.

A plain body is taken as words of 8 bytes: its fixed part, and tables of (number, words of a row, rows).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

FIXED = struct.Struct("<19Q")
TABLE = struct.Struct("<HHI")
MASK64 = 2**64 - 1
# Numbers of words that are stated as their distance from another one, and of the one with the tables.
BEGIN, END, REALTIME, MEASURED, N_TABLES = 3, 4, 5, 6, 18
SUM, SELF, COUNT = 2, 5, 1
# By table: the first of three words with sums of stamps, and the words that a row has at least then.
STAMPS = {2: (5, 13), 6: (4, 8), 7: (2, 6)}


def _split(body: bytes) -> tuple[list[int], list[tuple[int, int, list[list[int]]]]]:
    fixed = list(FIXED.unpack_from(body))
    tables, at = [], FIXED.size
    for _ in range(fixed[N_TABLES] >> 32):
        number, row_bytes, n = TABLE.unpack_from(body, at)
        at += TABLE.size
        layout, end = f"<{row_bytes // 8}Q", at + n * row_bytes
        rows = [list(row) for row in struct.iter_unpack(layout, body[at:end])]
        tables.append((number, row_bytes // 8, rows))
        at = end
    assert at == len(body)
    return fixed, tables


def _joined(fixed: list[int], tables: list[tuple[int, int, list[list[int]]]]) -> bytes:
    body = FIXED.pack(*fixed)
    for number, words, rows in tables:
        body += TABLE.pack(number, 8 * words, len(rows))
        body += b"".join(struct.pack(f"<{words}Q", *row) for row in rows)
    return body


def _fixed_distances(words: list[int]) -> list[int]:
    out = list(words)
    out[END] = words[END] - words[BEGIN]
    out[REALTIME] = words[REALTIME] - words[END]
    out[MEASURED] = out[END] - words[MEASURED]
    return out


def _fixed_again(words: list[int]) -> list[int]:
    out = list(words)
    out[END] = words[END] + words[BEGIN]
    out[REALTIME] = words[REALTIME] + out[END]
    out[MEASURED] = words[END] - words[MEASURED]
    return out


def _row_distances(number: int, words: list[int], begin: int) -> list[int]:
    at = _stamps_of(number, words)
    if at:
        out = list(words)
        out[at] = _distance(words[at], words[COUNT] * begin)
        out[at + 1], out[at + 2] = (_distance(words[n], words[n - 1]) for n in (at + 1, at + 2))
        return out
    if number != 1 or len(words) < 8:
        return list(words)
    total, own = words[SUM], words[SELF]
    inclusive, own_parts = _from(total, *words[3:5]), _from(own, *words[6:8])
    return [*words[:3], *inclusive, total - own, *own_parts, *words[8:]]


def _row_again(number: int, words: list[int], begin: int) -> list[int]:
    at = _stamps_of(number, words)
    if at:
        out = list(words)
        out[at] = _again(words[at], words[COUNT] * begin)
        out[at + 1] = _again(words[at + 1], out[at])
        out[at + 2] = _again(words[at + 2], out[at + 1])
        return out
    if number != 1 or len(words) < 8:
        return list(words)
    total = words[SUM]
    own = total - words[SELF]
    inclusive, own_parts = _from(total, *words[3:5]), _from(own, *words[6:8])
    return [*words[:3], *inclusive, own, *own_parts, *words[8:]]


def _stamps_of(number: int, words: list[int]) -> int:
    """Where a row's sums of stamps begin; 0 if it has none."""
    first, least = STAMPS.get(number, (0, 0))
    return first if len(words) >= least else 0


def _distance(total: int, origin: int) -> int:
    """0, an unknown sum, stays 0; so a known one that would become 0 takes its place."""
    if total & MASK64 == 0:
        return 0
    distance = (total - origin) & MASK64
    return distance or -origin & MASK64


def _again(distance: int, origin: int) -> int:
    distance &= MASK64
    if distance == 0:
        return 0
    return origin & MASK64 if distance == -origin & MASK64 else (distance + origin) & MASK64


def _from(number: int, *others: int) -> list[int]:
    return [number - other for other in others]


def _key(number: int, row: list[int]) -> int:
    return row[0] & 0xFFFFFFFF if number == 1 else row[0]


def _runs(number: int, rows: list, before: list) -> list[int]:
    """Kept, added, passed, kept, ...: how the rows follow from those of the reference."""
    runs, row, at = [], 0, 0
    while row < len(rows):
        begin = row
        while row < len(rows) and at < len(before) and _key(number, rows[row]) == _key(number, before[at]):
            row, at = row + 1, at + 1
        runs.append(row - begin)
        if row == len(rows):
            break
        begin, near = row, [_key(number, one) for one in before[at : at + 64]]
        while row < len(rows) and _key(number, rows[row]) not in near:
            row += 1
        runs.append(row - begin)
        if row == len(rows):
            break
        runs.append(near.index(_key(number, rows[row])))
        at += runs[-1]
    return runs


def _aligned(words: int, runs: Iterable[int], n: int, before: list) -> list[list[int]]:
    """The reference's row of each of n rows; zeros for an added one."""
    rows, at, steps = [], 0, iter(runs)
    while len(rows) < n:
        kept = next(steps)
        assert at + kept <= len(before)
        rows += before[at : at + kept]
        at += kept
        if len(rows) < n:
            rows += [[0] * words] * next(steps)
        if len(rows) < n:
            at += next(steps)
    assert len(rows) == n
    return rows


def _leb(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(0x80 | value & 0x7F)
        value >>= 7
    return bytes([*out, value])


def _flat(fixed: list[int], tables: list) -> list[int]:
    words = _fixed_distances(fixed)
    for number, _, rows in tables:
        words.append(0)  # the table's header
        for row in rows:
            words += _row_distances(number, row, fixed[BEGIN])
    return words


def pack_body(body: bytes, reference: bytes, sequence: int) -> bytes:
    """The plain body of a step as differences to another one, that of the rank's entry `sequence`."""
    fixed, tables = _split(body)
    before, full = _split(reference)
    like = {(number, words): rows for number, words, rows in reversed(full)}
    out = struct.pack("<II", sequence, crc32c(reference))
    shape = [(number, words, [_key(number, row) for row in rows]) for number, words, rows in tables]
    if shape == [(number, words, [_key(number, row) for row in rows]) for number, words, rows in full]:
        out += b"\0"
        aligned = full
    else:
        out += bytes([1, len(tables)])
        aligned = []
        for number, words, rows in tables:
            found = like.get((number, words), [])
            runs = _runs(number, rows, found)
            out += bytes([number, words]) + b"".join(map(_leb, [len(rows), *runs]))
            aligned.append((number, words, _aligned(words, runs, len(rows), found)))
    before[N_TABLES] = before[N_TABLES] & 0xFFFFFFFF | len(tables) << 32
    pairs = zip(_flat(fixed, tables), _flat(before, aligned))
    differences = [(now - then) & MASK64 for now, then in pairs]
    codes = [(d << 1 ^ (MASK64 if d >> 63 else 0)) & MASK64 for d in differences]
    for at in range(0, len(codes), 64):
        out += _pack_block(codes[at : at + 64])
    return out + b"\0" * (-len(out) % 8)


def _pack_block(codes: list[int]) -> bytes:
    mask = sum(1 << n for n, code in enumerate(codes) if code).to_bytes(8, "little")
    data = [code.to_bytes((code.bit_length() + 7) // 8, "little") for code in codes if code]
    lengths = [len(part) for part in data] + [0] * (len(data) % 2)
    return bytes(
        [
            sum(1 << n for n, part in enumerate(mask) if part),
            *(part for part in mask if part),
            *(low | high << 4 for low, high in zip(lengths[::2], lengths[1::2])),
        ]
    ) + b"".join(data)


def unpack_body(packed: bytes, reference: bytes) -> bytes:
    """The plain body of a packed step; the inverse of pack_body."""
    if struct.unpack_from("<I", packed, 4)[0] != crc32c(reference):
        raise ValueError("the step names an entry of another content")
    data = iter(packed[8:])

    def number() -> int:
        value, shift = 0, 0
        for byte in data:
            value, shift = value | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return value
        raise ValueError("the step ends too soon")

    fixed, tables = _split(reference)
    if next(data):
        like = {(number, words): rows for number, words, rows in reversed(tables)}
        tables = []
        for _ in range(next(data)):
            kind, words, n = next(data), next(data), number()
            found = like.get((kind, words), [])
            tables.append((kind, words, _aligned(words, iter(number, None), n, found)))
    fixed[N_TABLES] = fixed[N_TABLES] & 0xFFFFFFFF | len(tables) << 32
    words = _flat(fixed, tables)
    for begin in range(0, len(words), 64):
        parts = next(data)
        mask = sum(next(data) << 8 * part for part in range(8) if parts >> part & 1)
        which = [n for n in range(64) if mask >> n & 1]
        lengths = [
            half
            for byte in [next(data) for _ in range((len(which) + 1) // 2)]
            for half in (byte & 15, byte >> 4)
        ]
        for n, length in zip(which, lengths):
            code = int.from_bytes(bytes(next(data) for _ in range(length)), "little")
            words[begin + n] = (words[begin + n] + (code >> 1 ^ -(code & 1))) & MASK64
    if any(data):
        raise ValueError("bytes follow the differences")
    fixed, at, rows_of = [word & MASK64 for word in _fixed_again(words[:19])], 19, []
    begin = fixed[BEGIN]
    for kind, width, rows in tables:
        at += 1
        own = [words[at + width * n : at + width * (n + 1)] for n in range(len(rows))]
        rows_of.append((kind, width, [[w & MASK64 for w in _row_again(kind, row, begin)] for row in own]))
        at += width * len(rows)
    return _joined(fixed, rows_of)


def crc32c(data: bytes, seed: int = 0) -> int:
    """CRC-32C of bytes, byte by byte."""
    crc = ~seed & 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _CRC_OF_BYTE[(crc ^ byte) & 0xFF]
    return ~crc & 0xFFFFFFFF


def _crc_of_byte(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_CRC_OF_BYTE = [_crc_of_byte(byte) for byte in range(256)]
