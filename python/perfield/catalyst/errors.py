# SPDX-License-Identifier: BSD-3-Clause
"""How pictures end early, and errors in words."""

from __future__ import annotations


class PicturesEnded(RuntimeError):
    """The pictures end on all ranks; the text says why."""

    is_known = True


class UnfitError(RuntimeError):
    """Pictures cannot be made in this program; the text says why and what to do."""

    is_known = True  # the text explains it, no traceback needed


def reason(error: BaseException) -> str:
    """An error in words without a full stop; its type comes first where the words alone say little."""
    words = str(error).strip().rstrip(".") or type(error).__name__
    if isinstance(error, (ValueError, OSError)) or getattr(error, "is_known", False):
        return words
    return f"{type(error).__name__}: {words}"
