# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command in place of perfield, which sends signals on to it and which it does not outlive."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from perfield._bridge import catch_signals, release_signals

ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})
# The others are faults of this process, or belong to job control.
FORWARDED = frozenset(signal.valid_signals()) - {
    *(signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGTTIN, signal.SIGTTOU, signal.SIGPIPE),
    *(signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS),
}
PR_SET_PDEATHSIG = 1  # of prctl(2)
REPEATED_S = 0.02  # `timeout` sends each signal to its command, and then to the command's group


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code as a shell has it, and the signals that it was sent."""

    code: int
    sent: frozenset[int]


@contextmanager
def completed(
    command: list[str],
    on_our_death: int = signal.SIGTERM,
    watch: Callable[[int], float | None] = lambda pid: None,
) -> Iterator[Ended]:
    """Runs a command to its end, then the body; signals that end processes interrupt the body.

    Until the command ends, each signal that this process gets goes to the command, which decides what it
    means. If the command stops, so does this process. In the body, SIGINT, SIGTERM, SIGHUP and SIGQUIT raise
    KeyboardInterrupt. Signals that ask a program for something else then have no receiver, and are dropped.

    on_our_death : what the kernel sends the command if this process is killed (Linux). watch : is called with
    the command's process id while it runs, and again after the seconds that it returns, until that is None.
    Raises OSError if the command cannot be started.
    """
    ignored = {number for number in FORWARDED if signal.getsignal(number) is signal.SIG_IGN}
    ignored.discard(signal.SIGXFSZ)  # by Python itself
    # nohup: the user wants no end by a hang-up, which Open MPI's mpirun would be.
    caught = (FORWARDED | {signal.SIGCHLD}) - (ignored & {signal.SIGHUP})
    before = {number: signal.getsignal(number) for number in ENDING & caught}
    read_end, write_end = os.pipe()
    catch_signals(sorted(caught), write_end)
    try:
        ended = _run(command, ignored, on_our_death, read_end, watch)
        for number in before:
            signal.signal(number, signal.default_int_handler)
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        release_signals()
        os.close(read_end)
        os.close(write_end)


def _run(
    command: list[str],
    ignored: set[int],
    on_our_death: int,
    read_end: int,
    watch: Callable[[int], float | None],
) -> Ended:
    """Runs a command while `read_end` has our signals. ignored : those that are ignored from the start."""
    own_group = not _in_foreground()
    process = _start(command, ignored, on_our_death, own_group)
    sent: set[int] = set()
    pause = watch(process.pid)
    while True:
        while pause is not None and not _is_readable(read_end, pause):
            pause = watch(process.pid)
        events = os.read(read_end, 2)
        if events[0] != signal.SIGCHLD:
            time.sleep(REPEATED_S)
        events += os.read(read_end, 1022) if _is_readable(read_end) else b""
        got = dict.fromkeys(zip(events[::2], events[1::2]))  # one signal of several that came at once
        for number, is_from_terminal in got:
            if number == signal.SIGCHLD or (is_from_terminal and not own_group):
                continue  # else the command got it, too
            sent.add(number)
            # A terminal sends a signal to all of the group that it thinks the command's.
            with contextlib.suppress(OSError):  # it runs with other rights
                (os.killpg if is_from_terminal else os.kill)(process.pid, number)
        code = _exit_code(process.pid)
        if code is not None:
            process.returncode = code  # nobody must wait for it again
            return Ended(code if code >= 0 else 128 - code, frozenset(sent))


def _start(command: list[str], ignored: set[int], on_our_death: int, own_group: bool) -> subprocess.Popen:
    parent = os.getpid()
    prctl = ctypes.CDLL(None).prctl

    def prepare() -> None:  # runs in the child
        if own_group:
            os.setpgid(0, 0)
        prctl(PR_SET_PDEATHSIG, on_our_death)
        if os.getppid() != parent:
            os._exit(1)
        for number in FORWARDED:
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    # Between fork and exec the child has our handlers, which must not write to our pipe there.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    try:
        return subprocess.Popen(command, preexec_fn=prepare)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _in_foreground() -> bool:
    """Whether this process is in the foreground group of its terminal.

    The command must then be in that group, too, to read from the terminal, which sends it signals of keys.
    Everywhere else it gets a group of its own, so that a signal to our group reaches it once, by us.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:  # there is none
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _is_readable(descriptor: int, within_s: float = 0) -> bool:
    return bool(select.select([descriptor], [], [], within_s)[0])


def _exit_code(pid: int) -> int | None:
    """The exit code of the command if it has ended, negative for a signal. Stops us where it stopped."""
    while True:
        found, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if found == 0:
            return None
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        os.kill(os.getpid(), signal.SIGSTOP)  # until the SIGCONT that we send on
