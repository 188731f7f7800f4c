# SPDX-License-Identifier: BSD-3-Clause
"""Steps that an MPI call site closes (step_call), in programs that close none themselves."""

from __future__ import annotations

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


@pytest.fixture
def stepped(measured):
    """stepped(step_call, each="", begin="", **settings): (run, process) of the loop on two ranks."""

    def run(step_call: str, each: str = "", begin: str = "", check: bool = True, **settings):
        env = {"PERFIELD_STEP_CALL": step_call} | {f"PERFIELD_{k.upper()}": v for k, v in settings.items()}
        body = LOOP.replace("EACH", each).replace("double norm", f"{begin}\ndouble norm")
        return measured(body, n=2, before=BEFORE, env=env, check=check, mpi=True)

    return run


def test_each_return_of_the_call_closes_its_own_step(stepped):
    run, result = stepped("Allreduce@2")
    frames = list(run.frames())
    assert [frame.index for frame in frames] == list(range(9))
    for rank in range(2):
        assert [frame.values["work_count"][rank] for frame in frames] == [1] * 9
        assert [frame.values["sendrecv_count"][rank] for frame in frames] == [3] * 9
        assert all(frame.values["mpi_collective_time_s"][rank] > 0 for frame in frames)
    assert "perfield: " not in result.stderr


@pytest.mark.parametrize(("number", "hits"), [(2, 10), (3, 2)])
def test_helper_called_from_three_places_is_three_sites(stepped, number, hits):
    assert len(stepped(f"allreduce@{number}")[0]) == hits - 1


def test_first_hit_of_the_site_ends_setup(stepped):
    run, _ = stepped("MPI_Sendrecv@1")
    assert len(run) == 29
    assert run.frame(0).values["sendrecv_count"].tolist() == [1, 1]
    assert run.setup.values["sendrecv_count"].tolist() == [1, 1]


def test_every_frame_contains_its_closing_call(stepped):
    run, _ = stepped("SENDRECV@1")
    assert all(frame.values["sendrecv_count"].tolist() == [1, 1] for frame in run.frames())


def test_initialize_ends_setup(stepped):
    run, _ = stepped("Allreduce@2", begin="perfield_initialize();")
    assert len(run) == 10
    assert [int(frame.values["work_count"][0]) for frame in run.frames()] == [1] * 10


def test_measure_every_measures_chosen_steps_exactly(stepped):
    run, _ = stepped("Allreduce@2", measure_every="3", begin="perfield_initialize();")
    assert [frame.label for frame in run.frames()] == [0, 3, 6, 9]
    assert all(frame.values["sendrecv_count"].tolist() == [3, 3] for frame in run.frames())


def test_site_overrides_the_programs_own_steps(stepped):
    run, result = stepped("Sendrecv@1", each="perfield_step(s, s);")
    assert len(run) == 29
    assert result.stderr.count("says where steps end") == 1


def test_site_that_is_never_hit_warns_with_those_that_were(stepped):
    run, result = stepped("Allreduce@7")
    assert [frame.kind for frame in run.frames()] == ["whole"]
    told = [line for line in result.stderr.splitlines() if "Allreduce@7" in line]
    assert len(told) == 1
    assert "never hit" in told[0]
    assert "Allreduce@2 (10 times), Allreduce@3 (2 times), Allreduce@1 (once)" in told[0]


def test_program_with_own_steps_records_no_sites(measured):
    run, _ = measured(LOOP.replace("EACH", "perfield_step(s, s);"), n=2, before=BEFORE, mpi=True)
    assert len(run) == 9
    assert run.sites == {}


def test_sites_have_the_same_callers_in_all_ranks(measured):
    run, _ = measured(LOOP.replace("EACH", ""), n=3, before=BEFORE, mpi=True)
    assert sorted(run.sites) == [0, 1, 2]

    def seen(rank):
        return [
            (site["call"], site["number"], site["hits"], [offset for _, offset in site["callers"]])
            for site in run.sites[rank]["sites"]
        ]

    assert seen(0) == seen(1) == seen(2)
    assert [row[:3] for row in seen(0)] == [
        ("Allreduce", 1, 1),
        ("Sendrecv", 1, 30),
        ("Allreduce", 2, 10),
        ("Allreduce", 3, 2),
    ]


def test_call_left_by_longjmp_does_not_stop_the_steps(measured):
    run, _ = measured(
        """
      MPI_Errhandler handler;
      MPI_Comm_create_errhandler(leave, &handler);
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
      for (volatile int s = 0; s < 6; ++s) {
        if (setjmp(back) == 0) MPI_Send(&handler, 1, MPI_INT, 12345, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
      }
    """,
        mpi=True,
        before="""
      #include <mpi.h>
      #include <setjmp.h>
      static jmp_buf back;
      static void leave(MPI_Comm* comm, int* code, ...) { (void)comm; (void)code; longjmp(back, 1); }
    """,
        env={"PERFIELD_STEP_CALL": "Barrier@1"},
    )
    assert len(run) == 5  # the first return ends setup


def test_many_stack_depths_are_one_site(measured):
    run, result = measured(
        """
      for (int s = 0; s < 200; ++s) {
        volatile char room[64 * (s + 1)];
        room[0] = 1;
        MPI_Barrier(MPI_COMM_WORLD);
      }
    """,
        mpi=True,
        env={"PERFIELD_STEP_CALL": "Barrier@1"},
    )
    assert len(run) == 199
    assert "more places than are followed" not in result.stderr


def test_sites_beyond_the_table_are_counted_with_a_warning(measured):
    run, result = measured(
        """
      for (int s = 0; s < 700; ++s) {
        volatile char room[64 * (s + 1)];
        room[0] = 1;
        MPI_Barrier(MPI_COMM_WORLD);
      }
    """,
        mpi=True,
        env={"PERFIELD_STEP_CALL": "Barrier@1"},
    )
    not_followed = run.sites[0]["not_followed"]
    assert 0 < not_followed < 700
    assert len(run) == 700 - not_followed - 1  # the first hit ends setup
    assert result.stderr.count(f"{not_followed} calls were not compared with step_call") == 1


def test_site_beyond_the_table_is_unwound_once(measured):
    # Of 300 places, some find no room. Unwinding asks the loader for its modules.
    before = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
static _Atomic long asked;
int dl_iterate_phdr(int (*look)(struct dl_phdr_info*, size_t, void*), void* data) {
  asked++;
  return ((int (*)(int (*)(struct dl_phdr_info*, size_t, void*), void*))
          dlsym(RTLD_NEXT, "dl_iterate_phdr"))(look, data);
}
#define CALL MPI_Barrier(MPI_COMM_SELF);
#define TEN(x) x x x x x x x x x x
"""
    run, result = measured(
        """
      TEN(TEN(CALL CALL CALL))
      long once = asked;
      for (int s = 0; s < 5; ++s) { TEN(TEN(CALL CALL CALL)) }
      printf("%ld %ld", once, asked - once);
    """,
        mpi=True,
        before=before,
        flags=("-ldl",),
    )
    once, again = map(int, result.stdout.split())
    assert once >= 300
    assert again < once  # although these are five times as many calls, from 300 new places
    sites, not_followed = run.sites[0]["sites"], run.sites[0]["not_followed"]
    assert not_followed > 300 * 5  # none of the later places found room, nor did some of the first
    assert not_followed == 300 * 6 - sum(site["hits"] for site in sites)


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
