# SPDX-License-Identifier: BSD-3-Clause
"""Counting files does not change the program: errors, threads, children, signals, cancellation."""

from __future__ import annotations

from compiled.files_of_programs import OPEN, of_steps


def test_failed_calls_count_without_bytes_and_keep_errno(counted):
    run, _ = counted(
        OPEN
        + """
      int only = open("data", O_RDONLY);
      errno = 7777;
      check(read(only, data, 8) == 8 && errno == 7777); /* asked for the first time */
      perfield_step(1, 1.0);
      check(write(only, data, 8) == -1 && errno == EBADF);
      check(pread(fd, data, 8, -1) == -1 && errno == EINVAL);
      check(write(fd, (void*)8, 8) == -1 && errno == EFAULT);
      perfield_step(2, 2.0);
      check(dlerror() == NULL); /* of functions that were looked for */
      errno = 0;
      check(write(-1, data, 8) == -1 && errno == EBADF);
      check(read(77, data, 8) == -1 && errno == EBADF);
      check(close(77) == -1 && errno == EBADF);
      check(dup2(77, 78) == -1 && errno == EBADF);
      FILE* file = fopen("data", "r");
      errno = 0;
      check(fputs("x", file) == EOF && errno == EBADF);
      perfield_step(3, 3.0);
      """,
        flags=["-Wno-nonnull", "-Wno-stringop-overread", "-ldl"],
    )
    assert of_steps(run)[1:] == [(1, 8, 0, 0), (1, 0, 2, 0), (0, 0, 1, 0)]


def test_writes_of_all_threads_are_counted(counted):
    run, _ = counted(
        OPEN
        + """
      pthread_t thread[4];
      for (int i = 0; i < 4; ++i) pthread_create(&thread[i], NULL, writes, &fd);
      for (int i = 0; i < 4; ++i) pthread_join(thread[i], NULL);
      perfield_step(1, 1.0);
      """,
        before="""
      static void* writes(void* fd) {
        FILE* shared = fdopen(dup(*(int*)fd), "a");
        for (int i = 0; i < 1000; ++i) {
          check(pwrite(*(int*)fd, data, 10, 0) == 10);
          check(fputs("12345", shared) >= 0);
        }
        fclose(shared);
        return NULL;
      }""",
        flags=["-lpthread"],
    )
    # Each stream's end, too, has something to write.
    assert of_steps(run)[1] == (0, 0, 4 * (1000 + 1000 + 1), 4 * 1000 * 15)


def test_child_is_not_counted_and_parent_goes_on(counted):
    run, _ = counted(
        OPEN
        + """
      pid_t child = fork();
      if (child == 0) {
        for (int i = 0; i < 100; ++i) check(pwrite(fd, data, 64, 0) == 64);
        _exit(0);
      }
      int status; check(waitpid(child, &status, 0) == child && status == 0);
      check(pwrite(fd, data, 64, 0) == 64);
      perfield_step(1, 1.0);
      """,
    )
    assert of_steps(run)[1] == (0, 0, 1, 64)


def test_signal_handlers_may_write_and_longjmp(counted):
    run, _ = counted(
        OPEN
        + """
      to = fd;
      signal(SIGUSR1, handler);
      raise(SIGUSR1);
      perfield_step(1, 1.0);
      /* A read of standard input that never returns. */
      int ends[2]; check(pipe(ends) == 0 && dup2(ends[0], 0) == 0);
      signal(SIGALRM, leave);
      if (sigsetjmp(place, 1) == 0) { ualarm(20000, 0); check(read(0, data, 1) == 0); }
      check(pwrite(fd, data, 7, 0) == 7); /* on a frame that is not inside the abandoned call */
      perfield_step(2, 2.0);
      """,
        before="""
      static int to; static sigjmp_buf place;
      static void handler(int s) { (void)s; check(pwrite(to, data, 5, 0) == 5); }
      static void leave(int s) { (void)s; siglongjmp(place, 1); }
      """,
    )
    assert [step[2:] for step in of_steps(run)[1:]] == [(1, 5), (1, 7)]


def test_thread_may_be_cancelled_while_reading(counted):
    run, _ = counted(
        OPEN
        + """
      int ends[2]; check(pipe(ends) == 0 && dup2(ends[0], 0) == 0);
      pthread_t thread; void* result;
      pthread_create(&thread, NULL, reads, NULL);
      usleep(20000);
      pthread_cancel(thread);
      check(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED && cleaned);
      pthread_create(&thread, NULL, writes, &fd); /* may get what the other one has left behind */
      pthread_join(thread, NULL);
      perfield_step(1, 1.0);
      """,
        before="""
      static int cleaned;
      static void clean(void* p) { (void)p; cleaned = 1; }
      static void* reads(void* p) {
        pthread_cleanup_push(clean, NULL);
        (void)!read(0, data, 1);
        pthread_cleanup_pop(0);
        return p;
      }
      static void* writes(void* fd) { check(pwrite(*(int*)fd, data, 3, 0) == 3); return NULL; }
      """,
        flags=["-lpthread"],
    )
    assert of_steps(run)[1][2:] == (1, 3)
