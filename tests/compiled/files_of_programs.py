# SPDX-License-Identifier: BSD-3-Clause
"""Shared by tests of file I/O: parts of their C programs, and a reader of its fields."""

from __future__ import annotations

# For all programs. `check` prints the line of a false condition and ends the program.
BEFORE = """
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#define check(what) do { if (!(what)) { fprintf(stderr, "%d: %s\\n", __LINE__, #what); exit(99); } } while (0)
static char data[8192];
static volatile size_t n = 64; /* volatile, so that the compiler does not know it */
"""
OPEN = """
perfield_initialize();
memset(data, 'x', sizeof data);
for (int i = 0; i < 8192; i += 32) memcpy(data + i, "123 56 89\\n", 10);
int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
check(write(fd, data, sizeof data) == sizeof data);
check(lseek(fd, 0, SEEK_SET) == 0);
perfield_step(0, 0.0);
"""
IO = ("io_read_count", "io_read_bytes", "io_write_count", "io_write_bytes")


def of_steps(run) -> list[tuple[int, ...]]:
    """Events and bytes read, events and bytes written, in each step."""
    return [tuple(int(frame.values[name][0]) for name in IO) for frame in run.frames()]
