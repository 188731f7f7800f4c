# SPDX-License-Identifier: BSD-3-Clause
"""Communication topologies and parameters taken from measured MPI programs whose answer is planted."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from compiled.c_programs import mpi_program

import perfield
from perfield.studies.oscillators.model import ModelError, Stages, oscillate, topologies
from perfield.studies.oscillators.of_run import (
    measured_model,
    measured_stages,
    model_of,
    parameters_of,
)
from perfield.studies.rhythm.communication import topology_of
from perfield.traces import import_trace

REPOSITORY = Path(__file__).resolve().parents[3]
RANKS, STEPS, WORK_MS = 5, 12, 4

# argv: bytes of a message, how it is sent and completed, then pairs (first step, offset of a send).
EXCHANGE = mpi_program(
    """
    perfield_initialize();
    const int bytes = atoi(argv[1]);
    const char* how = argv[2];
    char* in = calloc(16, bytes + 1);
    char* out = calloc(16, bytes + 1);
    char out_name[32];
    snprintf(out_name, sizeof out_name, "output-%d", rank);
    for (int step = 0; step < STEPS; ++step) {
      MPI_Request all[32];
      int n = 0;
      nap(WORK_MS + (strchr(how, 'u') ? rank : 0));
      for (int way = 0; way < 2; ++way)
        for (int a = 3; a + 1 < argc; a += 2) {
          const int peer = rank + (way ? 1 : -1) * atoi(argv[a + 1]);
          if (step < atoi(argv[a]) || peer < 0 || peer >= size) continue;
          if (strchr(how, 'i') && (peer == size - 1 || rank == size - 1)) continue;
          if (way == 0)
            MPI_Irecv(in + a * bytes, bytes, MPI_CHAR, peer, a, MPI_COMM_WORLD, &all[n++]);
          else if (strchr(how, 's'))
            MPI_Issend(out, bytes, MPI_CHAR, peer, a, MPI_COMM_WORLD, &all[n++]);
          else
            MPI_Isend(out, bytes * (rank == 0 && strchr(how, 'h') ? 0 : 1), MPI_CHAR, peer, a,
                      MPI_COMM_WORLD, &all[n++]);
        }
      if (strchr(how, 'w'))
        for (int i = 0; i < n; ++i) MPI_Wait(&all[i], MPI_STATUS_IGNORE);
      else
        MPI_Waitall(n, all, MPI_STATUSES_IGNORE);
      if (strchr(how, 'c')) MPI_Barrier(MPI_COMM_WORLD);
      if (strchr(how, 'o') && step % 4 == 3) {
        FILE* file = fopen(out_name, "w");
        fwrite(big, 1, sizeof big, file);
        fclose(file);
      }
      perfield_step(step, 0.0);
    }
    """,
    before=f"""
    #include <string.h>
    enum {{ STEPS = {STEPS}, WORK_MS = {WORK_MS} }};
    static char big[1 << 20];
    static void nap(int ms) {{
      struct timespec t = {{0, ms * 1000000L}};
      nanosleep(&t, NULL);
    }}
    """,
)


@pytest.fixture(scope="module")
def exchange(build_c, perfield_cli, tmp_path_factory):
    """exchange(bytes, how, *sends, ranks=RANKS): the run of a program; each choice is measured once."""
    program, known = build_c(EXCHANGE), {}

    def run(*words, ranks=RANKS):
        if (words, ranks) not in known:
            folder = tmp_path_factory.mktemp("exchange")
            sends = [send if isinstance(send, tuple) else (0, send) for send in words[2:]]
            argv = (program, *words[:2], *(number for send in sends for number in send))
            result = perfield_cli("run", "--oversubscribe", "-n", ranks, "--", *argv, cwd=folder)
            assert result.returncode == 0, result.stderr
            known[words, ranks] = perfield.open(folder / "perfield-run")
        return known[words, ranks]

    return run


def matrix(found):
    return found.matrix.toarray()


@pytest.mark.parametrize("offsets", [(1,), (1, -1), (1, -1, -2)])
def test_the_topology_of_a_run_is_that_of_its_sends(exchange, offsets):
    found = topology_of(exchange(64, "-", *offsets))
    assert (matrix(found) == matrix(topologies.by_send(RANKS, offsets))).all()


def test_messages_and_bytes_weigh_edges_around_one(exchange):
    half_as_often = topology_of(exchange(64, "-", 1, (STEPS // 2, -2)), weight="messages")
    upward = half_as_often.receiver > half_as_often.sender
    assert half_as_often.weight == pytest.approx(np.where(upward, 1, 0.5) * 7 / 5.5)  # 4 edges up, 3 down
    empty_from_rank_0 = topology_of(exchange(64, "h", 1), weight="bytes")
    assert empty_from_rank_0.weight == pytest.approx([0, 4 / 3, 4 / 3, 4 / 3])


def test_steps_choose_the_messages(exchange):
    run = exchange(64, "-", 1, (6, -2))
    assert (matrix(topology_of(run, slice(0, 5))) == matrix(topologies.by_send(RANKS, [1]))).all()
    assert (matrix(topology_of(run, [6, 7])) == matrix(topologies.by_send(RANKS, [1, -2]))).all()


def test_weights_follow_the_machine(exchange):
    run = exchange(64, "-", 1)
    found = topology_of(run, by_place={"package": 0.5, "node": 0.5})
    assert found.weight.tolist() == [0.5] * (RANKS - 1)
    with pytest.raises(ModelError, match="there are values for network only"):
        topology_of(run, by_place={"network": 1.0})


@pytest.mark.parametrize(
    ("words", "beta", "kappa"),
    [
        ((64, "-", 1), 1, 1),  # eager
        ((64, "-", 1, -1), 1, 1),
        ((100_000, "-", 1, -1), 2, 1),  # rendezvous both ways
        ((64, "s", 1, -1), 2, 1),  # synchronous
        ((64, "-", 1, 2), 1, 2),  # one Waitall
        ((64, "w", 1, 2), 1, 3),  # single waits
    ],
)
def test_beta_and_kappa_follow_from_messages_and_waits(exchange, words, beta, kappa):
    found = parameters_of(exchange(*words))
    assert (found.beta.value, found.kappa.value) == (beta, kappa), found.sentences


def test_the_eager_limit_decides_about_rendezvous(exchange):
    run = exchange(64, "-", 1, -1)
    assert parameters_of(run, eager_limit=63).beta.value == 2
    assert "eager limit given as 63 B" in parameters_of(run, eager_limit=63).beta.source
    assert "eager limit assumed 4.04 kB for Open MPI" in parameters_of(run).beta.source


def test_each_mpi_has_an_eager_limit_of_its_own(mpi, build_c):
    done = mpi.run(2, "perfield-exec", build_c(EXCHANGE, by=mpi), 6000, "-", 0, 1, 0, -1)
    assert done.returncode == 0, done.stderr
    beta = parameters_of(perfield.open(done.cwd / "perfield-run")).beta
    assert beta.value == {"openmpi": 2, "mpich": 1}[mpi.name], beta


def test_t_comp_is_of_each_rank_and_t_comm_without_its_waiting(exchange):
    run = exchange(64, "u", 1, -1)  # rank r sleeps r ms longer
    found = parameters_of(run)
    steps = run.steps[["step_time_s", "waiting_time_s"]].compute()
    assert (found.t_comp.value >= 1e-3 * (WORK_MS + np.arange(RANKS))).all()
    outside = (steps.step_time_s - steps.waiting_time_s).median("step")
    assert found.t_comp.value == pytest.approx(outside.values)
    assert found.t_comm.value == pytest.approx(float(steps.waiting_time_s.min("rank").median()))
    assert found.frequency.value == pytest.approx(2 * np.pi / (found.t_comp.value + found.t_comm.value))


def test_each_parameter_is_printed_with_its_source(exchange):
    names = [sentence.split(" = ")[0] for sentence in parameters_of(exchange(64, "-", 1)).sentences]
    assert names[:6] == [
        "t_comp",
        "t_comm",
        "omega",
        "beta",
        "kappa",
        "v_p",
    ]  # then remarks, on a busy machine


def test_a_model_of_a_run_can_be_integrated(exchange):
    run = exchange(64, "-", 1)
    model, found = measured_model(run, compensate=True)
    assert found.sentences == parameters_of(run).sentences
    assert model.coupling == found.coupling.value
    assert model.compensate
    duration = 6 * np.pi / model.frequency.mean()
    phase = oscillate(model, np.zeros(RANKS), np.linspace(0, duration, 4)).phase.values[:, -1]
    slowest, fastest = duration * model.frequency.min(), duration * model.frequency.max()
    assert (phase >= slowest - 1e-6).all() and (phase <= fastest + 1e-6).all()


def test_the_example_of_the_docs_runs_as_printed(exchange, monkeypatch, capsys):
    monkeypatch.chdir(exchange(64, "-", 1).path.parent)
    page = (REPOSITORY / "docs/oscillators.md").read_text()
    known: dict = {}
    exec(page.split("<!-- A test runs this block. -->\n```python")[1].split("```")[0], known)
    out = capsys.readouterr().out
    shown = re.findall(r"^(\w+) = ", page.split("Model of perfield-run.")[1].split("```")[0], re.M)
    assert len(shown) > 3
    assert [line.split(" = ")[0] for line in out.splitlines()][: len(shown)] == shown
    phase = known["phases"].phase
    assert phase[1, 0] == -4 * np.pi
    # tanh is saturated, so rank 1 gains v_p / P on rank 0 (eq. 2), beside its own frequency
    model, at = known["model"], 5
    gained = float(phase[1, at] - phase[0, at]) + 4 * np.pi
    expected = (model.coupling / RANKS + model.frequency[1] - model.frequency[0]) * float(phase.time[at])
    assert gained == pytest.approx(expected, abs=1e-4)


def test_what_the_caller_says_takes_the_place_of_what_was_measured(exchange):
    model = model_of(exchange(64, "-", 1), frequency=2.0, coupling=0.0)
    assert (model.frequency, model.coupling) == (2.0, 0.0)


def test_stages_of_a_program_change_its_topology_and_coupling(exchange):
    run = exchange(64, "-", 1, (6, -2))
    model, kinds = measured_stages(run)
    assert all(isinstance(one, Stages) for one in (model.frequency, model.coupling, model.weight))
    begins = run.steps.begin_s.median("rank").values
    assert model.weight.starts == pytest.approx([0, begins[6] - begins[0]])
    edges = model.topology
    for number, offsets in enumerate([(1,), (1, -2)]):
        there = np.zeros((RANKS, RANKS))
        there[edges.receiver, edges.sender] = model.weight.values[number]
        assert (there == matrix(topologies.by_send(RANKS, offsets))).all()
    first, second = (parameters_of(run, part) for part in (slice(0, 5), slice(6, None)))
    assert model.coupling.values == pytest.approx([first.coupling.value, second.coupling.value])
    assert model.frequency.values == pytest.approx(np.stack([first.frequency.value, second.frequency.value]))
    assert second.kappa.value == 2 > first.kappa.value
    assert [one.steps.tolist() for one in kinds] == [list(range(6)), list(range(6, STEPS))]
    assert kinds[1].sentences[0] == "6 steps from 6 to 11: messages over 7 edges, no output."
    assert kinds[1].sentences[1:] == second.sentences
    phase = oscillate(model, np.zeros(RANKS), np.linspace(0, begins[-1] - begins[0], 5)).phase
    assert np.isfinite(phase).all()


def test_steps_without_messages_are_a_stage_without_edges(exchange):
    model, kinds = measured_stages(exchange(64, "-", (STEPS // 2, 1)))
    assert [one.topology is None for one in kinds] == [True, False]
    assert model.weight.values.tolist() == [[0] * (RANKS - 1), [1] * (RANKS - 1)]
    assert kinds[0].sentences[0] == "6 steps from 0 to 5: no messages, no output."


def test_steps_that_write_output_are_stages(exchange):
    model, kinds = measured_stages(exchange(64, "o", 1))
    assert [(one.output, len(one.steps)) for one in kinds] == [(False, 9), (True, 3)]
    begins = exchange(64, "o", 1).steps.begin_s.median("rank").values
    assert model.frequency.starts == pytest.approx(begins[[0, 3, 4, 7, 8, 11]] - begins[0])


def test_a_program_of_one_stage_has_constant_parameters(exchange):
    model, kinds = measured_stages(exchange(64, "-", 1))
    assert len(kinds) == 1
    assert model.frequency.shape == (RANKS,)
    assert model.coupling == model_of(exchange(64, "-", 1)).coupling


def test_collectives_are_reported(exchange):
    remarks = parameters_of(exchange(64, "c", 1)).remarks
    assert any("ranks also meet in collectives (barrier 1 per step)" in remark for remark in remarks)


def test_an_isolated_rank_is_reported(exchange):
    run = exchange(64, "i", 1)
    assert topology_of(run).isolated.tolist() == [RANKS - 1]
    remarks = parameters_of(run).remarks
    assert any(f"no edge begins or ends at rank {RANKS - 1} (of {RANKS})" in remark for remark in remarks)


def test_a_run_without_messages_is_refused(exchange):
    with pytest.raises(ModelError, match="recorded no messages between ranks; ranks that meet only in coll"):
        model_of(exchange(64, "c"))


def test_a_run_of_one_rank_is_refused(exchange):
    with pytest.raises(ModelError, match=r"is a run of one rank, .*; measure at least 2 ranks"):
        topology_of(exchange(64, "-", ranks=1))


def test_a_single_step_gives_a_topology_but_no_medians(exchange):
    run = exchange(64, "-", 1)
    assert topology_of(run, 3).n_edges == RANKS - 1
    with pytest.raises(ModelError, match="there is 1 step with times in step 3; measure at least 2"):
        parameters_of(run, 3)


def test_a_run_without_steps_is_refused(build_c, perfield_cli, tmp_path):
    program = build_c(mpi_program("MPI_Barrier(MPI_COMM_WORLD);"))
    result = perfield_cli("run", "--oversubscribe", "-n", 2, "--", program, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    with pytest.raises(ModelError, match="has no steps; close them with perfield_step, or name a call"):
        topology_of(perfield.open(tmp_path / "perfield-run"))


def test_steps_of_the_clock_are_no_turns(build_c, perfield_cli, tmp_path):
    program = build_c(EXCHANGE)
    result = perfield_cli(
        *("run", "--oversubscribe", "-n", 2, "--", program, 64, "-", 0, 1),
        cwd=tmp_path,
        env={"PERFIELD_STEP_SECONDS": "0.01"},
    )
    assert result.returncode == 0, result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    assert topology_of(run).n_edges == 1
    with pytest.raises(ModelError, match="ends its steps by the clock"):
        parameters_of(run)


def test_ranks_of_unknown_place_only_matter_where_places_weigh(exchange):
    run = perfield.open(exchange(64, "-", 1, -1).path)
    run.rank_entries[2] = None  # as of a rank whose check-in is lost
    assert parameters_of(run).kappa.value == 1
    with pytest.raises(ModelError, match="the node of rank 2 is unknown"):
        topology_of(run, by_place={"node": 1.0, "package": 1.0})


def test_an_unknown_weight_is_refused(exchange):
    with pytest.raises(ModelError, match="weight = 'size' is unknown; expected one of none, messages, bytes"):
        topology_of(exchange(64, "-", 1), weight="size")


def test_calls_are_counted_by_rank_and_step(exchange):
    calls = exchange(64, "-", 1).calls(3).set_index(["rank", "call"])["count"]
    assert calls[0, "isend"] == calls[1, "irecv"] == calls[2, "waitall"] == 1
    assert (0, "irecv") not in calls.index
    everything = exchange(64, "-", 1).calls().compute()
    assert everything[everything.call == "waitall"]["count"].sum() == RANKS * STEPS
    assert (everything.time_s >= 0).all()


def test_an_imported_trace_gives_the_same_answers(tmp_path):
    small_traces = pytest.importorskip("small_traces", reason="small_traces needs the module otf2")
    anchor = small_traces.write_ring(tmp_path / "trace", ranks=4, steps=3)
    run = perfield.open(import_trace(anchor, tmp_path / "run", step_region="time_step").path)
    assert (matrix(topology_of(run)) == matrix(topologies.ring(4))).all()
    found = parameters_of(run)
    solve, rest = 1000 * np.arange(1, 5), 100 + small_traces.GAP
    assert found.t_comp.value == pytest.approx(1e-9 * (solve + rest))
    assert found.t_comm.value == pytest.approx(1e-9 * (small_traces.STEP - 4000 - 100))  # of rank 3
    assert found.kappa.value == 1
    assert "0 of it and 1 calls that complete single messages" in found.kappa.source
    assert "for an unknown MPI" in found.beta.source
