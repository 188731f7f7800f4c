# SPDX-License-Identifier: BSD-3-Clause
"""perfield run stands in for its launcher: signals reach the launcher, and nothing outlives perfield run."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from compiled.c_programs import mpi_program
from conftest import clean_environment, kill_session

import perfield
from perfield.commands._signals import FORWARDED

# Prints each signal that it gets, and ends with exit code 7 when it reads "end" or gets SIGTERM twice.
LAUNCHER = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile int terms;
static void print_number(int number) {
  char line[32];
  if (write(1, line, snprintf(line, sizeof line, "got %d\n", number)) < 0) _exit(1);
  if (number == SIGTERM && ++terms == 2) _exit(7);
}
int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "--version")) return 0;
  for (int number = 1; number < 65; ++number) {
    struct sigaction before;
    if (number == SIGCHLD || number == SIGTSTP || number == SIGQUIT) continue;
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL) signal(number, print_number);
  }
  printf("pid %d\n", getpid()); fflush(stdout);
  for (;;) pause();
}
"""
RANKS = mpi_program(
    """
  perfield_initialize();
  printf("ready\\n"); fflush(stdout);
  for (int asked = 0, step = 0; !asked; ++step) {
    MPI_Allreduce(&flag, &asked, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    perfield_step(step, step);
    usleep(2000);
  }
  printf("checkpoint\\n"); fflush(stdout);
""",
    before="""#include <signal.h>
static int flag;
static void on_usr1(int number) { (void)number; flag = 1; }
__attribute__((constructor)) static void begin(void) { signal(SIGUSR1, on_usr1); }
""",
)


@pytest.fixture
def launcher(build_c) -> Path:
    """A fake launcher: it starts nothing, and prints the signals that it gets."""
    return build_c(LAUNCHER, name="launcher.c", mpi=False)


@pytest.fixture
def start(tmp_path):
    """start(*argv, **options of Popen): starts a command in a session that ends with the test."""
    started = []

    def popen(*argv: object, **options) -> subprocess.Popen:
        words = [str(word) for word in argv]
        kept = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True, **options}
        hup = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup's would be inherited
        process = subprocess.Popen(words, env=clean_environment(), cwd=tmp_path, text=True, **kept)
        signal.signal(signal.SIGHUP, hup)
        started.append(process)
        return process

    yield popen
    for process in started:
        kill_session(process.pid)
        process.communicate()


@pytest.fixture
def started(start, bin_dir, launcher):
    """started(**options of Popen): (perfield run, the pid of its launcher) once the launcher is ready."""

    def popen(**options) -> tuple[subprocess.Popen, int]:
        words = (bin_dir / "perfield", "run", "--launcher", launcher, "--", "true")
        process = start(*words, **options)
        return process, int(process.stdout.readline().split()[1])

    return popen


def state(pid: int) -> str:
    """The state of a process in /proc, "" if it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def pending(pid: int) -> bool:
    """Whether a signal waits for the process. One of the same number would be merged with it."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    masks = [int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd", "ShdPnd"))]
    return any(masks)


def reached(condition) -> bool:
    """Whether the condition comes true within a minute."""
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def end(process: subprocess.Popen) -> tuple[str, str]:
    """Ends the launcher of `started` by two SIGTERMs; returns what was printed since."""
    process.send_signal(signal.SIGTERM)
    out = process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    rest, err = process.communicate(timeout=60)
    return out + rest, err


def test_each_signal_reaches_the_launcher_once(start, launcher):
    """Also where other threads of this process, as NumPy's in perfield lab inject, may get it."""
    script = """
import sys, threading, time
from perfield.commands._signals import completed
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
with completed(sys.argv[1:]) as ended:
    print(ended.code, sorted(ended.sent), flush=True)
"""
    process = start(sys.executable, "-c", script, launcher)
    process.stdout.readline()
    sent = sorted(FORWARDED - {signal.SIGTERM, signal.SIGTSTP, signal.SIGQUIT})
    assert {signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT, signal.SIGINT, signal.SIGHUP} < set(sent)
    for number in sent:
        process.send_signal(number)
        assert process.stdout.readline() == f"got {number}\n"
    out, err = end(process)
    assert out.splitlines() == ["got 15", "got 15", f"7 {sorted(map(int, [*sent, 15]))}"], err


