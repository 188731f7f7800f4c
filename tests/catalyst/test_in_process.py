# SPDX-License-Identifier: BSD-3-Clause
"""Pictures inside a program equal those made afterwards, and they do not disturb the program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drivers import extracts_of_run as extracts

import perfield

THROUGH = "the program is through"


BEFORE = """
    #include <fenv.h>
    #include <locale.h>
    #include <signal.h>
    static void handler(int number) { (void)number; }
"""
KINDS = """
    double x[3] = {0, 1, 3}, points[8 * 3] = {0}, f4[6];
    for (int i = 0; i < 8; ++i) points[3 * i + 2] = rank, points[3 * i] = i % 2, points[3 * i + 1] = i / 2;
    unsigned char marks[2] = {0, 1};
    int32_t corners[6] = {1, 2, 3, 2, 3, 4}, ends[3] = {0, 3, 6}, triangle[1] = {5};
    int64_t small[6] = {0, 1, 0, 2, 0, 0}, line[6] = {0, 2, 0, 0, 0, 0};
    int token = 7, got = 0;
    MPI_Request open;
    signal(SIGTERM, handler);
    signal(SIGPIPE, handler);
    setlocale(LC_ALL, "C");
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &open);
"""
EACH_STEP = """
    if (step != 2) {
      if (step == 3) perfield_mesh_changed();
      perfield_mesh_image(0, extent, origin, spacing);
      perfield_mesh_rectilinear(1, line, perfield_array_of(x, PERFIELD_FLOAT64, 1, 3),
        perfield_array_of(x, PERFIELD_FLOAT64, 1, 1), perfield_array_of(x, PERFIELD_FLOAT64, 1, 1));
      perfield_mesh_structured(2, small, perfield_array_of(points, PERFIELD_FLOAT64, 3, 6));
      points[0] = step;
      perfield_mesh_unstructured(3, perfield_array_of(points, PERFIELD_FLOAT64, 3, 4 + rank),
        perfield_array_of(corners, PERFIELD_INT32, 1, 6), perfield_array_of(ends, PERFIELD_INT32, 1, 3),
        perfield_array_of(triangle, PERFIELD_INT32, 1, 1), 1);
      perfield_mesh_ghosts(3, PERFIELD_CELLS, perfield_array_of(marks, PERFIELD_UINT8, 1, 2));
      perfield_field(0, "heat", PERFIELD_POINTS, perfield_array_of(heat, PERFIELD_FLOAT64, 1, 15));
      perfield_field(2, "every second.", PERFIELD_POINTS,
        perfield_array_component(heat, 2, 1, 2, 3, 1, 2, 3));
      perfield_field(3, "v", PERFIELD_POINTS, perfield_array_of(points, PERFIELD_FLOAT64, 3, 4 + rank));
    }
    perfield_region_begin_on(solve, 2);
    perfield_region_end(solve);
    MPI_Send(&token, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
    MPI_Wait(&open, MPI_STATUS_IGNORE);
    if (step < 3) {
      MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &open);
    } else {
      struct sigaction term, pipe_;
      sigaction(SIGTERM, NULL, &term);
      sigaction(SIGPIPE, NULL, &pipe_);
      printf("%d %d %d %s %d\\n", term.sa_handler == handler, pipe_.sa_handler == handler,
             fegetexcept() == (FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW), setlocale(LC_ALL, NULL), got);
    }
