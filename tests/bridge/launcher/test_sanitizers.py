# SPDX-License-Identifier: BSD-3-Clause
"""Programs built with a sanitizer or another malloc: they start, find what they find bare, are measured."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from compiled.c_programs import c_program, mpi_program
from conftest import exports

import perfield

# Argument 1 plants the error of a sanitizer.
SERIAL = c_program(
    """
  if (argc > 1) planted(argv[1][0]);
  perfield_initialize();
  for (int s = 0; s < 3; ++s) {
    perfield_begin("work"); free(malloc(100)); perfield_end("work");
    perfield_step(s, s);
  }
  perfield_finalize();
  printf("LD_PRELOAD=%s\\n", getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "");
""",
    before="""
#include <fcntl.h>
#include <pthread.h>
static int shared;
static void* add(void* unused) { for (int i = 0; i < 1000; ++i) ++shared; return unused; }
static void planted(char kind) {
  volatile int shift = 40;
  char* memory = malloc(10);
  pthread_t threads[2];
  if (kind == 'a' && read(open("/etc/passwd", O_RDONLY), memory, 11) == 11) puts("overflowed");
  if (kind == 't')
    for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, add, NULL);
  if (kind == 't')
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  if (kind == 'u') printf("%d\\n", 1 << shift);
  if (kind == 'l') memory = NULL;
  free(memory);
}
""",
)
PARALLEL = mpi_program("""
  perfield_initialize();
  for (int s = 0; s < 3; ++s) {
    int out = s, in;
    MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, 0, &in, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    perfield_step(s, s);
  }
""")
CLANGS_FOLDER = "$CLANG"  # stands for the folder of Clang's runtimes
BUILDS = {
    "address": ("gcc", "-fsanitize=address"),
    "address, static": ("gcc", "-fsanitize=address", "-static-libasan"),
    "address and undefined": ("gcc", "-fsanitize=address,undefined"),
    "thread": ("gcc", "-fsanitize=thread"),
    "thread, static": ("gcc", "-fsanitize=thread", "-static-libtsan"),
    "undefined": ("gcc", "-fsanitize=undefined"),
    "undefined, static": ("gcc", "-fsanitize=undefined", "-static-libubsan"),
    "leak": ("gcc", "-fsanitize=leak"),
    "clang, address": ("clang", "-fsanitize=address"),
    "clang, address, shared": (
        "clang",
        "-fsanitize=address",
        "-shared-libsan",
        f"-Wl,-rpath,{CLANGS_FOLDER}",
    ),
    "clang, thread": ("clang", "-fsanitize=thread"),
    "clang, undefined": ("clang", "-fsanitize=undefined"),
    "clang, leak": ("clang", "-fsanitize=leak"),
}
WHOLE_STACKS = {
    f"{name}SAN_OPTIONS": "fast_unwind_on_malloc=0" for name in ("A", "L")
}  # perfield keeps no frame pointers


@pytest.fixture(scope="session")
def sanitized(perfield_flags, tmp_path_factory):
    """sanitized(text, build, *flags, command=None): a program; skips without its compiler.

    build : a key of BUILDS. command : an MPI's compiler, which calls the one of BUILDS. Equal calls compile
    only once.
    """

    @functools.cache
    def make(text: str, build: str, *flags: str, command: str | None = None) -> Path:
        compiler, *own = BUILDS[build]
        if shutil.which(compiler) is None:
            pytest.skip(f"{compiler} is not installed")
        if compiler == "clang":
            asked = subprocess.run(
                ["clang", "-print-runtime-dir"], capture_output=True, text=True, check=True
            )
            own = [flag.replace(CLANGS_FOLDER, asked.stdout.strip()) for flag in own]
        folder = tmp_path_factory.mktemp("sanitized")
        (folder / "program.c").write_text(text)
        words = [command or compiler, "-g", "-pthread", *perfield_flags("--cflags"), folder / "program.c"]
        made = subprocess.run(
            [*map(str, words), "-o", str(folder / "program"), *own, *flags],
            env={**os.environ, "OMPI_CC": compiler, "MPICH_CC": compiler},
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            pytest.skip(f"{compiler} has no runtime for {build}:\n{made.stderr}")
        return folder / "program"

    return make


@pytest.fixture(scope="session")
def libasan() -> str:
    """The path of GCC's shared runtime of AddressSanitizer."""
    found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    path = Path(found.stdout.strip())
    if not path.is_absolute():
        pytest.skip("gcc has no shared runtime of AddressSanitizer")
    return str(path.resolve())


def steps_in(folder: Path) -> int:
    """The number of steps of the run in a folder."""
    return len(list(perfield.open(folder / "perfield-run").frames()))


