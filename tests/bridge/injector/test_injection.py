# SPDX-License-Identifier: BSD-3-Clause
"""Latencies injected into messages: no receive completes before its latency has passed, however it is made.

Times are compared with the latency from below, which holds on any machine, and from above only for the
quickest of many messages.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import clean_environment

import perfield
from perfield.studies.regimes.injection.latencies import write_trace

HERE = Path(__file__).resolve().parent
WAYS = HERE / "programs/ways.c"
OTHERS = HERE.parent / "sources/programs"
TRACE_US = np.array([2000.0, 20000.0, 10000.0])


@pytest.fixture(scope="session")
def inject(bin_dir, tmp_path_factory):
    """inject(mpi, program, *arguments, n=2, latency_us=TRACE_US, repeats=True, env=None)

    Returns the finished command. Its run is `cwd`/perfield-run.
    """

    def run(mpi, program, *arguments, n=2, latency_us=TRACE_US, repeats=True, env=None):
        folder = tmp_path_factory.mktemp("inject")
        write_trace(folder / "trace", np.asarray(latency_us) * 1e-6, repeats=repeats)
        variables = {"PERFIELD_INJECT": "trace", **(env or {})}
        result = mpi.run(n, bin_dir / "perfield-exec", program, *arguments, env=variables, cwd=folder)
        assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
        return result

    return run


def sums(run: Path, field: str) -> np.ndarray:
    """A field of each rank over the whole run, which closes no step."""
    found = perfield.open(run)
    assert found.frame(0).kind == "whole"
    return found.frame(0).values[field]


@pytest.fixture(scope="session")
def one_case(build_c, mpi):
    """one_case(name): the program that makes one case of the calls that are tested in sources/, alone."""

    def build(name: str) -> Path:
        words = f"-I{OTHERS}", f"-DCASE={name}", str(OTHERS / f"{name}.c"), "-lpthread"
        return build_c(HERE / "programs/one_case.c", *words, by=mpi)

    return build


@pytest.fixture(scope="session")
def ways(inject, build_c, mpi):
    """(name of the way, us from sending to completion) in the order of the messages, and the run."""
    result = inject(mpi, build_c(WAYS, by=mpi))
    lines = [line.split() for line in result.stdout.splitlines()]
    return [(way, float(late)) for way, late in lines], result.cwd / "perfield-run"


def test_every_way_of_receiving_takes_its_latency(ways):
    found, _ = ways
    messages = [each for each in found if each[0] != "probe_alone"]
    assert len(messages) == 26
    # The two receives that were posted together are reported in the order of their completion.
    assert [way for way, _ in messages[-5:-3]] == ["older", "newer"]
    beyond: dict[float, list[float]] = {latency: [] for latency in TRACE_US}
    for k, (way, late_us) in enumerate(messages):
        assert late_us >= TRACE_US[k % 3], f"{way}, message {k}, after {late_us} us"
        beyond[TRACE_US[k % 3]].append(late_us - TRACE_US[k % 3])
    assert all(min(each) < 5000 for each in beyond.values()), "each with its own latency, no longer one"


def test_probe_finds_a_message_when_it_has_arrived(ways):
    found, _ = ways
    at = [way for way, _ in found].index("probe_alone")
    assert found[at][1] >= TRACE_US[(at - 1) % 3]


def test_run_counts_delayed_messages_and_what_they_took(ways):
    _, run = ways
    assert sums(run, "injected_messages").tolist() == [26, 26]
    np.testing.assert_allclose(sums(run, "injected_latency_s"), TRACE_US[np.arange(26) % 3].sum() * 1e-6)
    assert (sums(run, "injected_wait_s") > 0).all()


def test_recorder_measures_the_injected_latency_as_waiting(ways):
    _, run = ways
    assert (sums(run, "waiting_time_s") >= sums(run, "injected_wait_s")).all()


@pytest.mark.parametrize(("name", "order"), [("receives", "reversed"), ("sends", "world")])
def test_all_messages_of_a_ring_are_delayed_in_any_communicator(inject, one_case, mpi, name, order):
    n = {"receives": 32, "sends": 22}[name]
    result = inject(mpi, one_case(name), order, n=4, latency_us=[100, 900])
    assert sums(result.cwd / "perfield-run", "injected_messages").tolist() == [n] * 4


def test_all_messages_of_fortran_programs_are_delayed(inject, mpi, tmp_path):
    # Each MPI's Fortran functions that differ most from those of C.
    binding = {"openmpi": "-DUSE_F08", "mpich": "-DMPIFH"}[mpi.name]
    flags = ["-w", "-cpp", "-fallow-argument-mismatch", "-ffree-line-length-none", binding]
    program = tmp_path / "program"
    source = HERE / "programs/fortran_messages_alone.f90"
    words = [mpi.fc, *flags, f"-I{OTHERS}", f"-J{tmp_path}", source, "-o", program]
    subprocess.run(words, check=True)
    result = inject(mpi, program, n=4, latency_us=[100, 900])
    assert result.stdout == mpi.run(4, program).stdout, "checksums of what was received"
    assert sums(result.cwd / "perfield-run", "injected_messages").tolist() == [54] * 4


def test_run_json_says_what_was_injected(ways):
    _, run = ways
    reported = json.loads((run / "run.json").read_text())["injected"]
    assert reported == {"series": 1, "messages": 3, "repeats": True, "mean_s": 0.032 / 3, "longest_s": 0.02}


@pytest.fixture(scope="module")
def ring(one_case):
    """The compiled ring of receives.c."""
    return one_case("receives")


def test_trace_shorter_than_the_run_repeats_and_says_so(inject, ring, mpi):
    result = inject(mpi, ring, latency_us=[10] * 8)
    assert "24 messages were delayed by latencies that the trace had given before" in result.stderr
    assert sums(result.cwd / "perfield-run", "injected_messages").tolist() == [32, 32]


def test_trace_that_does_not_repeat_ends_and_says_so(inject, ring, mpi):
    result = inject(mpi, ring, latency_us=[10] * 8, repeats=False)
    assert "24 messages were not delayed, because the trace of latencies was over" in result.stderr
    assert sums(result.cwd / "perfield-run", "injected_messages").tolist() == [8, 8]


def test_messages_between_groups_are_not_delayed_and_counted(inject, one_case, mpi):
    result = inject(mpi, one_case("inter_communicator"), n=4)
    assert "messages were not delayed, because their communicator joins groups" in result.stderr


def test_freed_receives_stop_the_delay_of_their_sender_only_in_words(inject, one_case, mpi):
    result = inject(mpi, one_case("freed_requests"), "world", n=4)
    assert "messages were not delayed, because stamps no longer matched" in result.stderr


def test_broken_trace_injects_nothing_and_says_so(mpi, ring, bin_dir, tmp_path):
    (tmp_path / "trace").write_text("perfield-latencies 1 4096 1 1000 1\n")
    result = mpi.run(2, bin_dir / "perfield-exec", ring, env={"PERFIELD_INJECT": "trace"}, cwd=tmp_path)
    assert result.returncode == 0
    assert result.stderr.count("is shorter than its first line says") == 1
    assert "no latencies are injected" in result.stderr


def test_rings_of_shared_memory_vanish_with_the_program(ways):
    _, run = ways
    run_id = json.loads((run / "run.json").read_text())["run_id"]
    assert list(Path("/dev/shm").glob(f"perfield-inject-{run_id}-*")) == []


def test_injector_is_not_loaded_unless_asked_for(bin_dir, ring, tmp_path):
    for trace, expected in (("", 0), ("trace", 1)):
        printed = subprocess.run(
            [bin_dir / "perfield-exec", "--print", ring],
            env={"PATH": "/usr/bin:/bin", "PERFIELD_INJECT": trace, "HOME": str(tmp_path)},
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert printed.stdout.count("libperfield_inject_") // 2 == expected


@pytest.mark.parametrize("whose", ["of another user", "open to others", "with another name", "too large"])
def test_rings_that_others_could_cut_are_left_alone(build_c, mpi, bin_dir, tmp_path, whose):
    if whose == "of another user" and os.geteuid() != 0:
        pytest.skip("only root can make files of another user")
    program = build_c(WAYS, by=mpi)
    write_trace(tmp_path / "trace", TRACE_US * 1e-6, repeats=True)
    printed = subprocess.run(
        [bin_dir / "perfield-exec", "--print", program],
        env={**clean_environment(), "PERFIELD_INJECT": "trace", "PERFIELD_MPI": mpi.name},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    variables = dict(re.findall(r"^export (\w+)='(.*)'$", printed, re.M))
    planted = [
        Path(f"/dev/shm/perfield-inject-{variables['PERFIELD_RUN_ID']}-{pair}") for pair in ("0-1", "1-0")
    ]
    try:
        for ring in planted:
            ring.write_bytes(b"planted" if whose != "too large" else bytes(1 << 24))
            ring.chmod(0o600 if whose in ("too large", "with another name") else 0o666)
            if whose == "of another user":
                os.chown(ring, 65534, 65534)
            if whose == "with another name":
                os.link(ring, f"{ring}-also")
        before = [ring.read_bytes() for ring in planted]
        assert mpi.run(2, program, env=variables, cwd=tmp_path).returncode == 0
        assert [ring.read_bytes() for ring in planted] == before
    finally:
        for ring in planted:
            ring.unlink(missing_ok=True)
            Path(f"{ring}-also").unlink(missing_ok=True)
