# SPDX-License-Identifier: BSD-3-Clause
"""Steps that an MPI call site closes (step_call), in programs that close none themselves."""

from __future__ import annotations

import re
import shutil

import pytest

# Ten steps: a halo exchange with itself, a norm by a helper, and every fifth step a check by the same helper.
BEFORE = """
#include <mpi.h>
static __attribute__((noinline)) double sum(double mine) {
  double all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all * 1.0;
}
"""
LOOP = """
  int in, out = 1;
  double norm = sum(1);
  perfield_region r = REGION("work");
  for (int s = 0; s < 10; ++s) {
    for (int i = 0; i < 3; ++i)
      MPI_Sendrecv(&out, 1, MPI_INT, rank, 0, &in, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    perfield_region_begin(r); perfield_region_end(r);
    norm += sum(norm);
    if (s % 5 == 4) norm += sum(2);
    EACH
  }
  if (norm < 0) printf("%g", norm);
"""


@pytest.fixture(scope="module")
def known_sites() -> dict[str, list[dict]]:
    """A body and how it is run -> the call sites of its rank 0."""
    return {}


@pytest.fixture
def name_of(measured, known_sites):
    """name_of(body, call, hits, **how): the name of the only site of this call with so many hits, from a run
    that closes no steps, one for each program."""

    def learn(body: str, call: str, hits: int, **how) -> str:
        program = f"{body} {how}"
        if program not in known_sites:
            run, _ = measured(body, env={"PERFIELD_STEP_SECONDS": "100"}, **how)
            known_sites[program] = run.sites[0]["sites"]
            shutil.rmtree(run.path)
        table = known_sites[program]
        (site,) = [site for site in table if (site["call"], site["hits"]) == (call, hits)]
        return f"{call}@any-{site['hash'][:4]}"

    return learn


@pytest.fixture
def stepped(measured, name_of):
    """stepped(call, hits, each="", begin="", **settings): (run, process) of the loop on two ranks, whose
    steps are closed by the site of that call with so many hits. spelt : changes the site's name."""

    def run(call: str, hits: int, each: str = "", begin: str = "", spelt=str, **settings):
        body = LOOP.replace("EACH", each).replace("double norm", f"{begin}\ndouble norm")
        how = {"n": 2, "before": BEFORE, "mpi": True}
        env = {"PERFIELD_STEP_CALL": spelt(name_of(body, call, hits, **how))}
        return measured(body, env=env | {f"PERFIELD_{k.upper()}": v for k, v in settings.items()}, **how)

    return run


def test_each_return_of_the_call_closes_its_own_step(stepped):
    run, result = stepped("Allreduce", 10)
    frames = list(run.frames())
    assert [frame.index for frame in frames] == list(range(9))
    for rank in range(2):
        assert [frame.values["work_count"][rank] for frame in frames] == [1] * 9
        assert [frame.values["sendrecv_count"][rank] for frame in frames] == [3] * 9
        assert all(frame.values["mpi_collective_time_s"][rank] > 0 for frame in frames)
    assert "perfield: " not in result.stderr


@pytest.mark.parametrize("hits", [10, 2])
def test_helper_called_from_three_places_is_three_sites(stepped, hits):
    assert len(stepped("Allreduce", hits)[0]) == hits - 1


def test_first_hit_of_the_site_ends_setup(stepped):
    run, _ = stepped("Sendrecv", 30)
    assert len(run) == 29
    assert run.frame(0).values["sendrecv_count"].tolist() == [1, 1]
    assert run.setup.values["sendrecv_count"].tolist() == [1, 1]


def test_every_frame_contains_its_closing_call(stepped):
    run, _ = stepped(
        "Sendrecv", 30, spelt=lambda name: f"MPI_{name.partition('@')[0].upper()}@{name.partition('@')[2]}"
    )
    assert all(frame.values["sendrecv_count"].tolist() == [1, 1] for frame in run.frames())


