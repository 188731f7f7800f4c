# SPDX-License-Identifier: BSD-3-Clause
"""Rules of the repository that a program can check: documentation, headers, words, binaries."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
LICENCE = "SPDX-License-Identifier: BSD-3-Clause"
TOP_LEVEL = {
    "CMakeLists.txt",
    "pyproject.toml",
    "bridge",
    "catalyst_scripts",
    "python",
    "topology",
    "testcase",
    "tests",
    "README.md",
    "LICENSE",
    "SECURITY.md",
    "CHANGELOG.md",
    "Makefile",
    "docs",
    ".ci",
    ".clang-format",
    ".github",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CITATION.cff",
}
# Debian 12 has 2.36, but perfield must also run on today's clusters (RHEL 9 has 2.34).
NEWEST_GLIBC = (2, 34)
EXPORTED = {  # other sources: what their version script says
    "libcatalyst-perfield.so": "catalyst_api_impl",
    "libperfield.so": r"perfield_\w+|cat_sco_\w+",
    "libperfield_openmpi.so": r"P?MPIX?_\w+|mpix?_\w+|dlsym|perfield_behind_openmpi",
    "libperfield_openmpi_mpi3.so": r"P?MPI_\w+|mpi_\w+|dlsym|perfield_behind_openmpi",
    "libperfield_mpich.so": r"P?MPIX?_\w+|mpix?_\w+|dlsym|perfield_behind_mpich",
    "libperfield_mpich_mpi3.so": r"P?MPI_\w+|mpi_\w+|dlsym|perfield_behind_mpich",
    "libperfield_mpi_abi.so": r"P?MPIX?_\w+|dlsym|perfield_behind_mpi_abi",
    "libperfield_inject_mpich.so": r"MPI_\w+|mpi_\w+",
    "libperfield_inject_openmpi.so": r"MPI_\w+|mpi_\w+",
    "libperfield_catalyst.so": r"perfield_catalyst_\w+",
    "libperfield_functions.so": r"__cyg_profile_func_(enter|exit)|dlclose",
    "libperfield_io.so": r"(f|p)?(read|write)(64|_unlocked)?|p?(read|write)v|p(read|write)v(64|2|64v2)"
    r"|__p?read(64)?_chk|__fread(_unlocked)?_chk|fsync|fdatasync|close|dup[23]|fflush|fclose|freopen(64)?"
    r"|pclose|f?puts|fputs_unlocked|f?putc(har)?|_IO_putc|v?f?printf|__v?f?printf_chk|fgets(_unlocked)?"
    r"|__fgets(_unlocked)?_chk|getline|(__)?getdelim|f?getc(har)?|_IO_getc|(__isoc(99|23)_)?v?f?scanf"
    r"|(sendfile|(aio_(read|write)|lio_listio))(64)?|copy_file_range|splice",
    "libperfield_openfoam.so": r"_ZNK?4Foam\w+",
    "libscorep_substrate_Catalyst.so": r"SCOREP_SubstratePlugin_Catalyst_get_info",
    "libscorep_substrate_perfield.so": r"SCOREP_SubstratePlugin_perfield_get_info",
}
IF_HEADERS_ARE_THERE = {"libperfield_cupti.so", "libperfield_mpi_abi.so"}
# The rooms of the measured side, the lowest first. A room includes headers from itself and lower rooms;
# sources include the contract headers only.
ROOMS = (
    "platform",
    "format",
    "waits",
    "configuration",
    "fields",
    "run_directory",
    "summary",
    "recorder",
    "replay",
    "regimes",
    "session",
    "api",
)
CONTRACT = {
    "recorder/file_operations.hpp",
    "recorder/source.h",
    "format/calls.h",
    "format/calls.def",
    "format/peers.h",
    "platform/counter.hpp",
    "platform/elf_symbols.hpp",
    "platform/imports.hpp",
    "platform/kept_file.hpp",
    "platform/threads.hpp",
    "platform/time_namespace.hpp",
}


def tracked_files() -> list[Path]:
    """The files that git tracks."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    try:
        result = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("git is not installed, so the tracked files are not known")
    if result.returncode:
        pytest.skip("this is no git repository, so the tracked files are not known")
    files = [REPOSITORY / name for name in result.stdout.split("\0") if name]
    return [path for path in files if path.exists()]


