# SPDX-License-Identifier: BSD-3-Clause
"""What a function yields or raises in a bounded process, and how it is ended at a bound."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from perfield import bounded_child
from perfield.bounded_child import ChildEndedError, ChildRaisedError, can_start, in_child


def yielded(*values):
    """Runs in the child, as the functions below."""
    print("from a library")
    yield from values
    yield can_start()


def raising(kind):
    yield 1
    raise {"value": ValueError, "system": FileNotFoundError}[kind](f"no\n{kind}")


def taking_memory():
    yield len(bytearray(200 << 20))


def taking_time():
    while True:
        pass
    yield 1


def aborting():
    yield os.getpid()
    os.abort()


def waiting():
    yield os.getpid()
    yield os.read(os.pipe()[0], 1)


def called(function, *arguments, stored=1000, **more):
    """What one of the functions above yields in a child that reads `stored` bytes."""
    name = f"{Path(__file__).stem}:{function.__name__}"  # tests/ is on the path
    return list(in_child(name, list(arguments), [stored], **more))


def test_values_come_back_without_what_libraries_print(capfd):
    assert called(yielded, [1, "ü\n"], {"a": None}) == [[1, "ü\n"], {"a": None}, False]
    assert capfd.readouterr().out == ""


def test_exceptions_come_back_with_their_text():
    with pytest.raises(ChildRaisedError, match="no\nvalue"):
        called(raising, "value")
    with pytest.raises(OSError, match="no\nsystem"):
        called(raising, "system")
    with pytest.raises(ChildEndedError, match="KeyError: 'other'"):
        called(raising, "other")


def test_memory_is_bounded_by_the_size_of_the_input(monkeypatch):
    monkeypatch.setattr(bounded_child, "MOST_UNPACKED", 100 << 20)
    with pytest.raises(ChildEndedError, match=r"more than 105 MB of memory for the 1 kB that its files take"):
        called(taking_memory)
    assert called(taking_memory, stored=8 << 20) == [200 << 20]


def test_processor_time_is_bounded(monkeypatch):
    monkeypatch.setattr(bounded_child, "SMALL_S", 0)
    with pytest.raises(ChildEndedError, match="more than 0 s of processor time for the 1 kB"):
        called(taking_time)


def test_library_that_ends_the_process_is_a_sentence():
    with pytest.raises(ChildEndedError, match="its library ended the process that read it"):
        called(aborting)


def test_waiting_is_bounded():
    with pytest.raises(ChildEndedError, match="it takes more than 1 s"):
        called(waiting, wall_s=1)


def test_child_ends_with_whoever_reads_its_values():
    values = in_child(f"{Path(__file__).stem}:waiting", [], [1])
    child = next(values)
    values.close()
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_function_that_the_other_python_lacks_is_an_import_error():
    with pytest.raises(ImportError, match="perfield_of_tomorrow"):
        list(in_child("perfield_of_tomorrow:read", [], [1]))