"""


@pytest.fixture(scope="module")
def all_kinds(in_process, program):
    """A run on two ranks with blocks of all kinds; the program has handlers, traps and an open receive."""
    result = in_process(program(EACH_STEP, KINDS, BEFORE, "-lm"), ranks=0, env={"PERFIELD_FIELDS_EVERY": "1"})
    assert result.returncode == 0, result.stderr
    return result


def test_all_block_kinds_ghosts_and_mesh_versions_arrive(all_kinds):
    assert "perfield: " not in all_kinds.stderr
    folder = all_kinds.cwd / "perfield-run"
    extracts.assert_as_afterwards(folder, range(3), n_pieces=8)
    series = [(perfield.open(folder).frame(n).time, f"geometry_{n:06d}.vtm") for n in range(3)]
    assert extracts.listed(folder / "catalyst/geometry.pvd") == series


def test_pictures_are_perfield_time_in_no_step(all_kinds):
    later = perfield.open(all_kinds.cwd / "perfield-run").frame(1)
    # On a busy machine, the step of one rank may last until the other's picture is ready.
    assert (later.values["perfield_time_s"] > later.values["step_time_s"]).any()


def test_program_keeps_signal_handlers_traps_locale_and_messages(all_kinds):
    assert all_kinds.stdout.count("1 1 1 C 7") == 2


EXCHANGE = """
    char sent[300] = {0}, got[300];
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Request open;
    MPI_Irecv(got, 300, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &open);
    MPI_Send(sent, 10 * step + rank, MPI_CHAR, next, 1, MPI_COMM_WORLD);
    MPI_Wait(&open, MPI_STATUS_IGNORE);
    MPI_Sendrecv(sent, 1, MPI_CHAR, last, 2, got, 1, MPI_CHAR, next, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 2) MPI_Put(sent, 7, MPI_CHAR, 0, 0, 7, MPI_CHAR, window);
    MPI_Get(got, 20 + rank, MPI_CHAR, next, 0, 20 + rank, MPI_CHAR, window);
    MPI_Win_fence(0, window);
