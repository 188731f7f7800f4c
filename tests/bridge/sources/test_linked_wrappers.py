# SPDX-License-Identifier: BSD-3-Clause
"""Programs linked with the MPI wrappers and started without perfield-exec: their peers are world ranks."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from compiled.c_programs import mpi_program
from conftest import clean_environment

import perfield

PROGRAMS = Path(__file__).resolve().parent / "programs"
HOST = Path(__file__).resolve().parent / "scorep_host/host.c"
N = 3
DOUBLE = 8

# What programs/reversed_ranks sends: (rank, call, world rank of the peer) -> (count, bytes).
AROUND = {(rank, "isend", (rank + 1) % N): (1, 10 * DOUBLE) for rank in range(N)}
BACKWARDS = {(N - 1, "send", N - 2): (1, 100 * DOUBLE)}
INTO_WINDOW = {(N - 1, "put", 0): (1, 50 * DOUBLE)}
SENT = {
    "c": AROUND | BACKWARDS | INTO_WINDOW,
    "cpp": AROUND | BACKWARDS | INTO_WINDOW,
    "f90": AROUND | BACKWARDS,
}
# perfield::mpi is behind MPI, as in the CMakeLists of many programs.
CMAKE = """\
cmake_minimum_required(VERSION 3.18)
project(user LANGUAGES C CXX Fortran)
find_package(MPI REQUIRED)
find_package(perfield REQUIRED)
foreach(language c cpp f90)
  add_executable(${language} source.${language})
endforeach()
target_link_libraries(c PRIVATE MPI::MPI_C perfield::mpi)
target_link_libraries(cpp PRIVATE MPI::MPI_CXX perfield::mpi)
target_link_libraries(f90 PRIVATE MPI::MPI_Fortran perfield::mpi)
"""


def must(*words: object, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Runs a command that must succeed; returns what it prints."""
    result = subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        env=clean_environment(env),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{words}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def by_flags(mpi, folder: Path, flags) -> None:
    """Builds c, cpp and f90 as README's users do, with a linker that drops what seems unneeded."""
    for language, compiler in (("c", mpi.cc), ("cpp", mpi.cxx), ("f90", mpi.fc)):
        words = flags("--libs", "--mpi", mpi.name)
        must(compiler, f"source.{language}", "-Wl,--as-needed", *words, "-o", language, cwd=folder)


def by_pkg_config(mpi, folder: Path, flags) -> None:
    """Builds them with perfield-<mpi>.pc."""
    env = {"PKG_CONFIG_PATH": flags("--pkgconfig")[0]}
    words = must("pkg-config", "--cflags", "--libs", f"perfield-{mpi.name}", cwd=folder, env=env).split()
    for language, compiler in (("c", mpi.cc), ("cpp", mpi.cxx), ("f90", mpi.fc)):
        must(compiler, f"source.{language}", *words, "-o", language, cwd=folder)


def by_cmake(mpi, folder: Path, flags) -> None:
    """Builds them with the target perfield::mpi."""
    (folder / "CMakeLists.txt").write_text(CMAKE)
    compilers = {"C": mpi.cc, "CXX": mpi.cxx, "Fortran": mpi.fc}
    chosen = [f"-DMPI_{name}_COMPILER={shutil.which(compiler)}" for name, compiler in compilers.items()]
    must("cmake", "-S", ".", "-B", ".", f"-DCMAKE_PREFIX_PATH={flags('--cmake')[0]}", *chosen, cwd=folder)
    must("cmake", "--build", ".", cwd=folder)


@pytest.fixture(scope="module")
def flags(perfield_cli):
    """flags(*options): the words that `perfield setup paths` prints for them."""

    def words(*options: str) -> list[str]:
        result = perfield_cli("setup", "paths", *options)
        assert result.returncode == 0, result.stderr
        return result.stdout.split()

    return words


def sent(counted) -> dict[tuple[int, str, int], tuple[int, int]]:
    """(rank, call, peer) -> (count, bytes) of all messages."""
    return {key: (count, counted.bytes[key]) for key, count in counted.messages.items()}


@pytest.mark.parametrize(
    ("mpi", "build"),
    [("openmpi", by_flags), ("mpich", by_flags), ("mpich", by_pkg_config), ("openmpi", by_cmake)],
    indirect=["mpi"],
)
def test_linked_program_started_alone_has_world_ranks(mpi, build, flags, counted_in, tmp_path):
    text = (PROGRAMS / "reversed_ranks.c").read_text()
    for name in ("source.c", "source.cpp"):
        (tmp_path / name).write_text(text)
    shutil.copy(PROGRAMS / "reversed_ranks.f90", tmp_path / "source.f90")
    build(mpi, tmp_path, flags)
    for language, messages in SENT.items():
        result = mpi.run(N, tmp_path / language)
        assert result.returncode == 0, result.stderr
        counted = counted_in(result.cwd / "perfield-run")
        assert sent(counted) == messages, language
        assert {entry["reason"] for entry in counted.ends.values()} == {"finalize"}
        assert "messages " in result.stderr and "perfield: " not in result.stderr