def public_definitions(path: Path) -> list[tuple[str, str | None]]:
    """(name, docstring) of a module and of its public functions, classes and their public methods."""
    module = ast.parse(path.read_text(), str(path))
    found = [("the module", ast.get_docstring(module))]
    for node in module.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
            continue
        found.append((node.name, ast.get_docstring(node)))
        if isinstance(node, ast.ClassDef):
            found += [
                (f"{node.name}.{method.name}", ast.get_docstring(method))
                for method in node.body
                if isinstance(method, ast.FunctionDef) and not method.name.startswith("_")
            ]
    return found


def test_public_python_names_have_docstrings():
    silent = [
        f"{path.relative_to(REPOSITORY)}: {name}"
        for folder in ("python", "topology")
        for path in sorted((REPOSITORY / folder).rglob("*.py"))
        for name, text in public_definitions(path)
        if not text or "." not in text.partition("\n\n")[0]
    ]
    assert not silent, "without a docstring whose first paragraph has a full stop:\n" + "\n".join(silent)


def test_source_files_begin_with_their_licence():
    suffixes = {".c", ".h", ".cpp", ".hpp", ".def"}
    bare = [
        str(path.relative_to(REPOSITORY))
        for path in tracked_files()
        if path.suffix in suffixes and path.stat().st_size and LICENCE not in path.read_text()[:300]
    ]
    assert not bare, f"the first lines do not hold '{LICENCE}': {bare}"


def test_top_level_holds_only_known_names():
    names = {path.relative_to(REPOSITORY).parts[0] for path in tracked_files()}
    assert names <= TOP_LEVEL, f"not of the top level: {sorted(names - TOP_LEVEL)}"


def test_files_have_no_paths_of_one_machine_and_no_todos():
    # Put together from parts, so that this file does not find itself.
    words = ["/" + "work/", "/" + "root/", "TO" + "DO", "FIX" + "ME", "XX" + "X:"]
    mark_of_conflict = "<" * 7
    forbidden = re.compile("|".join([*words, mark_of_conflict]))
    found = []
    for path in tracked_files():
        if path.suffix in {".xml", ".png", ".pf"}:
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if forbidden.search(line):
                found.append(f"{path.relative_to(REPOSITORY)}:{number}: {line.strip()[:100]}")
    assert not found, "\n".join(found)


def pages() -> list[Path]:
    """The Markdown files of the repository."""
    return [path for path in tracked_files() if path.suffix == ".md"]


def test_readme_has_at_most_100_lines():
    assert len((REPOSITORY / "README.md").read_text().splitlines()) <= 100


def test_lines_of_pages_stay_below_120_characters():
    wide = [
        f"{path.relative_to(REPOSITORY)}:{number}: {len(line)} characters"
        for path in pages()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) >= 120 and not line.lstrip().startswith("|")
    ]
    assert not wide, "\n".join(wide)


def test_relative_links_of_pages_exist():
    broken = []
    for path in pages():
        text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", text):
            if not re.match(r"\w+:", target) and not (path.parent / target).exists():
                broken.append(f"{path.relative_to(REPOSITORY)}: {target}")
    assert not broken, "\n".join(broken)


def included(path: Path) -> list[str]:
    """The headers of other rooms that a C++ file includes, as paths below bridge/."""
    names = re.findall(r'^ *#include "([^"]+)"', path.read_text(), re.MULTILINE)
    return [name for name in names if "/" in name and not name.startswith("include/")]


def test_rooms_include_downwards_only():
    bridge = REPOSITORY / "bridge"
    wrong = []
    for path in tracked_files():
        if bridge not in path.parents or path.suffix not in {".cpp", ".hpp", ".h", ".c"}:
            continue
        room = path.relative_to(bridge).parts[0]
        for name in included(path):
            other = name.split("/")[0]
            if room in ROOMS and other in ROOMS:
                good = ROOMS.index(other) <= ROOMS.index(room)
            elif room == "sources":
                good = other == "sources" or name in CONTRACT
            elif room in ROOMS:  # session loads libperfield_catalyst.so, whose functions this header declares
                good = (room, name) == ("session", "catalyst/catalyst.h")
            else:
                good = True
            if not good:
                wrong.append(f"{path.relative_to(REPOSITORY)} includes {name}")
    assert not wrong, "\n".join(wrong)


def test_rooms_list_their_own_sources():
    wrong = []
    for path in (REPOSITORY / "bridge").rglob("CMakeLists.txt"):
        text = path.read_text()
        if re.search(r"GLOB[^)]*\.cpp|FILTER|\.\./[\w/]*\.cpp", text):
            wrong.append(str(path.relative_to(REPOSITORY)))
    assert not wrong, f"sources of another folder, or found by pattern: {wrong}"


