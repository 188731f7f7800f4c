# SPDX-License-Identifier: BSD-3-Clause
"""How many bytes the arrays of a VTK file take, by their headers, before VTK takes them.

An array of a compressed XML file begins with n, u, p and the n sizes of its packed blocks: n - 1 blocks of u
bytes and one of p, or n of u where p is 0. Source: VTK's documentation of its XML formats, "compressed data".
"""

from __future__ import annotations

import base64
import math
import re
from pathlib import Path

from perfield.bounded_child import LARGEST_RATIO, MOST_UNPACKED
from perfield.catalyst_scripts.safe_open import safe_open
from perfield.text import in_bytes

MOST_FILE = 256 << 20  # bytes of a file that is looked at: a larger one costs its owner something
_HEAD = re.compile(rb"<VTKFile\b[^>]*>")
_ARRAY = re.compile(rb"<(?:DataArray|Array)\b[^>]*>")
_SECTION = re.compile(
    rb"<(Piece|Points|Coordinates|PointData|CellData|FieldData|Cells|Verts|Lines|Strips|Polys|DataArray)\b[^>]*>"
)
_COUNTS = re.compile(
    rb"^(?:POINTS|CELLS|CELL_TYPES|POLYGONS|LINES|VERTICES|TRIANGLE_STRIPS|POINT_DATA|CELL_DATA|"
    rb"[XYZ]_COORDINATES) +(\d{1,19})(?: +(\d{1,19}))?"
    rb"|^\S+ +\d+ +(\d{1,19}) +[a-z_]+\s*$",  # an array of a FIELD
    re.MULTILINE,
)
_APPENDED = re.compile(rb"<AppendedData\b([^>]*)>[^_]*_")


def check_unpacked_size(path: Path) -> None:
    """Raises ValueError, with both sizes, if a small file would unpack to more memory than it may."""
    with safe_open(path, most=None) as file:
        data = file.read(MOST_FILE + 1)
    if len(data) > MOST_FILE:
        return
    unpacked = max(unpacked_size(data), claimed_size(data))
    if unpacked > max(MOST_UNPACKED, LARGEST_RATIO * len(data)):
        raise ValueError(
            f"its arrays take {in_bytes(unpacked)}, expected at most {LARGEST_RATIO} times its "
            f"{in_bytes(len(data))}, or {in_bytes(MOST_UNPACKED)}"
        )


def check_legacy_counts(path: Path) -> None:
    """Raises ValueError, with both numbers, if a legacy VTK file counts more items than it has bits."""
    with safe_open(path, most=None) as file:
        data = file.read(MOST_FILE + 1)
    if len(data) > MOST_FILE:
        return
    for count in (int(number) for found in _COUNTS.findall(data) for number in found if number):
        if count > 8 * len(data):
            raise ValueError(f"it states {count:,} items, expected less than its {8 * len(data):,} bits")


def claimed_size(data: bytes) -> int:
    """Bytes that the arrays of a VTK XML file take by the points and cells that its pieces state."""
    size, points, cells, count = 0, 0, 0, 0
    appended = _APPENDED.search(data)
    for found in _SECTION.finditer(data, 0, appended.start() if appended else len(data)):
        name, tag = found[1], found[0]
        if name == b"Piece":
            points, cells = _stated(tag)
        elif name == b"DataArray":
            components = _attribute(tag, b"NumberOfComponents")
            bits = re.search(rb"\d+$", _attribute(tag, b"type"))
            width = int(bits[0][:3]) // 8 if bits else 1
            size += count * width * (int(components[:9]) if components.isdigit() else 1)
        else:
            counts = {b"Points": points, b"PointData": points, b"Coordinates": 0, b"FieldData": 0}
            count = counts.get(name, cells)
    return size


def _stated(tag: bytes) -> tuple[int, int]:
    """Points and cells of a piece, by its numbers or its extent."""
    extent = [int(number[:19]) for number in re.findall(rb"-?\d+", _attribute(tag, b"Extent"))]
    if len(extent) == 6:
        sides = [max(high - low, 0) for low, high in zip(extent[::2], extent[1::2])]
        return math.prod(side + 1 for side in sides), math.prod(max(side, 1) for side in sides)
    names = (b"NumberOf" + kind for kind in (b"Cells", b"Verts", b"Lines", b"Strips", b"Polys"))
    points, *cells = (
        int(number[:19]) if number.isdigit() else 0
        for number in (_attribute(tag, name) for name in (b"NumberOfPoints", *names))
    )
    return points, sum(cells)


def unpacked_size(data: bytes) -> int:
    """Bytes of all compressed arrays of a VTK XML file; 0 where none is compressed."""
    head = _HEAD.search(data, 0, 4096)
    if head is None or b"compressor" not in head[0]:
        return 0
    width = 8 if _attribute(head[0], b"header_type") == b"UInt64" else 4
    order = "big" if _attribute(head[0], b"byte_order") == b"BigEndian" else "little"
    appended = _APPENDED.search(data)
    is_base64 = appended is not None and _attribute(appended[1], b"encoding") != b"raw"
    size = 0
    for array in _ARRAY.finditer(data, 0, appended.start() if appended else len(data)):
        kind = _attribute(array[0], b"format")
        if kind == b"binary":
            begin = data[array.end() : array.end() + 200].lstrip()
            size += _size_of_array(_decoded(begin[: 4 * width]), width, order)
        elif kind == b"appended" and appended is not None:
            offset = _attribute(array[0], b"offset")
            at = appended.end() + int(offset if offset.isdigit() and len(offset) < 19 else 0)
            begin = data[at : at + 4 * width]  # three numbers, in base64 exactly
            size += _size_of_array(_decoded(begin) if is_base64 else begin, width, order)
    return size


def _attribute(tag: bytes, name: bytes) -> bytes:
    found = re.search(rb"\b" + name + rb"\s*=\s*[\"']([^\"']*)[\"']", tag)
    return found[1] if found else b""


def _decoded(text: bytes) -> bytes:
    """The bytes of the base64 with which a text begins."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""


def _size_of_array(begin: bytes, width: int, order: str) -> int:
    if len(begin) < 3 * width:
        return 0
    n, size, last = (int.from_bytes(begin[width * at : width * (at + 1)], order) for at in range(3))
    return n * size if not last else max(n - 1, 0) * size + last