def test_substrate_variable_alone_gives_world_ranks(mpi, build_c, flags, counted_in, tmp_path):
    host = build_c(HOST, "-DWITH_MPI", "-ldl", "-lpthread", *flags("--libs", "--mpi", mpi.name), by=mpi)
    (tmp_path / "script").write_text(
        "region 4 MPI_Init\nregion 8 solve\nenter 4\ninit_mpp\nexit 4\nenter 8\nbackwards\nexit 8\n"
    )
    for plugin in ("perfield", "Catalyst"):
        env = {"SCOREP_SUBSTRATE_PLUGINS": plugin, "LD_LIBRARY_PATH": None}
        start = f'exec {host} "$SCOREP_SUBSTRATE_PLUGINS" < {tmp_path}/script'
        result = mpi.run(N, "sh", "-c", start, env=env)
        assert result.returncode == 0, result.stderr
        counted = counted_in(result.cwd / "perfield-run")
        around = {(rank, "sendrecv", (rank + 1) % N): (1, 4) for rank in range(N)}
        assert sent(counted) == around | {(N - 1, "send", N - 2): (1, DOUBLE)}
        assert set(counted.ends[0]["sources"]) == {"pmpi", "scorep"}
        assert "LD_PRELOAD" not in result.stderr
        run = perfield.open(result.cwd / "perfield-run")
        assert "solve" in run.regions["name"].tolist()


def test_score_p_built_program_has_world_ranks_by_linking(with_scorep, flags, mpirun, counted_in):
    if shutil.which("scorep") is None:
        pytest.skip("there is no scorep on PATH")
    program = with_scorep(PROGRAMS / "reversed_ranks.c", *flags("--libs", "--mpi", "openmpi"))
    env = {"SCOREP_SUBSTRATE_PLUGINS": "perfield", "SCOREP_ENABLE_PROFILING": "false"}
    result = mpirun(N, program, env=env)
    assert result.returncode == 0, result.stderr
    counted = counted_in(result.cwd / "perfield-run")
    assert sent(counted) == SENT["c"]
    assert {"scorep", "pmpi"} <= set(counted.ends[0]["sources"])


def test_tools_linked_behind_the_wrappers_see_each_call_once(mpi, build_c, flags, counted_in):
    tool = build_c(
        PROGRAMS / "interposer.c", "-shared", "-fPIC", '-DTOOL="tool"', by=mpi, name="libtool.c"
    )  # as Score-P's own wrappers
    words = (
        *flags("--libs", "--mpi", mpi.name),
        "-Wl,--no-as-needed",
        str(tool),
        f"-Wl,-rpath,{tool.parent}",
    )
    result = mpi.run(N, build_c(PROGRAMS / "reversed_ranks.c", *words, by=mpi))
    assert (result.returncode, result.stdout) == (0, "tool 1 1 1 0\n" * N), result.stderr
    assert sent(counted_in(result.cwd / "perfield-run")) == SENT["c"]


def test_linked_program_is_measured_once_under_perfield_exec(mpi, build_c, flags, bin_dir, counted_in):
    program = build_c(PROGRAMS / "reversed_ranks.c", *flags("--libs", "--mpi", mpi.name), by=mpi)
    # Before a script, perfield-exec cannot know the MPI and preloads wrappers for both.
    for start in ([program], ["sh", "-c", program]):
        result = mpi.run(N, bin_dir / "perfield-exec", *start)
        assert result.returncode == 0, result.stderr
        counted = counted_in(result.cwd / "perfield-run")
        assert sent(counted) == SENT["c"]
        assert counted.calls[0, "waitall"] == 1
        assert [path.name for path in result.cwd.glob("perfield-run*")] == ["perfield-run"]


def test_steps_before_mpi_init_wait_for_the_wrappers(mpi, build_c, flags):
    text = mpi_program(
        """
      int out = rank, in;
      for (int s = 0; s < 2; ++s) {
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        perfield_step(s, s);
      }
    """,
        before="__attribute__((constructor)) static void early(void) { perfield_step(-1, 0); }",
    )
    result = mpi.run(N, build_c(text, *flags("--libs", "--mpi", mpi.name), by=mpi))
    assert result.returncode == 0, result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    assert [frame.label for frame in run.frames()] == [1]
    assert run.frame(0).values["sendrecv_count"].tolist() == [1] * N


def test_wrappers_linked_behind_mpi_are_reported_and_do_not_stop_steps(mpi, build_c, flags):
    text = mpi_program("for (int s = 0; s < 3; ++s) perfield_step(s, s);")
    library = "-lmpi" if mpi.name == "openmpi" else "-lmpich"
    words = (library, *flags("--libs", "--mpi", mpi.name))
    program = build_c(text, *words, by=mpi)
    result = mpi.run(N, program)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("linked with perfield's MPI wrappers behind its MPI") == 1
    assert len(list(perfield.open(result.cwd / "perfield-run").frames())) == 2
    quiet = mpi.run(N, program, env={"PERFIELD_ENABLED": "false"})
    assert (quiet.returncode, quiet.stderr) == (0, "")


def test_disabled_linked_program_writes_nothing(mpi, build_c, flags):
    program = build_c(PROGRAMS / "reversed_ranks.c", *flags("--libs", "--mpi", mpi.name), by=mpi)
    result = mpi.run(N, program, env={"PERFIELD_ENABLED": "false"})
    assert (result.returncode, result.stderr) == (0, "")
    assert not list(result.cwd.glob("perfield-run*"))