"""
WINDOW = """
    char exposed[300];
    MPI_Win window;
    MPI_Win_create(exposed, 300, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
"""


EVERYWHERE = pytest.param(0, id="ParaView everywhere", marks=pytest.mark.long)


@pytest.mark.parametrize("ranks", [EVERYWHERE, pytest.param(1, id="ParaView on rank 0")])
def test_focus_ranks_have_the_same_arrays_inside_and_afterwards(in_process, program, ranks):
    """Rank 7 does not exist: that is reported once, and all else is there."""
    built = program(EXCHANGE, WINDOW)
    settings = {"PERFIELD_FOCUS_RANKS": "2,0,7", "PERFIELD_FIELDS_EVERY": "1"}
    result = in_process(built, n=3, ranks=ranks, env=settings)
    assert result.returncode == 0, result.stderr
    printed = [line for line in result.stderr.splitlines() if line.startswith("perfield: focus_ranks")]
    assert len(printed) == 1 and "names 7" in printed[0] and "the ranks 0 to 2" in printed[0]
    folder = result.cwd / "perfield-run"
    extracts.assert_as_afterwards(folder, range(3), n_pieces=3, focus=(2, 0))
    piece = extracts.arrays(extracts.pieces(folder, 1)[0])
    shown = {name: float(values[0]) for name, values in piece.items() if name.endswith(("_2", "_0"))}
    assert shown["point send_bytes_from_2"] == 22  # rank 2 alone knows by which call it sent them
    assert shown["point put_bytes_from_2"] == 7
    assert shown["point get_bytes_to_2"] == 22
    assert shown["point received_bytes_from_2"] == 22
    assert np.isnan(shown["point send_count_to_2"])


def shown_steps(run: Path) -> list[int]:
    """The steps of which there is a picture."""
    return sorted(int(path.stem.removeprefix("geometry_")) for path in run.glob("catalyst/geometry_*.vtm"))


def test_every_second_step_is_shown_with_device_copies_of_a_late_source(in_process, program):
    host = Path(__file__).parents[1] / "bridge/sources/programs/kokkos_host.h"
    copies = 'if (step == 3) deep_copy("Cuda", "Host", 1000, 0);'
    result = in_process(program(copies, "kokkos_start();", host.read_text()), 5, n=1, every=2)
    assert result.returncode == 0, result.stderr
    run = result.cwd / "perfield-run"
    assert shown_steps(run) == [0, 2, 4]
    for index, n_bytes in ((0, 0), (2, 1000), (4, 0)):
        for piece in extracts.pieces(run, index):
            assert set(extracts.arrays(piece)["point device_copy_to_bytes"]) == {n_bytes}


@pytest.fixture(scope="module")
def sparse(in_process, program):
    """A run of six steps, of which each second is measured after the first; it rarely stores fields."""
    choice = {"SKIP_STEPS": "1", "MEASURE_EVERY": "2", "FIELDS_EVERY": "0"}
    env = {f"PERFIELD_{key}": value for key, value in choice.items()}
    return perfield.open(in_process(program(), 6, env=env).cwd / "perfield-run")


def test_the_steps_shown_are_the_frames_of_the_run(sparse):
    assert [frame.index for frame in sparse.frames()] == [1, 3, 5]
    assert shown_steps(sparse.path) == [1, 3, 5]


def test_summed_steps_are_shown_by_one_rank(in_process, program):
    choice = {"PERFIELD_SKIP_STEPS": "3", "PERFIELD_SUM_EVERY": "2"}
    run = perfield.open(in_process(program(), 6, env=choice).cwd / "perfield-run")
    assert [frame.index for frame in run.frames()] == shown_steps(run.path) == [3, 5]


def test_fields_are_current_and_pictures_add_no_call_to_the_steps(sparse):
    for frame in sparse.frames():
        for rank, piece in enumerate(extracts.pieces(sparse.path, frame.index)):
            assert set(extracts.arrays(piece)["point heat"]) == {100 * (frame.index + 1) + rank}
        assert set(frame.messages["call"]) == set()
        assert (frame.values["solve_count"] == 1).all()


@pytest.mark.long
def test_near_the_limit_pictures_go_by_step_and_show_the_same_steps_of_all_ranks(in_process, program):
    """Rank 0 has more regions, and thus shares entries sooner; both entered `solve` once in each step."""
    body = """
    for (int n = 0; rank == 0 && n < 10; ++n) {
      char name[] = {'a' + n, 0};
      perfield_begin(name);
      perfield_end(name);
    }
    """
    result = in_process(program(body), 400, every=20, env={"PERFIELD_RECORD_LIMIT": "70000"})
    run = result.cwd / "perfield-run"
    assert "nears record_limit" in result.stderr
    assert shown_steps(run) == list(range(0, 400, 20))
    counts = [
        [set(extracts.arrays(piece)["point solve_count"]) for piece in extracts.pieces(run, step)]
        for step in shown_steps(run)
    ]
    assert all(one == other and len(one) == 1 for one, other in counts)
    assert counts[0] == [{1}, {1}] and max(counts[-1][0]) > 10


def test_a_rank_that_cannot_write_does_not_hang_the_others(in_process, program):
    """A limit on the size of files stands for a full disk on rank 1; ParaView runs on rank 0 alone."""
    fill = """
    struct rlimit limit = {1, 1};
    signal(SIGXFSZ, SIG_IGN);
    if (rank == 1 && step == 3) setrlimit(RLIMIT_FSIZE, &limit);
    """
    choice = {"PERFIELD_SKIP_STEPS": "1", "PERFIELD_MEASURE_EVERY": "2"}
    rank_program = program(fill, "", "#include <signal.h>\n#include <sys/resource.h>")
    result = in_process(rank_program, 8, env=choice, timeout=60)
    assert "the program is through" in result.stdout
    assert "failed in step 3" in result.stderr and "perfield tries again" in result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    assert [frame.present.tolist() for frame in run.frames()] == [[True, True]] + [[True, False]] * 3
    shown = shown_steps(run.path)
    assert shown == [1, 3, 5, 7][: len(shown)] and shown


def test_paraview_on_one_rank_shows_both_pieces(in_process, program):
    body = 'if (step == 3) printf("%d paraview %d\\n", rank, paraview());'
    before = """
    static int paraview(void) {
      char line[512];
      int found = 0;
      FILE* maps = fopen("/proc/self/maps", "r");
      while (fgets(line, sizeof line, maps)) found |= strstr(line, "libvtkPVCatalyst") != NULL;
      fclose(maps);
      return found;
    }
    """
    result = in_process(program(body, before=before), env={"PERFIELD_FIELDS_EVERY": "1"})
    assert result.returncode == 0, result.stderr
    assert "0 paraview 1" in result.stdout and "1 paraview 0" in result.stdout
    folder = result.cwd / "perfield-run"
    pieces = extracts.pieces(folder, 1)
    assert [float(np.mean(extracts.arrays(piece)["point heat"])) for piece in pieces] == [200, 201]
    extracts.assert_as_afterwards(folder, range(2))


def test_exit_without_finalize_does_not_hang(in_process, program):
    result = in_process(program("if (step == 2) exit(0);"), ranks=0, timeout=90)
    assert extracts.pieces(result.cwd / "perfield-run", 0)
    assert THROUGH not in result.stdout