# The compiled modules, whose names users never see, and otf2's number of a definition.
# _repr_html_ is the name that notebooks ask for, and os._exit is documented.
PRIVATE_BUT_KNOWN = {"_bridge", "_recorder", "_ref", "_repr_html_", "_exit"}


def private_names_read(path: Path) -> list[str]:
    """The private names of other objects and modules that a Python file reads, with their lines."""
    found = []
    text = path.read_text()
    if not re.search(r"\._[a-zA-Z]|import [^=]*\b_[a-zA-Z]", text):  # most files: parsing takes longer
        return []
    for node in ast.walk(ast.parse(text, str(path))):
        names = []
        if isinstance(node, ast.Attribute) and not (
            isinstance(node.value, ast.Name) and node.value.id == "self"
        ):
            names = [node.attr]
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
        private = [name for name in names if name.startswith("_") and not name.startswith("__")]
        found += [f"{path.name}:{node.lineno}: {name}" for name in private if name not in PRIVATE_BUT_KNOWN]
    return found


def test_tests_read_no_private_names():
    found = [
        name for path in sorted((REPOSITORY / "tests").rglob("*.py")) for name in private_names_read(path)
    ]
    assert not found, "\n".join(found)


# Folders of tests/ for other parts of the repository than python/perfield, and what helps many tests.
OTHER_TESTS = {
    "bench",
    "bridge",
    "catalyst_scripts",
    "ci",
    "compiled",
    "drivers",
    "faults",
    "fixtures",
    "fuzz",
    "known_runs",
    "multihost",
    "overhead",
    "scale",
    "testcase",
    "topology",
    "twins",
}


def folders(path: str) -> set[str]:
    """Names of the folders that hold tracked files, directly below a path of the repository."""
    below = [
        file.relative_to(REPOSITORY / path) for file in tracked_files() if REPOSITORY / path in file.parents
    ]
    return {file.parts[0] for file in below if len(file.parts) > 1}


def test_folders_of_tests_mirror_the_rooms():
    assert folders("tests/bridge") <= folders("bridge")
    assert folders("tests") - OTHER_TESTS <= folders("python/perfield")


def installed_libraries() -> list[Path]:
    """The installed libraries that are loaded into measured programs."""
    import perfield

    return sorted((Path(perfield.__file__).parent / "lib").rglob("lib*.so"))


def dynamic_symbols(binary: Path) -> str:
    """A binary's dynamic symbols, as objdump prints them."""
    return subprocess.run(["objdump", "-T", binary], capture_output=True, text=True, check=True).stdout


def of_sources() -> dict[str, str]:
    """The library of each folder of a source that makes one of its name, and what it may show."""
    found = {}
    for folder in (REPOSITORY / "bridge/sources").iterdir():
        build = folder / "CMakeLists.txt"
        if build.is_file() and f"perfield_preloaded(perfield_{folder.name} " in build.read_text():
            script = folder / "exports.map"
            shown = (
                re.search(r"global:(.*?);\s*local", script.read_text(), re.S) if script.is_file() else None
            )
            names = re.findall(r"[\w*]+", shown.group(1)) if shown else []
            found[f"libperfield_{folder.name}.so"] = "|".join(name.replace("*", r"\w*") for name in names)
    return found


def test_all_measured_libraries_are_installed():
    expected = EXPORTED.keys() | of_sources().keys()
    assert {path.name for path in installed_libraries()} | IF_HEADERS_ARE_THERE == expected


def test_measured_binaries_need_no_newer_libc_and_no_libstdcpp(bin_dir):
    for binary in [*installed_libraries(), bin_dir / "perfield-exec"]:
        symbols = dynamic_symbols(binary)
        assert not re.search(r"\*UND\*.*(GLIBCXX|CXXABI)_", symbols), f"{binary.name} asks for libstdc++"
        needed = {tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols)}
        is_alias = binary.name == "libscorep_substrate_Catalyst.so"  # needs nothing from the C library
        assert needed or is_alias, f"objdump says no version of the C library for {binary.name}"
        assert not needed or max(needed) <= NEWEST_GLIBC, f"{binary.name} asks for GLIBC {max(needed)}"


def test_measured_libraries_export_only_their_own_names():
    for library in installed_libraries():
        exported = [
            line.split()[-1]
            for line in dynamic_symbols(library).splitlines()
            if re.match(r"[0-9a-f]{16} [ gw]", line) and "*UND*" not in line
        ]
        allowed = {**of_sources(), **EXPORTED}[library.name]
        assert exported or not allowed, f"{library.name} exports nothing"
        foreign = [name for name in exported if not re.fullmatch(allowed, name)]
        assert not foreign, f"{library.name} exports {foreign}"
