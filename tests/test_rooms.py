# SPDX-License-Identifier: BSD-3-Clause
"""The rooms of python/perfield import downwards only, and no files import each other in a circle.

Imports inside functions and for types count, too. `python tests/test_rooms.py` prints what is known.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGES = {"perfield": REPOSITORY / "python/perfield", "perfield.topology": REPOSITORY / "topology"}
COMPILED = {"_bridge", "_recorder"}


def rooms() -> dict[str, set[str]]:
    """By name of each room, itself and all rooms that it may use, as the table in docs/design.md says."""
    rows = re.findall(
        r"^\| `(?:python/perfield/)?((?:studies/)?\w+)/` \| .* \| (.*) \|$",
        (REPOSITORY / "docs/design.md").read_text(),
        re.MULTILINE,
    )
    known: dict[str, set[str]] = {}
    for name, uses in rows:  # the lowest first: a room uses those above it in the table
        named = set(known) if uses == "all of Python" else set(re.findall(r"[\w/]+", uses)) & set(known)
        known[name] = {name}.union(*(known[other] for other in named))
    return known


ROOMS = rooms()


@cache
def trees() -> dict[str, ast.Module]:
    """The source of each module, by its name; packages end in __init__."""
    return {
        ".".join((package, *path.relative_to(folder).with_suffix("").parts)): ast.parse(path.read_text())
        for package, folder in PACKAGES.items()
        for path in sorted(folder.rglob("*.py"))
    }


def statements(block: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The statements of a block and of all blocks in it, without their expressions, which import nothing."""
    for node in block:
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, name, ()))


@cache
def imports() -> dict[str, set[str]]:
    """By name of each module of perfield, the modules of perfield that it imports."""
    modules = {name.removesuffix(".__init__"): tree for name, tree in trees().items()}
    return {name: set(imported(tree, modules)) - {name} for name, tree in modules.items()}


def imported(tree: ast.Module, modules: Collection[str]) -> Iterator[str]:
    """The modules that a module imports, wherever the statement is."""
    for node in statements(tree.body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module in modules:
            names = (f"{node.module}.{alias.name}" for alias in node.names if alias.name not in COMPILED)
            yield from (name if name in modules else node.module for name in names)


def room(module: str) -> str:
    """The room of a module; "" for files beside the rooms."""
    first, second = [*module.split("."), "", ""][1:3]
    name = f"{first}/{second}" if first == "studies" else first
    return name if name in ROOMS else ""


def upward(known: dict[str, set[str]]) -> set[tuple[str, str]]:
    """Imports from a room that the module's room may not use: which module, and what it imports."""
    return {
        (module, other)
        for module, others in known.items()
        for other in others
        if room(module) and room(other) and room(other) not in ROOMS[room(module)]
    }


def circles(known: dict[str, set[str]]) -> list[set[str]]:
    """Modules that import each other, by way of others or not; the largest first."""
    reached = {name: set(others) for name, others in known.items()}
    for middle in known:
        for name in known:
            if middle in reached[name]:
                reached[name] |= reached[middle]
    found = {frozenset(other for other in reached[name] if name in reached[other]) for name in known}
    return sorted((set(circle) for circle in found if circle), key=len, reverse=True)


def test_each_room_is_in_the_table():
    packages = {path.parent.name for path in PACKAGES["perfield"].glob("*/__init__.py")} - {"studies"}
    studies = {f"studies/{path.parent.name}" for path in PACKAGES["perfield"].glob("studies/*/__init__.py")}
    assert packages | studies | {"topology"} <= set(ROOMS)


def test_rooms_import_what_the_table_says():
    assert not upward(imports())


def test_only_studies_import_studies():
    from_outside = {
        (module, other)
        for module, others in imports().items()
        for other in others
        if room(other).startswith("studies/") and not room(module).startswith("studies/")
    }
    assert not from_outside


def is_model(module: str) -> bool:
    """Whether a module is part of the model of a study, which obeys the rules of `analysis`."""
    return bool(re.match(r"perfield\.studies\.\w+\.model\b", module))


def test_analysis_opens_no_files_and_knows_no_runs():
    assert not ROOMS["analysis"] & {"run", "derived"}
    opens = re.compile(r"\b(open|Path|safe_open|np\.load|np\.save)\(|\.(read|write)_(text|bytes)\(")
    folders = [PACKAGES["perfield"] / "analysis", *PACKAGES["perfield"].glob("studies/*/model")]
    assert not [path for folder in folders for path in folder.rglob("*.py") if opens.search(path.read_text())]


def test_models_of_studies_use_what_analysis_uses():
    known = {name: others for name, others in imports().items() if is_model(name)}
    allowed = ROOMS["analysis"] | {""}
    used = {(name, other) for name, others in known.items() for other in others if not is_model(other)}
    assert known and not {(name, other) for name, other in used if room(other) not in allowed}


def test_pages_import_from_perfield_itself_what_concerns_runs():
    deeper = re.compile(r"^(from|import) perfield\.(run|derived)\b", re.MULTILINE)
    pages = [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]
    assert not [page.name for page in pages if deeper.search(page.read_text())]


def test_imports_against_the_table_are_found():
    known = {
        "perfield.analysis.steps": {"perfield.run.frame"},
        "perfield.plots.style": {"perfield.run.frame"},
    }
    assert upward(known) == {("perfield.analysis.steps", "perfield.run.frame")}


def test_no_files_import_each_other_in_a_circle():
    assert not circles(imports())


def test_circles_are_found():
    known = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}
    assert circles(known) == [{"a", "b", "c"}]


