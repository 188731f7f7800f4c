# SPDX-License-Identifier: BSD-3-Clause
"""Reads the links that Omni-Path's `opareport` prints (-o links, -o topology, or -o snapshot), text or XML.

As text, a link is two lines; the second begins with `<->`:
    Rate NodeGUID          Port Type Name
    100g 0x00117501010a1234   1 FI   n1 hfi1_0
    <->  0x00117501020b5678  12 SW   edge1
As XML, it is an element <Link> with two ends, each with its NodeGUID.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from .fabric import Fabric
from .model import Network

_END = re.compile(r"^[ \t]*(\S+)[ \t]+(0x[0-9a-fA-F]+)[ \t]+\d+[ \t]+(FI|SW)[ \t]*(.*)$")
_ANY = re.compile(r"^[ \t]*<->[ \t]+0x[0-9a-fA-F]+[ \t]+\d+[ \t]+(?:FI|SW)\b", re.MULTILINE)
_ROOT = re.compile(r"<(Report|Snapshot)\b")
_CHUNK = 1 << 20


def is_opareport(text: str) -> bool:
    """Whether a text is a report as XML, or has a line of the second end of a link."""
    return _is_xml(text) or _ANY.search(text) is not None


def read_opareport(text: str, source: str) -> Network:
    """The network that the text describes; lines and elements of other kinds are left out."""
    fabric = Fabric()
    notes = _read_xml(text, source, fabric) if _is_xml(text) else _read_lines(text, fabric)
    return fabric.network(source).with_notes(notes)


def _is_xml(text: str) -> bool:
    beginning = text[:2000].lstrip()
    return beginning.startswith("<") and _ROOT.search(beginning) is not None


def _read_lines(text: str, fabric: Fabric) -> tuple[str, ...]:
    first = ""
    for line in text.split("\n"):
        found = _END.match(line)
        if not found:
            continue  # details of the link or of its cable
        prefix, guid, kind, description = found.groups()
        fabric.part(guid, kind == "SW", description)
        if prefix == "<->" and first:
            fabric.cable(first, guid)
        first = "" if prefix == "<->" else guid
    return ()


def _read_xml(text: str, source: str, fabric: Fabric) -> tuple[str, ...]:
    """Reads all elements before the first fault, which becomes a note."""
    parser = XMLPullParser(("end",))
    try:
        for at in range(0, len(text), _CHUNK):
            parser.feed(text[at : at + _CHUNK])
            _take(parser, fabric)
        parser.close()
        _take(parser, fabric)
    except (ParseError, ValueError, LookupError) as error:
        line = getattr(error, "position", (1, 0))[0]
        return (
            f"{source}, line {line}: the XML ends or breaks here ({error}); later links are not shown. "
            "Write the report again.",
        )
    return ()


def _take(parser: XMLPullParser, fabric: Fabric) -> None:
    for _, element in parser.read_events():
        guid = _text(element, "NodeGUID")
        if guid and (element.find("NodeDesc") is not None or element.find("NodeType") is not None):
            fabric.part(guid, _text(element, "NodeType") == "SW", _text(element, "NodeDesc"))
        if element.tag == "Link":
            ends = [(end.text or "").strip() for end in element.iter("NodeGUID")]
            if len(ends) == 2:
                fabric.cable(*ends)
            element.clear()


def _text(element: Element, tag: str) -> str:
    return (element.findtext(tag) or "").strip()
