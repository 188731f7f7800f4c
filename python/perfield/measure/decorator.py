# SPDX-License-Identifier: BSD-3-Clause
"""Makes regions of functions: the decorator behind `@perfield.region`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any

from perfield import _recorder


def measured(region: _recorder.Region | None, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function so that each call runs inside a region.

    region : None makes a region named after the function and its class, such as "Solver.advance".
    A generator is inside its region from each resumption to the next yield. Raises TypeError if this is not
    a function. Coroutines raise it too: a region would count their waiting as work.
    """
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"perfield.region decorates functions, not {function!r}")
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(
            f"perfield.region does not decorate the coroutine {function.__qualname__}; "
            "use `with perfield.region(...)` around the work between two awaits"
        )
    inside = _own_region(function) if region is None else region
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(*arguments: Any, **named: Any) -> Generator[Any, Any, Any]:
            return (yield from _resumed_inside(inside, function(*arguments, **named)))

        return generator

    @functools.wraps(function)
    def wrapper(*arguments: Any, **named: Any) -> Any:
        with inside:
            return function(*arguments, **named)

    return wrapper


def _own_region(function: Callable[..., Any]) -> _recorder.Region:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return _recorder.region(name)
    return _recorder.region_at(name, code.co_filename, code.co_firstlineno)


def _resumed_inside(region: _recorder.Region, generator: Generator) -> Generator:
    resume, given = generator.send, None
    try:
        while True:
            with region:
                produced = resume(given)
            try:
                given = yield produced
                resume = generator.send
            except GeneratorExit:
                with region:
                    generator.close()
                raise
            except BaseException as error:
                resume, given = generator.throw, error
    except StopIteration as end:
        return end.value
