# SPDX-License-Identifier: BSD-3-Clause
"""The module otf2 only prints exceptions of its callbacks; perfield recovers them."""

from __future__ import annotations

import sys
import traceback

import pytest

from perfield.traces.library import quiet_callbacks, reason


def swallow(error: BaseException) -> None:
    """Treats an exception as the module otf2 does in a callback."""
    try:
        raise error
    except BaseException:
        sys.stderr.write("An unhandled python exception has occurred in a callback:\n")
        sys.stderr.write(traceback.format_exc())


def test_ctrl_c_in_a_callback_is_not_lost():
    with pytest.raises(KeyboardInterrupt), quiet_callbacks():
        swallow(KeyboardInterrupt())


def test_reason_is_the_exception_of_the_callback(capsys):
    with quiet_callbacks() as reported:
        swallow(ValueError("no such string"))
    assert reason(RuntimeError("interrupted"), reported) == "ValueError: no such string"
    assert capsys.readouterr().err == ""


def test_reason_is_the_librarys_without_an_exception():
    with quiet_callbacks() as reported:
        pass
    assert reason(RuntimeError("file too short"), reported) == "file too short"
    unknown = RuntimeError("INVALID (1): Unknown error code")
    assert reason(unknown, reported) == "the library otf2 gives no reason"
