# SPDX-License-Identifier: BSD-3-Clause
"""The table of requests: what each path answers. No path of a request ever becomes the path of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qsl

import numpy as np

from perfield.run.errors import RunError
from perfield.serve import findings, messages, one_rank
from perfield.serve import values as of_values
from perfield.serve.about import about
from perfield.serve.compared import compared
from perfield.serve.followed import Followed, View, has_vtk, without_vtk
from perfield.serve.inside import OutsideError
from perfield.serve.packed import as_json, packed
from perfield.serve.timeline import timeline

OTHER = "other/"  # before the name of a request for the run beside the one that is shown
JSON, BINARY, PAGE = "application/json", "application/octet-stream", "text/html; charset=utf-8"


@dataclass(frozen=True)
class Answer:
    """body : bytes of a kind, with an HTTP status."""

    body: bytes
    kind: str = JSON
    status: int = HTTPStatus.OK


class RequestError(ValueError):
    """A request asks for what is not there, or asks wrongly; the text says what can be asked for."""

    def __init__(self, sentence: str, status: int = HTTPStatus.BAD_REQUEST):
        super().__init__(sentence)
        self.status = status


class Query:
    """The part of a request behind the question mark; each name at most once."""

    def __init__(self, text: str):
        try:
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=20)
        except ValueError:
            raise RequestError("the request has more than 20 parts behind the question mark.") from None
        self._values = dict(pairs)
        if len(self._values) < len(pairs):
            raise RequestError("the request names something twice behind the question mark; name it once.")

    def check(self, names: Sequence[str]) -> None:
        """Raises RequestError if the request names what this answer does not depend on."""
        for name in self._values:
            if name not in names:
                known = f"known are {', '.join(names)}" if names else "nothing is known"
                raise RequestError(f"'{name[:40]}' is unknown in this request; {known}.")

    def text(self, name: str) -> str:
        """A value that must be there."""
        if name not in self._values:
            raise RequestError(f"'{name}' is missing in the request: add ?{name}=...")
        return self._values[name]

    def number(self, name: str, least: int, most: int, default: int | None = None) -> int:
        """A whole number from `least` to `most`."""
        if default is not None and name not in self._values:
            return default
        text = self.text(name)
        if text.isascii() and text.isdigit() and len(text) < 19 and least <= int(text) <= most:
            return int(text)
        expected = f"a whole number from {least} to {most}" if least <= most else "one that the run has"
        missing = HTTPStatus.NOT_FOUND if text.isdigit() else HTTPStatus.BAD_REQUEST
        raise RequestError(f"{name}={text[:40]!r} is not there; expected {expected}.", missing)

    def get(self, name: str) -> str | None:
        """A value, or None."""
        return self._values.get(name)


def answer(followed: Followed, name: str, text: str) -> Answer:
    """Answers the request /api/NAME?TEXT. Errors become sentences in JSON: {"error": ...}."""
    if name.startswith(OTHER) and followed.other is not None:
        followed, name = followed.other, name[len(OTHER) :]
    try:
        if name not in API:
            raise RequestError(
                f"there is no /api/{name[:40]}; there are {', '.join(API)}.", HTTPStatus.NOT_FOUND
            )
        return API[name](followed.view(), Query(text))
    except RequestError as error:
        return failure(str(error), error.status)
    except OutsideError as error:
        return failure(str(error), HTTPStatus.FORBIDDEN)
    except of_values.TooMuchError as error:
        return failure(str(error), HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    except (RunError, ValueError) as error:  # MeshError is a ValueError
        return failure(str(error), HTTPStatus.NOT_FOUND)
    except OSError as error:
        return failure(
            f"the run cannot be read now ({error.strerror or error}); its files may have been moved.",
            HTTPStatus.SERVICE_UNAVAILABLE,
        )


def failure(sentence: str, status: int) -> Answer:
    """An error in words."""
    return Answer(as_json({"error": sentence}), JSON, status)


def _run(view: View, query: Query) -> Answer:
    if query.get("since") == str(view.version):
        return Answer(as_json({"version": view.version, "unchanged": True}))
    return Answer(view.answers.get(("about", view.version), lambda: as_json(about(view))))


def _frame(view: View, query: Query, name: str = "frame") -> int:
    return query.number(name, 0, len(view.run) - 1)


def _span(view: View, query: Query) -> tuple[int, int]:
    n_frames = len(view.run)
    end = query.number("to", 0, n_frames, n_frames)
    begin = query.number("from", 0, end, 0)
    return begin, end


def _field(view: View, query: Query) -> str:
    name = query.text("field")
    if name not in view.names:
        raise RequestError(
            f"the run has no field '{name[:80]}'; /api/run lists its fields.", HTTPStatus.NOT_FOUND
        )
    return name


def _values(view: View, query: Query) -> Answer:
    return Answer(of_values.values(view, _field(view, query), *_span(view, query)), BINARY)


def _heat(view: View, query: Query) -> Answer:
    return Answer(of_values.heat(view, _field(view, query)), BINARY)


def _mesh(view: View, query: Query) -> Answer:
    _need_vtk("The mesh")
    from perfield.pictures.blocks import MeshMissingError
    from perfield.serve.surface import mesh

    version = query.number("version", 0, int(np.iinfo(np.int32).max), 0)
    try:
        return Answer(mesh(view, version), BINARY)
    except MeshMissingError as error:
        if version not in view.first_of_mesh:
            raise
        return Answer(packed({}, reason=str(error)), BINARY)  # a browser logs a 404 as an error of the page


def _slice(view: View, query: Query) -> Answer:
    _need_vtk("The mesh")
    from perfield.serve.surface import slice_of

    version = query.number("version", 0, int(np.iinfo(np.int32).max))
    share = query.number("permille", 0, 1000) / 1000
    own = (query.text("field"), _frame(view, query)) if query.get("field") is not None else ()
    return Answer(slice_of(view, version, query.number("axis", 0, 2), share, *own), BINARY)


def _own(view: View, query: Query) -> Answer:
    _need_vtk("The mesh")
    from perfield.serve.surface import own_field

    return Answer(own_field(view, query.text("field"), _frame(view, query)), BINARY)


def _machine(view: View, query: Query) -> Answer:
    _need_vtk("The picture of the machine")
    from perfield.serve.machine import LEAST, MOST, USUAL, machine

    wanted = query.number("overview", 0, 1, 2)
    size = tuple(query.number(side, LEAST, MOST, usual) for side, usual in zip(("wide", "high"), USUAL))
    return Answer(machine(view, None if wanted == 2 else bool(wanted), size), BINARY)


def _messages(view: View, query: Query) -> Answer:
    top = query.number("top", 0, messages.MOST_PAIRS, messages.MOST_PAIRS)
    return Answer(messages.of_frame(view, _frame(view, query), top), BINARY)


def _matrix(view: View, query: Query) -> Answer:
    return Answer(messages.matrix(view, *_span(view, query)), BINARY)


def _timeline(view: View, query: Query) -> Answer:
    return Answer(timeline(view, _frame(view, query)), BINARY)


def _rank(view: View, query: Query) -> Answer:
    return Answer(as_json(one_rank.one_rank(view, query.number("rank", 0, view.run.n_ranks - 1))))


def _findings(view: View, query: Query) -> Answer:
    return Answer(findings.findings(view))


def _compare(view: View, query: Query) -> Answer:
    before, after = ((0, len(one.run)) for one in (view.other.view() if view.other else view, view))
    ends = [
        query.number(name, least, most)
        for name, least, most in (
            ("before", 0, before[1] - 1),
            ("before_end", 1, before[1]),
            ("after", 0, after[1] - 1),
            ("after_end", 1, after[1]),
        )
    ]
    if ends[0] >= ends[1] or ends[2] >= ends[3]:
        raise RequestError("a part of the steps ends before it begins; before_end and after_end come later.")
    key = "compared", view.version, view.other.view().version if view.other else 0, *ends
    spans = (ends[0], ends[1]), (ends[2], ends[3])
    return Answer(view.answers.get(key, lambda: as_json(compared(view, *spans))))


def _report(view: View, query: Query) -> Answer:
    return Answer(findings.report(view), PAGE)


def _need_vtk(what: str) -> None:
    if not has_vtk():
        raise RequestError(without_vtk(what), HTTPStatus.NOT_FOUND)


def _row(make: Callable[[View, Query], Answer], *names: str) -> Callable[[View, Query], Answer]:
    """An answer to requests with no names but these behind the question mark."""

    def answered(view: View, query: Query) -> Answer:
        query.check(names)
        return make(view, query)

    return answered


API: Mapping[str, Callable[[View, Query], Answer]] = {
    "run": _row(_run, "since"),
    "values": _row(_values, "field", "from", "to"),
    "heat": _row(_heat, "field"),
    "mesh": _row(_mesh, "version"),
    "slice": _row(_slice, "version", "axis", "permille", "field", "frame"),
    "own": _row(_own, "field", "frame"),
    "machine": _row(_machine, "overview", "wide", "high"),
    "messages": _row(_messages, "frame", "top"),
    "matrix": _row(_matrix, "from", "to"),
    "timeline": _row(_timeline, "frame"),
    "rank": _row(_rank, "rank"),
    "findings": _row(_findings),
    "compare": _row(_compare, "before", "before_end", "after", "after_end"),
    "report": _row(_report),
}