def starts_bare(execute, *command: object, **environment: str) -> None:
    """Skips the test if the sanitizer's runtime does not work here, also without perfield."""
    result = execute(*command, env=environment)
    if result.returncode:
        pytest.skip(f"this sanitizer does not work here, also without perfield:\n{result.stderr[:500]}")


@pytest.mark.parametrize("build", BUILDS)
def test_sanitized_program_is_measured_and_nothing_of_perfield_is_reported(
    sanitized, execute, tmp_path, build
):
    program = sanitized(SERIAL, build)
    starts_bare(execute, program)
    result = execute("perfield-exec", program)
    assert (result.returncode, result.stdout) == (0, "LD_PRELOAD=\n"), result.stderr
    assert "Sanitizer" not in result.stderr and "runtime error" not in result.stderr
    assert steps_in(tmp_path) == 3


@pytest.mark.parametrize("build", BUILDS)
def test_sanitizer_finds_under_perfield_what_it_finds_bare(sanitized, execute, build):
    program = sanitized(SERIAL, build)
    starts_bare(execute, program)
    kind = next(kind for kind in ("address", "thread", "undefined", "leak") if kind in build)
    sentence = {
        "address": "heap-buffer-overflow",
        "thread": "data race",
        "undefined": "shift exponent 40",
        "leak": "10 byte(s) leaked in 1 allocation(s)",
    }[kind]
    bare = execute(program, kind)
    if sentence not in bare.stderr:
        pytest.skip(f"this sanitizer finds nothing here, also without perfield:\n{bare.stderr[:500]}")
    result = execute("perfield-exec", program, kind)
    assert sentence in result.stderr
    assert result.returncode == bare.returncode


@pytest.mark.parametrize("build", ["address", "leak"])
def test_leak_check_finds_no_memory_of_perfield(sanitized, execute, build):
    program = sanitized(SERIAL, build, "-finstrument-functions")
    starts_bare(execute, program)
    result = execute("perfield-exec", program, env=WHOLE_STACKS)
    assert (result.returncode, result.stderr.count("Sanitizer")) == (0, 0), result.stderr


@pytest.mark.parametrize("build", ["address", "address, static", "undefined", "clang, address", "leak"])
def test_sanitized_ranks_are_measured_and_report_as_bare_ones(sanitized, mpi, bin_dir, build):
    program = sanitized(PARALLEL, build, command=mpi.cc)
    # MPI itself may leak. A sanitizer's library must be the first one.
    bare = mpi.run(2, program, env={**WHOLE_STACKS, "LD_PRELOAD": ""})
    result = mpi.run(2, bin_dir / "perfield-exec", program, env=WHOLE_STACKS)
    assert result.returncode == bare.returncode, result.stderr
    assert "libperfield.so" not in result.stderr  # its wrappers do call MPI_Init, which leaks
    frames = list(perfield.open(result.cwd / "perfield-run").frames())
    assert [frame.values["sendrecv_count"].tolist() for frame in frames] == [[1, 1]] * 3
    without = {"ASAN_OPTIONS": "detect_leaks=0", "LSAN_OPTIONS": "detect_leaks=0"}
    result = mpi.run(2, bin_dir / "perfield-exec", program, env=without)
    assert (result.returncode, "Sanitizer" in result.stderr) == (0, False), result.stderr


def test_runtime_of_the_program_comes_first_and_leaves_with_ours(sanitized, execute, libasan):
    program = sanitized(SERIAL, "address")
    variables = exports(
        execute("perfield-exec", "--print", program, env={"LD_PRELOAD": "/lib/none.so"}).stdout
    )
    libraries = variables["LD_PRELOAD"].split(":")
    assert Path(libraries[0]).resolve() == Path(libasan)
    assert libraries[-1] == "/lib/none.so"
    assert variables["LD_PRELOAD"] == f"{variables['PERFIELD_PRELOADED']}:/lib/none.so"
    assert "ASAN_OPTIONS" not in variables


def test_preloaded_runtime_stays_first_and_is_kept_for_children(execute, sanitized, libasan, tmp_path):
    program = sanitized(SERIAL, "address")
    for name in ("true", program):
        env = {"LD_PRELOAD": f"/lib/none.so {libasan}"}
        variables = exports(execute("perfield-exec", "--print", name, env=env).stdout)
        ours = variables["PERFIELD_PRELOADED"]
        assert variables["LD_PRELOAD"] == f"{libasan}:{ours}:/lib/none.so"
        assert "asan" not in ours
        again = exports(execute("perfield-exec", "--print", name, env=variables).stdout)
        assert again["LD_PRELOAD"] == variables["LD_PRELOAD"]
    starts_bare(execute, program, LD_PRELOAD=libasan)
    result = execute("perfield-exec", program, env={"LD_PRELOAD": libasan})
    assert (result.returncode, result.stdout) == (0, f"LD_PRELOAD={libasan}\n"), result.stderr


