# SPDX-License-Identifier: BSD-3-Clause
"""perfield/_bridge.pyi matches the compiled module: names, arguments and defaults."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from perfield import _bridge

STUB = ast.parse((Path(__file__).resolve().parents[3] / "python/perfield/_bridge.pyi").read_text())
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
PLAIN = ("__init__", "__len__")  # names that pybind11 also gives to classes, but that are ours here


def functions(body: list[ast.stmt]) -> dict[str, ast.FunctionDef]:
    """The functions and properties that a module or class of the stub declares."""
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def is_property(node: ast.FunctionDef) -> bool:
    return any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list)


def arguments_of(node: ast.FunctionDef) -> list[tuple[str, object]]:
    """(name, default or "needed") of a function of the stub."""
    names = [argument.arg for argument in node.args.args]
    defaults = [ast.literal_eval(default) for default in node.args.defaults]
    return list(zip(names, ["needed"] * (len(names) - len(defaults)) + defaults))


def arguments_in_docstring(function: object, name: str) -> list[tuple[str, object]]:
    """Likewise for a compiled function, from the signature that begins its pybind11 docstring."""
    signature = ast.parse(
        f"def {function.__doc__.splitlines()[0]}: ...".replace(f"def {name}", "def f")
    ).body[0]
    return arguments_of(signature)


def test_the_stub_has_the_names_of_the_module():
    variables = {node.target.id for node in STUB.body if isinstance(node, ast.AnnAssign)}
    declared = {*functions(STUB.body), *CLASSES, *variables}
    assert declared == {name for name in dir(_bridge) if not name.startswith("__")}
    for name, node in CLASSES.items():
        there = {n for n in vars(getattr(_bridge, name)) if not n.startswith("_") or n in PLAIN}
        assert set(functions(node.body)) == there


@pytest.mark.parametrize("name", functions(STUB.body))
def test_function_takes_the_arguments_of_the_stub(name):
    assert arguments_of(functions(STUB.body)[name]) == arguments_in_docstring(getattr(_bridge, name), name)


@pytest.mark.parametrize("name", CLASSES)
def test_class_has_the_members_of_the_stub(name):
    for member, node in functions(CLASSES[name].body).items():
        thing = getattr(getattr(_bridge, name), member)
        assert isinstance(thing, property) == is_property(node), member
        if not is_property(node):
            assert arguments_of(node) == arguments_in_docstring(thing, member)


def test_variables_have_the_types_of_the_stub():
    assert re.fullmatch(r"\d+\.\d+\.\d+", _bridge.version)
