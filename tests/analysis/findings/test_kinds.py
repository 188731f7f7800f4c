# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of findings: each question lists its own, so that conditions and JSON know all of them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from perfield.analysis.findings import QUESTIONS

ALL = {kind for module in QUESTIONS for kind in module.KINDS}


def strings_of(module) -> tuple[set[str], set[str]]:
    """Strings of a module's functions: the kinds that it gives to Finding, and all strings."""
    tree = ast.parse(Path(module.__file__).read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    inside = [node for function in functions for node in ast.walk(function)]
    calls = [node for node in inside if isinstance(node, ast.Call) and ast.unparse(node.func) == "Finding"]
    given = [word.value for call in calls for word in call.keywords if word.arg == "kind"]
    kinds = {value.value for value in given if isinstance(value, ast.Constant)}
    return kinds, {node.value for node in inside if isinstance(node, ast.Constant)}


@pytest.mark.parametrize("module", QUESTIONS, ids=lambda module: module.__name__.rpartition(".")[2])
def test_question_lists_the_kinds_of_its_findings(module):
    kinds, reported = strings_of(module)
    assert kinds <= set(module.KINDS)
    assert reported & ALL == set(module.KINDS)


@pytest.mark.parametrize("module", QUESTIONS, ids=lambda module: module.__name__.rpartition(".")[2])
def test_question_may_be_answered_by_no(module):
    assert module.QUESTION.split()[0] in {"Do", "Does", "Is", "Are"}