# --- imports inside functions ---------------------------------------------------------------------

# Optional, or slow to load. perfield.plots and perfield.pictures refuse to load without matplotlib or VTK.
HEAVY = {
    *(
        "bokeh",
        "dask",
        "distributed",
        "elftools",
        "h5py",
        "jinja2",
        "kahip",
        "matplotlib",
        "meshio",
        "mpi4py",
    ),
    *("networkx", "otf2", "pandas", "paraview", "perfetto", "PIL", "rich", "scipy", "vtkmodules", "xarray"),
    *("zarr", "perfield.plots"),
}


def named(node: ast.stmt, module: str, known: Collection[str]) -> list[str]:
    """What a statement imports: packages by their first name, modules of perfield by all of it."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    around = module.split(".")[: -node.level] if node.level else []
    origin = ".".join([*around, *[node.module] * bool(node.module)])
    names = [f"{origin}.{alias.name}" for alias in node.names if alias.name not in COMPILED]
    return [name if as_file(name, known) in known else origin for name in names]


def brought(known: dict[str, ast.Module]) -> dict[str, set[str]]:
    """By module, the heavy packages that loading it brings, by way of others or not."""
    loads: dict[str, set[str]] = {}
    for module, tree in known.items():
        nodes = [node for node in tree.body if not (isinstance(node, ast.If) and is_for_types(node))]
        names = {name for node in nodes for name in named(node, module, known)}
        parents = {module.rsplit(".", n)[0] for n in range(1, module.count("."))}
        loads[module] = {as_file(name, known) for name in names | parents} - {module}
    heavy = {
        module: {one for one in HEAVY for name in {module, *names} if f"{name}.".startswith(f"{one}.")}
        for module, names in loads.items()
    }
    grows = True
    while grows:
        more = {
            module: heavy[module].union(*(heavy.get(name, ()) for name in loads[module])) for module in heavy
        }
        grows, heavy = more != heavy, more
    return heavy


def is_for_types(node: ast.If) -> bool:
    """Whether only type checkers run it."""
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def as_file(name: str, known: Collection[str]) -> str:
    """A module's name in `known`."""
    return f"{name}.__init__" if f"{name}.__init__" in known else name


def late(known: dict[str, ast.Module]) -> set[tuple[str, str]]:
    """Imports inside functions of modules that bring nothing heavy: which module, and what it imports.

    Commands are left out: `perfield --help` loads all of them.
    """
    heavy = brought(known)
    found = set()
    for module, tree in known.items():
        is_command = ".commands." in module or (
            ".studies." in module and module.endswith(("command", ".comparison"))
        )
        if is_command:
            continue
        inside = {
            name
            for function in statements(tree.body)
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
            for node in statements(function.body)
            for name in named(node, module, known)
        }
        names = {as_file(name, known) for name in inside}
        found |= {(module, name) for name in names & set(known) if heavy[name] <= heavy[module]}
    return found


def test_functions_import_only_what_is_heavy():
    assert late(trees()) == set()


def test_late_imports_of_what_is_light_are_found():
    known = {
        "perfield.text.words": ast.parse("import re"),
        "perfield.analysis.fit": ast.parse("from scipy import stats"),
        "perfield.run.frame": ast.parse(
            "def f():\n    from perfield.text.words import a\n    from perfield.analysis.fit import b"
        ),
    }
    assert late(known) == {("perfield.run.frame", "perfield.text.words")}


if __name__ == "__main__":
    known = imports()
    sys.stdout.writelines(f"{module} imports {other}\n" for module, other in sorted(upward(known)))
    sys.stdout.writelines(f"{len(circle)} in a circle: {sorted(circle)}\n" for circle in circles(known))
