# SPDX-License-Identifier: BSD-3-Clause
"""Programs that report no steps: the first run has them, found in the order of their calls."""

from __future__ import annotations

import re

import numpy as np
import pytest
from compiled.c_programs import mpi_program
from conftest import WITH_ONE_MPI

import perfield
from perfield.report import report
from perfield.report.page import title

HALO = """
static int me, ranks, in, out;
static volatile int iterations = 3; /* so that no loop is unrolled */
static __attribute__((noinline)) void halo(void) {
  int left = me ? me - 1 : MPI_PROC_NULL, right = me + 1 < ranks ? me + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(&out, 1, MPI_INT, left, 0, &in, 1, MPI_INT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static __attribute__((noinline)) void sum(void) {
  MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD); __asm__("");
}
static __attribute__((noinline)) void residual(void) {
  MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); __asm__("");
}
"""
# Lasts for some seconds, in calls that no rank takes for the end of a step.
TASKS = """
for (int i = 0; i < {n}; ++i) {{
  MPI_Request both[2];
  int done = 0;
  usleep(10000);
  MPI_Irecv(&in, 1, MPI_INT, me, 0, MPI_COMM_WORLD, &both[0]);
  MPI_Isend(&out, 1, MPI_INT, me, 0, MPI_COMM_WORLD, &both[1]);
  while (!done) MPI_Testall(2, both, &done, MPI_STATUSES_IGNORE);
}}
"""
BEGIN = "MPI_Comm_rank(MPI_COMM_WORLD, &me); MPI_Comm_size(MPI_COMM_WORLD, &ranks);"
STEPS = "for (int step = 0; step < 20; ++step) {{ {body} usleep(1000); sum(); }}"
INNER = "for (int i = 0; i < iterations; ++i) {{ halo(); {more} }}"

TO_SELF = """
MPI_Sendrecv(&out, 1, MPI_INT, me, 0, &in, 1, MPI_INT, me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
"""