@pytest.mark.parametrize("preloads", [False, True])
def test_script_starts_a_sanitized_program(sanitized, execute, libasan, tmp_path, preloads):
    program = sanitized(SERIAL, "address")
    starts_bare(execute, program)
    script = tmp_path / "script.sh"
    script.write_text(f'#!/bin/sh\n"{program}"\necho "its exit code is $?"\n')
    script.chmod(0o755)
    env = {"LD_PRELOAD": libasan} if preloads else {}
    result = execute("perfield-exec", script, env={**env, "ASAN_OPTIONS": "symbolize=0"})
    assert result.stdout == f"LD_PRELOAD={env.get('LD_PRELOAD', '')}\nits exit code is 0\n", result.stderr
    assert steps_in(tmp_path) == 3


def test_python_with_a_preloaded_runtime_starts(execute, libasan):
    env = {"LD_PRELOAD": libasan, "ASAN_OPTIONS": "detect_leaks=0"}
    starts_bare(execute, "python3", "-c", "", **env)
    result = execute("perfield-exec", "python3", "-c", "print('started')", env=env)
    assert (result.returncode, result.stdout, "Sanitizer" in result.stderr) == (0, "started\n", False)


def test_own_choice_of_the_link_order_check_is_kept(execute):
    def options(before: str) -> str:
        printed = execute("perfield-exec", "--print", "true", env={"ASAN_OPTIONS": before}).stdout
        return exports(printed)["ASAN_OPTIONS"]

    assert options("color=never") == "color=never:verify_asan_link_order=0"
    assert options("verify_asan_link_order=1") == "verify_asan_link_order=1"


def test_sanitized_library_of_a_plain_program_works(execute, libasan, tmp_path):
    (tmp_path / "library.c").write_text("int read_at(int* p, int i) { return p[i]; }\n")
    (tmp_path / "program.c").write_text(
        "#include <stdio.h>\n#include <stdlib.h>\nint read_at(int*, int);\n"
        "int main(int n, char** a) {\n  int* p = calloc(4, 4);\n  (void)a;\n"
        '  printf("%d\\n", read_at(p, n > 1 ? 4 : 0));\n  free(p);\n  return 0;\n}\n'
    )
    for words in (
        ["library.c", "-fsanitize=address", "-shared", "-fPIC", "-o", "liblibrary.so"],
        ["program.c", "-L.", "-llibrary", f"-Wl,-rpath,{tmp_path}", "-o", "program"],
    ):
        assert execute("gcc", *words).returncode == 0
    starts_bare(execute, "./program", LD_PRELOAD=libasan)
    result = execute("perfield-exec", "./program")
    assert (result.returncode, result.stdout) == (0, "0\n"), result.stderr
    assert "heap-buffer-overflow" in execute("perfield-exec", "./program", "x").stderr


def test_runtime_that_cannot_be_preloaded_leaves_the_program_unmeasured(
    sanitized, execute, libasan, tmp_path
):
    folder = tmp_path / "of mine"
    folder.mkdir()
    name = subprocess.run(["objdump", "-p", libasan], capture_output=True, text=True, check=True).stdout
    name = name.split("SONAME")[1].split()[0]
    shutil.copy(libasan, folder / name)
    program = sanitized(SERIAL, "address", f"-Wl,-rpath,{folder}")
    starts_bare(execute, program)
    result = execute("perfield-exec", program)
    assert (result.returncode, result.stdout) == (0, "LD_PRELOAD=\n")
    assert result.stderr == (
        f"perfield: {program} runs unmeasured: it needs a sanitizer's runtime, {name}, which must come "
        f"before perfield's libraries, and LD_PRELOAD cannot name {folder}/{name}, which contains a blank "
        f"or a colon; name the file yourself: LD_PRELOAD=/path/to/{name} perfield-exec ...\n"
    )
    assert not (tmp_path / "perfield-run").exists()
    assert execute("perfield-exec", program, env={"LD_PRELOAD": libasan}).returncode == 0
    assert steps_in(tmp_path) == 3


@pytest.mark.parametrize("way", ["linked", "preloaded"])
def test_jemalloc_serves_a_measured_program(mpi, bin_dir, build_c, tmp_path, way):
    program = build_c(
        PARALLEL, *(["-Wl,--no-as-needed", "-l:libjemalloc.so.2"] if way == "linked" else []), by=mpi
    )
    env = {"MALLOC_CONF": "stats_print:true,stats_print_opts:gblxedmaxh"}
    before = ["env", "LD_PRELOAD=libjemalloc.so.2"] if way == "preloaded" else []
    result = mpi.run(2, *before, bin_dir / "perfield-exec", program, env=env)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("Begin jemalloc statistics") >= 2
    frames = list(perfield.open(result.cwd / "perfield-run").frames())
    assert [frame.values["sendrecv_count"].tolist() for frame in frames] == [[1, 1]] * 3