def test_signal_to_the_process_group_reaches_the_launcher_once(started):
    process, _ = started()
    os.killpg(process.pid, signal.SIGUSR1)
    assert process.stdout.readline() == "got 10\n"
    assert end(process)[0] == "got 15\ngot 15\n"
    assert process.returncode == 7


def test_key_of_the_terminal_reaches_the_launcher_once(started):
    outer, inner = pty.openpty()

    def own_terminal() -> None:
        fcntl.ioctl(inner, termios.TIOCSCTTY, 0)

    process, launcher = started(stdin=inner, preexec_fn=own_terminal)
    os.write(outer, b"\x03")
    assert process.stdout.readline() == "got 2\n"
    assert reached(lambda: not pending(process.pid))
    process.send_signal(signal.SIGINT)  # from another terminal: to perfield run alone
    assert process.stdout.readline() == "got 2\n"
    assert os.getpgid(launcher) == os.getpgid(process.pid)  # so it may read from the terminal
    assert end(process)[0] == "got 15\ngot 15\n"
    os.close(outer)
    os.close(inner)


def test_launcher_that_dies_of_a_signal_gives_the_exit_code_of_a_shell(started):
    process, _ = started()
    process.send_signal(signal.SIGQUIT)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGQUIT


def test_launcher_ends_if_perfield_is_killed(started):
    process, launcher = started()
    process.kill()
    assert process.stdout.readline() == "got 15\n"
    os.kill(launcher, signal.SIGTERM)
    assert reached(lambda: state(launcher) in ("", "Z"))


def test_program_without_a_launcher_is_killed_with_perfield(start, bin_dir, launcher):
    process = start(bin_dir / "perfield", "run", "--launcher", "", "--", launcher)
    program = int(process.stdout.readline().split()[1])
    process.kill()
    assert reached(lambda: state(program) in ("", "Z"))


def test_perfield_stops_and_resumes_with_the_launcher(started):
    process, launcher = started()
    process.send_signal(signal.SIGTSTP)
    assert reached(lambda: state(launcher) == state(process.pid) == "T")
    process.send_signal(signal.SIGCONT)
    assert process.stdout.readline() == f"got {int(signal.SIGCONT)}\n"
    assert state(launcher) != "T" and state(process.pid) != "T"


def test_hang_up_that_nohup_ignores_reaches_nobody(started):
    process, _ = started(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGUSR2)
    assert process.stdout.readline() == f"got {int(signal.SIGUSR2)}\n"


def test_signals_during_the_summary_end_only_the_summary(start):
    script = """
import os, signal
from perfield.commands._signals import completed
with completed(["true"]) as ended:
    os.kill(os.getpid(), signal.SIGUSR1)
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    except KeyboardInterrupt:
        print("interrupted", ended.code, flush=True)
os.kill(os.getpid(), signal.SIGTERM)
"""
    process = start(sys.executable, "-c", script)
    out, err = process.communicate(timeout=60)
    assert (out, process.returncode) == ("interrupted 0\n", -signal.SIGTERM), err


def test_ranks_are_asked_for_a_checkpoint_and_go_on(start, bin_dir, build_c, mpi, tmp_path):
    words = (f"mpirun.{mpi.name}", "-n", 2, "--", build_c(RANKS, by=mpi))
    process = start(bin_dir / "perfield", "run", "--launcher", *words)
    said = ""
    while said.count("ready") < 2:  # hydra mixes lines of ranks
        line = process.stdout.readline()
        assert line, process.communicate()
        said += line
    process.send_signal(signal.SIGUSR1)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.count("checkpoint") == 2
    assert perfield.open(tmp_path / "perfield-run").state == "finished"
    assert "perfield report perfield-run" in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_ended_ranks_leave_their_steps_and_a_summary(start, bin_dir, build_c, tmp_path, number):
    process = start(bin_dir / "perfield", "run", "-n", 2, "--", build_c(RANKS))
    assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    stream = tmp_path / "perfield-run/stream"
    assert reached(lambda: any(file.stat().st_size > 10000 for file in stream.iterdir()))
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1, err  # mpirun's
    run = perfield.open(tmp_path / "perfield-run")
    assert len(run) > 1 and not run.damage
    assert f"{len(run)} on 2 ranks" in err and "not enough slots" not in err
    assert all(state(entry["pid"]) in ("", "Z") for entry in run.rank_entries)