@pytest.mark.parametrize("every", [2, 3, 4])
def test_every_nth_hit_closes_a_step(stepped, every):
    run, _ = stepped("Sendrecv", 30, spelt=lambda name: f"{name}/{every}")
    assert run.steps_closed.tolist() == [30 // every - 1] * 2
    assert all(frame.values["sendrecv_count"].tolist() == [every, every] for frame in run.frames())
    assert run.setup.values["sendrecv_count"].tolist() == [every, every]


def test_initialize_ends_setup(stepped):
    run, _ = stepped("Allreduce", 10, begin="perfield_initialize();")
    assert len(run) == 10
    assert [int(frame.values["work_count"][0]) for frame in run.frames()] == [1] * 10


def test_measure_every_measures_chosen_steps_exactly(stepped):
    run, _ = stepped("Allreduce", 10, measure_every="3", begin="perfield_initialize();")
    assert [frame.label for frame in run.frames()] == [0, 3, 6, 9]
    assert all(frame.values["sendrecv_count"].tolist() == [3, 3] for frame in run.frames())


def test_site_overrides_the_programs_own_steps(stepped):
    run, result = stepped("Sendrecv", 30, each="perfield_step(s, s);")
    assert len(run) == 29
    assert result.stderr.count("says where steps end") == 1


def test_site_that_is_never_hit_warns_with_those_that_were(measured):
    env = {"PERFIELD_STEP_CALL": "Allreduce@gone-0123456789abcdef"}
    run, result = measured(LOOP.replace("EACH", ""), n=2, before=BEFORE, mpi=True, env=env)
    assert [frame.kind for frame in run.frames()] == ["whole"]
    printed = [line for line in result.stderr.splitlines() if "Allreduce@gone" in line]
    assert len(printed) == 1
    assert "never hit" in printed[0]
    seen = re.findall(r"Allreduce@[\w.]+-([0-9a-f]{4}) \((.*?)\)", printed[0])
    assert [times for _, times in seen] == ["10 times", "2 times", "once"]
    known = {site["hash"][:4]: site["hits"] for site in run.sites[0]["sites"]}
    assert [known.get(digits) for digits, _ in seen] == [10, 2, None]  # a site hit once is not written


def test_call_on_the_root_alone_shifts_no_steps(measured, name_of):
    body = """
      for (int s = 0; s < 20; ++s) {
        if (rank == 0)
          for (int i = 0; i < 3; ++i) MPI_Allreduce(&s, &size, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
        MPI_Allreduce(&s, &size, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      }
    """
    name = name_of(body, "Allreduce", 20, n=3, mpi=True)
    run, result = measured(body, n=3, mpi=True, env={"PERFIELD_STEP_CALL": name})
    assert run.steps_closed.tolist() == [19] * 3
    assert "uneven" not in result.stderr


def test_steps_of_a_call_on_the_root_alone_are_reported(measured, name_of):
    body = """
      for (int s = 0; s < 20; ++s) {
        if (rank == 0 || s % 4 == 0) MPI_Allreduce(&s, &size, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
        MPI_Barrier(MPI_COMM_WORLD);
      }
    """
    name = name_of(body, "Allreduce", 20, n=3, mpi=True)
    run, result = measured(body, n=3, mpi=True, env={"PERFIELD_STEP_CALL": name})
    assert run.steps_closed.tolist() == [19, 4, 4]
    assert "uneven     rank 0 closed 19 steps, ranks 1-2 closed 4: frames may join different" in result.stderr
    assert 'if rank 0 does other work, set PERFIELD_GROUP="group2=0"; else' in result.stderr


def test_program_with_own_steps_records_no_sites(measured):
    run, _ = measured(LOOP.replace("EACH", "perfield_step(s, s);"), n=2, before=BEFORE, mpi=True)
    assert len(run) == 9
    assert run.sites == {}


def test_sites_have_the_same_callers_in_all_ranks(measured):
    run, _ = measured(LOOP.replace("EACH", ""), n=3, before=BEFORE, mpi=True)
    assert sorted(run.sites) == [0, 1, 2]

    def seen(rank):
        return [
            (site["call"], site["hash"], site["hits"], [offset for _, offset in site["callers"]])
            for site in run.sites[rank]["sites"]
        ]

    assert seen(0) == seen(1) == seen(2)
    assert [(call, hits) for call, _, hits, _ in seen(0)] == [
        ("Sendrecv", 30),
        ("Allreduce", 10),
        ("Allreduce", 2),
    ]
    assert len({hash for _, hash, _, _ in seen(0)}) == 3
    assert run.sites[0]["once"] == 1
    first = [site["first_ns"] for site in run.sites[0]["sites"]]
    assert run.sites[0]["first_ns"] < first[0] < first[1] < first[2]


def test_call_left_by_longjmp_does_not_stop_the_steps(measured, name_of):
    body = """
      MPI_Errhandler handler;
      MPI_Comm_create_errhandler(leave, &handler);
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
      for (volatile int s = 0; s < 6; ++s) {
        if (setjmp(back) == 0) MPI_Send(&handler, 1, MPI_INT, 12345, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
      }
    """
    before = """
      #include <mpi.h>
      #include <setjmp.h>
      static jmp_buf back;
      static void leave(MPI_Comm* comm, int* code, ...) { (void)comm; (void)code; longjmp(back, 1); }
    """
    name = name_of(body, "Barrier", 6, mpi=True, before=before)
    run, _ = measured(body, mpi=True, before=before, env={"PERFIELD_STEP_CALL": name})
    assert len(run) == 5  # the first return ends setup


# --- room ---------------------------------------------------------------------------------------------

DEPTHS = """
      for (int s = 0; s < N; ++s) {
        volatile char room[64 * (s + 1)];
        room[0] = 1;
        MPI_Barrier(MPI_COMM_SELF);
      }
"""
# 10,000 places that call MPI once each.
PLACES = """
#define CALL MPI_Barrier(MPI_COMM_SELF);
#define TEN(x) x x x x x x x x x x
"""


@pytest.mark.parametrize("n", [200, 9000])  # as many places on the stack; the table has room for 4096
def test_many_stack_depths_are_one_site(measured, name_of, n):
    body = DEPTHS.replace("N", str(n), 1)
    name = name_of(body, "Barrier", n, mpi=True)
    run, result = measured(body, mpi=True, env={"PERFIELD_STEP_CALL": name})
    assert run.steps_closed.tolist() == [n - 1]
    assert "not followed" not in result.stderr


def test_sites_of_setup_leave_room_for_those_of_the_loop(measured):
    run, result = measured(
        """
      TEN(TEN(TEN(CALL CALL CALL CALL CALL)))
      for (int s = 0; s < 6000; ++s) { CALL CALL }
    """,
        mpi=True,
        before=PLACES,
        flags=("-O0",),
    )
    body = run.sites[0]
    assert sorted(site["hits"] for site in body["sites"])[-2:] == [6000, 6000]
    assert body["given_up"] > 1000
    assert body["not_followed"] == 0
    assert "not followed" not in result.stderr


def test_sites_of_setup_are_given_up_when_steps_begin(measured, name_of):
    body = """
      TEN(TEN(CALL CALL))
      for (int s = 0; s < 50; ++s) {
        MPI_Allreduce(&s, &size, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
        CALL
      }
    """
    name = name_of(body, "Allreduce", 50, mpi=True, before=PLACES)
    run, _ = measured(body, mpi=True, before=PLACES, env={"PERFIELD_STEP_CALL": name})
    assert len(run) == 49
    table = run.sites[0]
    assert [(site["call"], site["hits"]) for site in table["sites"]] == [("Allreduce", 50), ("Barrier", 50)]
    assert (table["given_up"], table["once"]) == (200, 0)


def test_calls_beyond_the_tables_are_counted_and_reported(measured):
    # Where several threads call MPI, no site can be given up.
    run, result = measured(
        """
      int level;
      MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
      MPI_Barrier(MPI_COMM_SELF);
      pthread_t t;
      pthread_create(&t, 0, thread, 0);
      pthread_join(t, 0);
      for (int s = 0; s < 3; ++s) { TEN(TEN(TEN(CALL CALL CALL CALL))) }
      MPI_Finalize();
    """,
        before=PLACES
        + """
      #include <mpi.h>
      #include <pthread.h>
      static void* thread(void* unused) { MPI_Barrier(MPI_COMM_SELF); return unused; }
    """,
        flags=("-O0", "-pthread"),
    )
    body = run.sites[0]
    loop = [site for site in body["sites"] if site["hits"] == 3]
    assert len(loop) > 3000
    assert body["not_followed"] == 3 * (4000 - len(loop))
    assert body["places_not_followed"] == pytest.approx(4000 - len(loop), rel=0.05)  # counted by a hash
    assert (
        f"{body['not_followed']:,} MPI calls at {body['places_not_followed']:,} further sites"
        in result.stderr
    )


def test_loop_with_more_sites_than_room_gives_up_cleaning(measured):
    run, _ = measured(
        "for (int s = 0; s < 30; ++s) { TEN(TEN(TEN(CALL CALL CALL CALL CALL))) }",
        mpi=True,
        before=PLACES,
        flags=("-O0",),
    )
    assert run.sites[0]["not_followed"] > 0


def test_site_beyond_the_table_is_unwound_once(measured):
    # Unwinding asks the loader for its modules.
    before = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
static _Atomic long asked;
int dl_iterate_phdr(int (*look)(struct dl_phdr_info*, size_t, void*), void* data) {
  asked++;
  return ((int (*)(int (*)(struct dl_phdr_info*, size_t, void*), void*))
          dlsym(RTLD_NEXT, "dl_iterate_phdr"))(look, data);
}
static void* thread(void* unused) { MPI_Barrier(MPI_COMM_SELF); return unused; }
"""
    _, result = measured(
        """
      int level;
      MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
      MPI_Barrier(MPI_COMM_SELF);
      pthread_t t;
      pthread_create(&t, 0, thread, 0);
      pthread_join(t, 0);
      long first = 0, later = 0;
      for (int s = 0; s < 5; ++s) {
        const long before = asked;
        TEN(TEN(TEN(CALL CALL CALL CALL)))
        if (s == 0) first = asked - before; else later += asked - before;
      }
      printf("%ld %ld", first, later);
      MPI_Finalize();
    """,
        before="#include <mpi.h>\n" + PLACES + before,
        flags=("-O0", "-ldl", "-pthread"),
    )
    first, later = map(int, result.stdout.split())
    assert first >= 3000
    assert later < 500


def test_threads_calling_from_one_place_hit_one_site(measured):
    run, _ = measured(
        """
      int level;
      MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
      pthread_t t[4];
      for (int i = 0; i < 4; ++i) pthread_create(&t[i], 0, thread, 0);
      for (int i = 0; i < 4; ++i) pthread_join(t[i], 0);
      MPI_Finalize();
    """,
        before="""
      #include <mpi.h>
      #include <pthread.h>
      static void* thread(void* unused) {
        int out = 1, in;
        for (int i = 0; i < 100; ++i)
          MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        return unused;
      }
    """,
        flags=["-pthread"],
    )
    (site,) = [site for site in run.sites[0]["sites"] if site["call"] == "Sendrecv"]
    assert site["hits"] == 400


def test_killed_program_leaves_its_recent_sites(measured):
    run, result = measured(
        """
      MPI_Init(&argc, &argv);
      for (int s = 0; s < 1100; ++s) { usleep(1500); MPI_Barrier(MPI_COMM_WORLD); }
      raise(SIGKILL);
    """,
        before="#include <signal.h>",
        check=False,
    )
    assert result.returncode != 0
    assert run.ends == {}
    (site,) = run.sites[0]["sites"]
    assert (site["call"], site["hits"]) in [("Barrier", 512), ("Barrier", 1024)]