@pytest.fixture
def first_run(mpi, build_c, perfield_cli, tmp_path):
    """first_run(body, **settings): (run, stderr) of a program's first run, on three ranks."""

    def run(body: str, *words: str, before: str = HALO):
        source = mpi_program(BEGIN * (before is HALO) + body, before="#include <unistd.h>\n" + before)
        program = build_c(source, "-g", "-O1", *words, by=mpi)
        launch = ["--launcher", f"mpirun.{mpi.name}", "--set", "find_steps=true", "-n", 3, "--"]
        result = perfield_cli("run", *launch, program, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        return perfield.open(tmp_path / "perfield-run"), result.stderr

    return run


def sent(run) -> list[list[float]]:
    return [frame.values["sent_count"].tolist() for frame in run.frames()]


def test_first_run_has_the_time_steps_of_the_outer_loop(first_run, perfield_cli):
    run, said = first_run(STEPS.format(body=INNER.format(more="")))
    assert run.steps_closed.tolist() == [17] * 3  # the first three taught perfield the loop
    assert [frame.label for frame in run.frames()] == list(range(3, 20))
    assert sent(run) == [[0, 3, 3]] * 17
    assert run.setup.values["sent_count"].tolist() == [0, 9, 9]
    assert re.search(r"(?m)^steps +17 on 3 ranks", said), said
    found = re.search(
        r"perfield: a step ends at each return of (Allreduce@sum-[0-9a-f]{4}) \(.*?\): 17 steps,", said
    )
    assert found and ", after 3 steps that showed the loop and count as setup" in said, said
    assert "If that is not your time step" not in said  # the exchanges come three to a step
    table = perfield_cli("steps", run.path).stdout
    assert f"A step ends at each return of {found[1]}" in table


def test_lines_of_a_python_script_are_call_sites(perfield_cli, tmp_path):
    (tmp_path / "flow.py").write_text(
        "from mpi4py import MPI\n"
        "import atexit, time\n"
        "atexit.register(MPI.COMM_WORLD.Barrier)\n"  # the interpreter calls it, no line
        "def total(x): return MPI.COMM_WORLD.allreduce(x)\n"
        "for step in range(20):\n"
        "    for i in range(3): total(i)\n"
        "    time.sleep(1e-3)\n"
        "    total(step)\n"
    )
    python = ["/usr/bin/python3", "flow.py"]
    result = perfield_cli("run", "--set", "find_steps=true", "-n", 2, "--", *python, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert perfield.open(tmp_path / "perfield-run").steps_closed.tolist() == [17] * 2
    assert re.search(
        r"a step ends at each return of \w+@total-\w{4} \(flow.py:4\).*?: 17 steps,", result.stderr
    )
    table = perfield_cli("steps", tmp_path / "perfield-run").stdout
    assert "flow > total" in table, table


@WITH_ONE_MPI
def test_the_same_loop_is_no_other_choice(first_run):
    """Of sums in a row the first one is of a site of its own."""
    run, said = first_run("for (int i = 0; i < 30; ++i) { usleep(1000); sum(); }")
    assert len(run) == 26 and "--use" not in said


@WITH_ONE_MPI
def test_runs_whose_steps_end_elsewhere_are_not_compared(first_run, perfield_cli, tmp_path):
    for call in ("sum", "residual"):
        first_run(f"for (int i = 0; i < 30; ++i) {{ halo(); {call}(); }}")
    runs = tmp_path / "perfield-run", tmp_path / "perfield-run-2"
    refused = perfield_cli("compare", *runs)
    assert refused.returncode == 2 and "--anyway compares" in refused.stderr
    ends = r"in perfield-run one .* of Allreduce@sum \(\d+ steps in .* of Allreduce@residual \(\d+ steps in "
    assert re.search(ends, refused.stderr), refused.stderr
    assert perfield_cli("compare", *runs, "--anyway").returncode == 0


@WITH_ONE_MPI
def test_ranks_that_are_apart_close_the_same_steps(first_run):
    """2,000 messages before each sum look like a check of convergence to a rank that already closes steps. It
    closes its first one where it learns that others do not, some messages later."""
    run, said = first_run(STEPS.format(body=f"for (int i = 0; i < 2000; ++i) {{ {TO_SELF} }}"))
    assert run.steps_closed.tolist() == [17] * 3, said
    assert sent(run)[1:] == [[2000] * 3] * 16 and max(sent(run)[0]) == 2000


@WITH_ONE_MPI
def test_a_refusal_that_comes_late_costs_no_rank_a_step(first_run):
    """Ranks 1 and 2 refuse a call of the inner loop so late that rank 0 takes a sum for a check of it."""
    late = "if ((me == 0 && step == 1 && i == 100) || (me && step == 2 && i == 5)) usleep(50000);"
    run, said = first_run(STEPS.format(body=f"for (int i = 0; i < 2000; ++i) {{ {late} {TO_SELF} }}"))
    assert run.steps_closed.tolist() == [17] * 3, said


@WITH_ONE_MPI
def test_steps_stay_where_only_collectives_are_followed_after_long(first_run):
    run, said = first_run(STEPS.format(body=f"for (int i = 0; i < 8000; ++i) {{ {TO_SELF} }}"))
    assert run.steps_closed.tolist() == [17] * 3, said
    assert sent(run) == [[8000] * 3] * 17  # which are counted all the same
    assert {site["call"] for site in run.sites[0]["sites"]} == {"Allreduce"}


@WITH_ONE_MPI
def test_chosen_steps_hold_for_this_run_and_the_next(first_run, perfield_cli, tmp_path):
    run, said = first_run(STEPS.format(body=INNER.format(more="")))
    site = re.search(r"return of (Allreduce@sum-[0-9a-f]{4})", said)[1]
    home = {"XDG_CACHE_HOME": str(tmp_path / "cache")}

    def use(wanted: str):
        return perfield_cli("steps", run.path, "--use", wanted, env=home)

    def next_run(name: str, *words: str):
        launch = ["--launcher", "mpirun.openmpi", "--run-directory", name, *words, "-n", 3, "--"]
        result = perfield_cli("run", *launch, run.info["command"][0], cwd=tmp_path, env=home)
        assert result.returncode == 0, result.stderr
        return perfield.open(tmp_path / name), result.stderr

    chosen = use("2").stdout.replace("\n", " ")
    assert "adds up 2 recorded steps from now on" in chosen
    assert f"which {tmp_path / 'cache/perfield/steps.json'} keeps; `perfield steps" in chosen
    assert chosen.rstrip().endswith("--use 1` undoes both.")
    assert set(perfield.open(run.path).spans.tolist()) <= {1, 2} and len(perfield.open(run.path)) == 9
    later, said = next_run("later")
    assert f"steps close at {site}/2, as chosen" in said and len(later) == 9
    refused = use("9")
    assert refused.returncode == 2 and "has 17 recorded steps, so 9 to a frame" in refused.stderr
    assert "expected a number from 1 to 8. Nothing was changed." in refused.stderr.replace("\n", " ")
    assert len(perfield.open(run.path)) == 9
    plain, said = next_run("plain", "--set", "remember_steps=false", "--set", "find_steps=true")
    assert "as chosen" not in said and len(plain) == 17
    assert "is a recorded step from now on" in use(site).stdout and len(perfield.open(run.path)) == 17
    use("1")
    assert "as chosen" not in next_run("forgotten")[1]
    refused = use("Barrier@nowhere-0000")
    assert refused.returncode and site in refused.stderr.partition("or a site: ")[2], refused.stderr
    home["XDG_CACHE_HOME"] = "/dev/null"  # as a home that cannot be written
    unnoted = use("2")
    assert unnoted.returncode == 0 and "2 recorded steps from now on" in unnoted.stdout
    assert (
        f"set XDG_CACHE_HOME to a folder of yours, or name the call to each run, as perfield run --set "
        f"step_call={site}/2" in unnoted.stdout.replace("\n", " ")
    ), unnoted.stdout


@WITH_ONE_MPI
def test_other_steps_are_offered_by_a_name_that_no_other_call_has(first_run):
    inner = "for (int i = 0; i < 4; ++i) { residual(); halo(); usleep(1000); }"
    _, said = first_run(STEPS.format(body=f"{inner} residual();"))
    assert re.search(r"--use Sendrecv@halo-\w{4} for \d+ steps from the next run", said)


@WITH_ONE_MPI
def test_steps_of_an_inner_loop_are_taken_back(first_run):
    more = "residual();"
    body = "for (int i = 0; i < 8; ++i) residual();" + STEPS.format(body=INNER.format(more=more))
    run, said = first_run(body)
    assert 10 <= run.steps_closed.max() <= 17
    assert sent(run) == [[0, 3, 3]] * len(run)
    assert run.steps_closed.tolist() == [len(run)] * 3
    parts = [run.setup, *run.frames(), run.teardown]
    assert sum(part.values["sent_count"][1] for part in parts) == 60  # nothing is lost
    assert re.search(rf"(?m)^steps +{len(run)} on 3 ranks", said), said
    assert "a step ends at each return of Allreduce@sum-" in said and f": {len(run)} steps," in said, said


@WITH_ONE_MPI
def test_a_program_without_a_regular_loop_is_one_frame(first_run):
    run, said = first_run("sum(); residual(); sum(); halo(); sum(); residual(); residual();")
    assert [frame.kind for frame in run.frames()] == ["whole"]
    assert "found" not in said and "marked no time steps" in said


@WITH_ONE_MPI
def test_windows_of_the_clock_take_the_place_of_steps(first_run):
    run, said = first_run(TASKS.format(n=250))
    assert run.has_windows and run.steps_by_clock and not run.is_whole
    assert len(run) >= 8 and not run.setup.present.any()
    counted = [frame.values["sent_count"] for frame in run.frames()]  # a busy rank may miss a window
    assert np.nansum(counted, axis=0).tolist() == [250] * 3
    assert title(report(run)).endswith(f"3 ranks on 1 host, {len(run)} windows of the clock")
    words = f"{len(run)} windows of 250 ms or more by the clock"
    assert re.search(rf"(?m)^steps +none closed .* {words}$", said), said
    assert "marked no time steps" in said


@WITH_ONE_MPI
def test_windows_before_the_first_step_are_of_setup(first_run):
    run, _ = first_run(TASKS.format(n=220) + STEPS.format(body=INNER.format(more="")))
    assert not run.has_windows and run.steps_closed.tolist() == [17] * 3
    assert sent(run) == [[0, 3, 3]] * 17
    assert run.setup.values["sent_count"].tolist() == [220, 229, 229]
    assert (run.setup.end_s - run.setup.begin_s > 2).all()


@WITH_ONE_MPI
def test_steps_that_do_not_hold_at_the_end_leave_windows_of_the_clock(first_run):
    """Of those before the steps, of the steps themselves, and of what came after them."""
    other = "".join(f"MPI_Bcast(&in, 1, MPI_INT, {rank}, MPI_COMM_WORLD);" for rank in (0, 1, 2) * 9)
    loops = f"for (int i = 0; i < 12; ++i) residual(); for (int i = 0; i < 2; ++i) {{ {other} }}"
    run, said = first_run(TASKS.format(n=120) + loops + TASKS.format(n=230))
    assert run.has_windows and run.steps_by_clock and not run.is_whole
    assert len(run) >= 8 and not run.setup.present.any() and not run.teardown.present.any()
    frames = list(run.frames())
    assert [frame.label for frame in frames] == [frame.index for frame in frames] == run.step_indexes.tolist()
    assert [frame.time for frame in frames] == [(frame.index + 1) / 4 for frame in frames]
    assert [frame.span for frame in frames] == run.spans.tolist()
    assert np.nansum([frame.values["sent_count"] for frame in frames], axis=0).tolist() == [350] * 3
    read = run.read(range(len(run)), ["sent_count"])
    assert read["fixed"]["label"].tolist() == [label for f in frames for label in [f.label] * f.present.sum()]
    assert run.frame_headers(range(len(run)))["label"].tolist() == run.step_indexes.tolist()
    words = f"{len(run)} windows of 250 ms or more by the clock"
    assert re.search(rf"(?m)^steps +none closed on 3 ranks.* {words}$", said), said
    assert "marked no time steps" in said


@WITH_ONE_MPI
def test_steps_that_a_rank_refuses_later_leave_windows_of_the_clock(first_run):
    """Rank 2 calls twice in each step from the 16th on, and sees that when rank 0 asks again."""
    calls = f"for (int i = 0; i < (me == 2 && step > 15 ? 2 : 1); ++i) {{ {TO_SELF} }}"
    loop = f"for (int step = 0; step < 60; ++step) {{ usleep(10000); {calls} }}"
    run, _ = first_run(loop + TASKS.format(n=190))
    assert run.has_windows and not run.setup.present.any() and not run.teardown.present.any()
    sent_in_windows = [frame.values["sent_count"] for frame in run.frames()]
    assert np.nansum(sent_in_windows, axis=0).tolist() == [250, 250, 294]


@WITH_ONE_MPI
def test_a_step_that_stays_open_for_long_is_one_frame(first_run):
    """It has an entry for each window of the clock, as nobody knows whether the loop is over."""
    long = TASKS.format(n="150 * (step == 10)")
    run, said = first_run(STEPS.format(body=INNER.format(more="") + long) + TASKS.format(n=150))
    assert run.steps_closed.tolist() == [17] * 3, said
    assert [sent(run)[at] for at in (6, 7, 8)] == [[0, 3, 3], [150, 153, 153], [0, 3, 3]]
    assert run.spans.tolist() == [frame.span for frame in run.frames()] == [1] * 17
    assert len(next(iter(run.closings([0])))[0]) == 17
    assert run.frame(7).values["step_time_s"].min() > 1.4
    assert run.teardown.values["sent_count"].tolist() == [150] * 3
    entries = np.bincount(run.streams.places["rank"][run.streams.of_type("step")])
    assert (entries > 17 + 2 + 2).all()
    assert re.search(r"(?m)^steps +17 on 3 ranks", said), said


@WITH_ONE_MPI
def test_a_root_with_a_call_site_of_its_own_closes_the_same_steps(first_run):
    body = "if (me == 0) MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD);"
    body += "else MPI_Bcast(&out, 1, MPI_INT, 0, MPI_COMM_WORLD); halo();"
    run, _ = first_run(STEPS.format(body=body))
    assert run.steps_closed.tolist() == [17] * 3 and sent(run) == [[0, 1, 1]] * 17


@WITH_ONE_MPI
def test_calls_of_some_ranks_end_no_step(first_run):
    body = "MPI_Comm half; MPI_Comm_split(MPI_COMM_WORLD, me == 0, me, &half);"
    some = "if (me) for (int i = 0; i < 4; ++i) MPI_Barrier(half); halo();"
    run, _ = first_run(body + STEPS.format(body=some))
    assert run.steps_closed.tolist() == [17] * 3 and sent(run) == [[0, 1, 1]] * 17


EXCHANGE = "for (int step = 0; step < 40; ++step) {{ usleep(1000); {body} }}"
AROUND = "MPI_Sendrecv(&out, 1, MPI_INT, (me + 1) % ranks, 0, &in, 1, MPI_INT, (me + ranks - 1) % ranks, 0,"
AROUND += " MPI_COMM_WORLD, MPI_STATUS_IGNORE);"
NEIGHBOURS = """
  MPI_Request sends[2];
  int n = 0;
  for (int to = me - 1; to <= me + 1; to += 2)
    if (to >= 0 && to < ranks) MPI_Isend(&out, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &sends[n++]);
  for (int from = me - 1; from <= me + 1; from += 2)
    if (from >= 0 && from < ranks) MPI_Recv(&in, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
"""


def test_ranks_agree_on_a_loop_without_collective_operations(first_run):
    run, said = first_run(EXCHANGE.format(body=AROUND))
    assert run.steps_closed.tolist() == [30] * 3  # the first six taught rank 0, the others could read that
    assert [frame.label for frame in run.frames()] == list(range(10, 40))
    assert sent(run) == [[1, 1, 1]] * 30
    assert run.setup.values["sent_count"].tolist() == [10] * 3
    assert re.search(
        r"perfield: a step ends at each return of Sendrecv@\w+-[0-9a-f]{4} \(.*?\): 30 steps, after 10 steps",
        said,
    )


@WITH_ONE_MPI
def test_ranks_disagree_where_a_loop_over_neighbours_differs(first_run):
    run, said = first_run(EXCHANGE.format(body=NEIGHBOURS))
    assert [frame.kind for frame in run.frames()] == ["whole"]
    assert "marked no time steps" in said


@WITH_ONE_MPI
def test_ranks_agree_on_what_ends_a_loop_over_neighbours(first_run):
    run, said = first_run(EXCHANGE.format(body=NEIGHBOURS + "MPI_Waitall(n, sends, MPI_STATUSES_IGNORE);"))
    assert run.steps_closed.tolist() == [len(run)] * 3 and len(run) > 10
    assert sent(run) == [[1, 2, 1]] * len(run)
    assert "a step ends at each return of Waitall@" in said


@WITH_ONE_MPI
def test_ranks_agree_where_requests_complete_in_other_numbers_of_calls(first_run):
    waits = """MPI_Request all[4]; int n = 0, some, which[4], got[2];
      for (int to = me - 1; to <= me + 1; to += 2) if (to >= 0 && to < ranks) {
        MPI_Irecv(&got[to > me], 1, MPI_INT, to, 0, MPI_COMM_WORLD, &all[n++]);
        MPI_Isend(&out, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &all[n++]);
      }
      for (int left = n; left > 0; left -= some) MPI_Waitsome(n, all, &some, which, MPI_STATUSES_IGNORE);
    """
    run, said = first_run(EXCHANGE.format(body=waits))
    assert "a step ends at each return of Waitsome@" in said, said
    assert run.steps_closed.tolist() == [30] * 3
    assert sent(run) == [[1, 2, 1]] * len(run)


@WITH_ONE_MPI
def test_a_loop_of_collective_operations_in_setup_hides_no_later_loop(first_run):
    """As in Meep: ten sums, then exchanges alone, then one of the sums again."""
    loop = EXCHANGE.format(body=AROUND).replace("step < 40", "step < 700")
    run, said = first_run("for (int i = 0; i < 11; ++i) { if (i == 10) {" + loop + "} sum(); }")
    assert "a step ends at each return of Sendrecv@" in said, said
    assert run.steps_closed.tolist() == [len(run)] * 3 and len(run) > 80
    assert sent(run) == [[1, 1, 1]] * len(run)


@WITH_ONE_MPI
def test_a_first_iteration_outside_the_loop_hides_no_steps(first_run):
    """As in NPB's MG: sums, exchanges to warm up, the sums again, and then exchanges alone."""
    sums, warm = "for (int i = 0; i < 10; ++i) sum();", "for (int i = 0; i < 100; ++i) halo();"
    loop = EXCHANGE.format(body=AROUND).replace("step < 40", "step < 700")
    setup = f"for (int twice = 0; twice < 2; ++twice) {{ {sums} if (!twice) {{ {warm} }} }}"
    run, said = first_run(setup + loop)
    assert "a step ends at each return of Sendrecv@" in said, said
    assert run.steps_closed.tolist() == [len(run)] * 3 and len(run) > 80


@WITH_ONE_MPI
def test_ranks_agree_where_each_takes_another_branch(first_run):
    """Rank 0 has a neighbour above, rank 2 one below, the other one both."""
    talk = "if ({when}) MPI_Sendrecv(&out, 1, MPI_INT, {to}, 0, &in, 1, MPI_INT, {to}, 0, MPI_COMM_WORLD, "
    talk += "MPI_STATUS_IGNORE);\n"
    body = talk.format(when="me > 0", to="me - 1") + talk.format(when="me + 1 < ranks", to="me + 1")
    run, said = first_run(EXCHANGE.format(body=body))
    assert run.steps_closed.tolist() == [30] * 3 and sent(run) == [[1, 2, 1]] * 30
    assert re.search(
        r"ends at each return of Sendrecv@\w+-[0-9a-f]{4} \(.*; other calls there on some ranks\):", said
    )


@WITH_ONE_MPI
@pytest.mark.parametrize("call", ["Bcast", "Sendrecv"])
def test_short_steps_are_joined_alike_where_ranks_make_other_calls(call, first_run):
    """Each rank has a call site of its own; perfield closes not each of so short steps."""
    calls = {
        "Bcast": "MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD);",
        "Sendrecv": AROUND + ";",
    }
    body = f"if (me == 0) {{ {calls[call]} }} else if (me == 1) {{ {calls[call]} }} else {{ {calls[call]} }}"
    run, _ = first_run(EXCHANGE.format(body=body).replace("step < 40", "step < 200").replace("1000", "50"))
    assert run.steps_closed.tolist() == [len(run)] * 3 and len(run) < 150


@WITH_ONE_MPI
def test_ranks_agree_on_the_outer_one_of_two_such_loops(first_run):
    """A solver of 25 iterations ends with other exchanges, each at a line of its own."""
    body = f"for (int i = 0; i < 25; ++i) {{ {AROUND} }} {AROUND} {AROUND}\n{AROUND}"
    run, _ = first_run("for (int step = 0; step < 15; ++step) { " + body + " }")
    assert len(run) >= 4 and sent(run) == [[28, 28, 28]] * len(run)
    assert run.steps_closed.tolist() == [len(run)] * 3


@WITH_ONE_MPI
def test_a_check_at_each_tenth_iteration_ends_no_step(first_run):
    check = "if (step % 10 == 9) sum();"
    run, said = first_run(EXCHANGE.format(body=AROUND + check).replace("step < 40", "step < 80"))
    assert run.steps_closed.tolist() == [70] * 3 and sent(run) == [[1, 1, 1]] * 70
    assert "a step ends at each return of Sendrecv@" in said


@WITH_ONE_MPI
def test_a_rank_without_the_call_site_refuses_it(first_run):
    body = "if (me < 2) for (int i = 0; i < 40; ++i) { int to = 1 - me; usleep(1000);"
    body += (
        " MPI_Sendrecv(&out, 1, MPI_INT, to, 0, &in, 1, MPI_INT, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }"
    )
    body += "else for (int i = 0; i < 10; ++i) { MPI_Sendrecv(&out, 1, MPI_INT, 2, 0, &in, 1, MPI_INT, 2, 0,"
    run, _ = first_run(body + " MPI_COMM_WORLD, MPI_STATUS_IGNORE); usleep(2000); }")
    assert [frame.kind for frame in run.frames()] == ["whole"]


@WITH_ONE_MPI
def test_a_loop_of_collective_operations_takes_steps_of_messages_back(first_run):
    body = (
        "for (int step = 0; step < 10; ++step) { for (int i = 0; i < 20 * iterations; ++i) {"
        + AROUND
        + "} sum(); }"
    )
    run, said = first_run(body)
    assert run.steps_closed.tolist() == [7] * 3 and sent(run) == [[60, 60, 60]] * 7
    assert "a step ends at each return of Allreduce@sum-" in said


@WITH_ONE_MPI
def test_an_exchange_at_one_place_for_each_direction_is_one_step(first_run):
    """As in CoMD and miniMD: left, right, and with itself, for which a loop calls one function."""
    body = "volatile int ways = 3; int to[] = {(me + 1) % ranks, (me + 2) % ranks, me};"
    body += "int from[] = {to[1], to[0], me};"
    body += (
        "for (int way = 0; way < ways; ++way) MPI_Sendrecv(&out, 1, MPI_INT, to[way], 0, &in, 1, MPI_INT, "
    )
    body += "from[way], 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"
    run, said = first_run(EXCHANGE.format(body=body + "if (step % 10 == 9) sum();"))
    assert "a step ends after every 3 returns of Sendrecv@" in said, said
    assert len(run) >= 30 and sent(run) == [[3, 3, 3]] * len(run)
