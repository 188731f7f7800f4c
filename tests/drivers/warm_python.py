# SPDX-License-Identifier: BSD-3-Clause
"""Runs code in forks of a Python that has made its imports, which take most of a short command's time.

A fork has its own folder, environment, streams, session and exit code, and nothing that other forks changed.
Variables that Python, the loader and libraries read at their start have no effect in it: see `READ_AT_START`.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import json
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

READ_AT_START = (
    *("PYTHON", "LC_", "LANG", "LD_", "PERFIELD_RUN"),
    *("HOME", "XDG_C", "MPL", "OMP_NUM", "OPENBLAS"),
)


class WarmPython:
    """A Python that starts at the first call, makes `imports`, and forks for each call."""

    def __init__(self, imports: str):
        self._imports = imports
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("PERFIELD_")}
        self._control: socket.socket | None = None

    def can_have(self, env: Mapping[str, str]) -> bool:
        """Whether a fork with this environment acts as a process of its own would."""
        names = {name for name in {*env, *self._env} if name.startswith(READ_AT_START)}
        return all(env.get(name) == self._env.get(name) for name in names)

    def start(self, code: str, argv: Sequence[str], env: Mapping[str, str] | None, cwd: Path) -> Fork:
        """Starts a fork that runs `code` as its main module.

        argv : what it finds in sys.argv. env : its environment, None: that of the imports.
        """
        if self._control is None:
            self._start()
        request = json.dumps({"code": code, "argv": argv, "env": env and dict(env), "cwd": os.fspath(cwd)})
        reply, its_reply = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        out, its_out = os.pipe()
        err, its_err = os.pipe()
        socket.send_fds(self._control, [request.encode()], [its_reply.fileno(), its_out, its_err])
        its_reply.close()
        for number in (its_out, its_err):
            os.close(number)
        return Fork(argv, reply, out, err)

    def _start(self) -> None:
        self._control, its_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, self._imports]
        pipes = {"stdin": its_control, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, env=self._env, cwd="/", text=True, **pipes)
        its_control.close()
        atexit.register(lambda: (self._control.close(), process.communicate()))
        if not self._control.recv(1):
            raise RuntimeError(f"a Python with imports for tests ended:\n{process.stderr.read()}")


class Fork:
    """A fork that runs; `args`, `pid`, `returncode` and `communicate` are as of subprocess.Popen."""

    used_s = 0.0  # CPU time of all forks that have ended

    def __init__(self, argv: Sequence[str], reply: socket.socket, out: int, err: int):
        self.args = list(argv)
        self.returncode: int | None = None
        self._reply = reply
        self._printed = ["", ""]
        self._readers = [
            threading.Thread(target=self._read, args=each, daemon=True) for each in ((0, out), (1, err))
        ]
        for reader in self._readers:
            reader.start()
        self.pid = int(self._answer())

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Waits until both streams and the fork have ended; returns what it printed on stdout and stderr.

        Raises subprocess.TimeoutExpired after `timeout` s; then it can be called again.
        """
        for reader in self._readers:
            reader.join(timeout)
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout)
        if self.returncode is None:
            status, used_s = self._answer().split()
            self.returncode = os.waitstatus_to_exitcode(int(status))
            Fork.used_s += float(used_s)
            self._reply.close()
        return self._printed[0], self._printed[1]

    def _read(self, n: int, pipe: int) -> None:
        with os.fdopen(pipe, errors="replace") as stream:
            self._printed[n] = stream.read()

    def _answer(self) -> str:
        answer = self._reply.recv(100).decode()
        if not answer:
            raise RuntimeError(f"the Python that forks for {' '.join(self.args)} has ended")
        return answer


def used_s() -> float:
    """CPU time in s of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(of.ru_utime + of.ru_stime for of in used)


def serve(control: socket.socket) -> str:
    """Forks for each request of `control`, until that is closed; returns in a fork, with the code to run."""
    uncounted_s = used_s()
    while True:
        request, descriptors, *_ = socket.recv_fds(control, 1 << 20, 3)
        if not request:
            sys.exit()
        if not os.fork():
            control.close()
            return _watch(json.loads(request), *descriptors, uncounted_s)
        uncounted_s = 0
        for number in descriptors:
            os.close(number)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _watch(request: dict, reply: int, out: int, err: int, uncounted_s: float) -> str:
    """Forks once more, and replies with the fork's number and how it ended; returns in that fork."""
    pid = os.fork()
    if not pid:
        os.close(reply)
        return _become(request, out, err)
    os.close(out)
    os.close(err)
    answers = socket.socket(fileno=reply)
    answers.send(str(pid).encode())
    status = os.waitpid(pid, 0)[1]
    with contextlib.suppress(BrokenPipeError):  # the test gave up
        answers.send(f"{status} {used_s() + uncounted_s}".encode())
    os._exit(0)


def _become(request: dict, out: int, err: int) -> str:
    """Makes this process what a new one would be at its start; returns its code."""
    os.setsid()
    for number, stream in enumerate((os.open(os.devnull, os.O_RDONLY), out, err)):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["cwd"])
    if request["env"] is not None:
        os.environ.clear()
        os.environ.update(request["env"])
    sys.argv[:] = request["argv"]
    return request["code"]


def run(code: str) -> None:
    """Runs the code of a main module; Python's end, which follows, is cut short by `end`."""
    global status
    try:
        exec(code, {"__name__": "__main__"})
        status = 0
    except SystemExit as stop:
        if not isinstance(stop.code, (int, type(None))):
            raise
        status = (stop.code or 0) & 255


def end() -> None:
    """Ends this process before Python frees its modules, which takes longer than most commands."""
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)  # ParaView's annotations lead Python's output into C's streams
    os._exit(status)


if __name__ == "__main__":
    status = 1  # if an exception ends it
    atexit.register(end)  # first, so that it is called last
    sys.path.pop(0)
    exec(sys.argv[1])
    its_control = socket.socket(fileno=os.dup(0))
    its_control.send(b".")
    gc.freeze()
    run(serve(its_control))
