# SPDX-License-Identifier: BSD-3-Clause
"""The program's own file I/O: which calls are counted, with their bytes and time."""

from __future__ import annotations

import numpy as np
import pytest
from compiled.files_of_programs import IO, OPEN, of_steps


def sources_of(run) -> list[str]:
    """The sources that rank 0 had."""
    return run.rank_entries[0]["sources"]


# Each statement with its expected reads and writes: events, bytes.
DESCRIPTORS = [
    ("check(read(fd, data, n) == 64);", 1, 64, 0, 0),
    ("check(write(fd, data, n) == 64);", 0, 0, 1, 64),
    ("check(pread(fd, data, n, 8) == 64);", 1, 64, 0, 0),
    ("check(pread64(fd, data, n, 8) == 64);", 1, 64, 0, 0),
    ("check(pwrite(fd, data, n, 8) == 64);", 0, 0, 1, 64),
    ("check(pwrite64(fd, data, n, 8) == 64);", 0, 0, 1, 64),
    ("check(readv(fd, both, 2) == 30);", 1, 30, 0, 0),
    ("check(writev(fd, both, 2) == 30);", 0, 0, 1, 30),
    ("check(preadv(fd, both, 2, 8) == 30);", 1, 30, 0, 0),
    ("check(preadv64(fd, both, 2, 8) == 30);", 1, 30, 0, 0),
    ("check(pwritev(fd, both, 2, 8) == 30);", 0, 0, 1, 30),
    ("check(pwritev64(fd, both, 2, 8) == 30);", 0, 0, 1, 30),
    ("check(preadv2(fd, both, 2, 8, 0) == 30);", 1, 30, 0, 0),
    ("check(preadv64v2(fd, both, 2, 8, 0) == 30);", 1, 30, 0, 0),
    ("check(pwritev2(fd, both, 2, 8, 0) == 30);", 0, 0, 1, 30),
    ("check(pwritev64v2(fd, both, 2, 8, 0) == 30);", 0, 0, 1, 30),
    ("check(fsync(fd) == 0);", 0, 0, 1, 0),
    ("check(fdatasync(fd) == 0);", 0, 0, 1, 0),
    ("check(pread(fd, data, n, 1 << 20) == 0);", 1, 0, 0, 0),  # behind its end
    ("check(pread(fd, data, n, 8192 - 10) == 10);", 1, 10, 0, 0),  # less than was asked for
]
STREAMS = [
    ("check(fwrite(data, 8, n, out) == 64);", 0, 0, 1, 512),
    ("check(fwrite_unlocked(data, 1, n, out) == 64);", 0, 0, 1, 64),
    ("check(fputs(text, out) >= 0);", 0, 0, 1, 9),
    ("check(fputs_unlocked(text, out) >= 0);", 0, 0, 1, 9),
    ("check(fputc('x', out) == 'x');", 0, 0, 1, 1),
    ("check(putc('x', out) == 'x');", 0, 0, 1, 1),
    ('check(fprintf(out, "%d %s", 12, text) == 12);', 0, 0, 1, 12),
    ('check(formatted(out, "%d %s", 12, text) == 12);', 0, 0, 1, 12),
    ("check(fflush(out) == 0);", 0, 0, 1, 0),
    ("check(fflush(out) == 0);", 0, 0, 0, 0),  # nothing left
    ("check(fread(data, 8, n, in) == 64);", 1, 512, 0, 0),
    ("check(fread_unlocked(data, 1, n, in) == 64);", 1, 64, 0, 0),
    ("check(fgetc(in) != EOF);", 1, 1, 0, 0),
    ("check(getc(in) != EOF);", 1, 1, 0, 0),
    ("rewind(in); check(fgets(data, (int)n, in));", 1, 10, 0, 0),
    ("rewind(in); check(fgets_unlocked(data, (int)n, in));", 1, 10, 0, 0),
    ("rewind(in); check(getline(&line, &room, in) == 10);", 1, 10, 0, 0),
    ("rewind(in); check(getdelim(&line, &room, ' ', in) == 4);", 1, 4, 0, 0),
    ('rewind(in); check(fscanf(in, "%d %d", &a, &b) == 2 && a == 123 && b == 56);', 1, 6, 0, 0),
    ('rewind(in); check(scanned(in, "%d %d", &a, &b) == 2 && b == 56);', 1, 6, 0, 0),
    # Its buffer ends within the number, and is filled again.
    ("fseek(in, 4092, SEEK_SET); check(fread(data, 1, 3, in) == 3);", 1, 3, 0, 0),
    ('check(fscanf(in, "%9s", data) == 1);', 1, 4, 0, 0),
    ("fseek(in, 0, SEEK_END); check(fread(data, 1, n, in) == 0 && feof(in));", 1, 0, 0, 0),
    ("check(fputs(text, out) >= 0); check(fclose(out) == 0);", 0, 0, 2, 9),
]
STREAMS_OPEN = """
FILE *in = fopen("data", "r"), *out = fopen("out", "w");
const char* text = "some text"; char* line = NULL; size_t room = 0; int a, b;
check(in && out);
"""
VALUES = """
static int formatted(FILE* f, const char* format, ...) {
  va_list values; va_start(values, format); int r = vfprintf(f, format, values); va_end(values); return r;
}
static int scanned(FILE* f, const char* format, ...) {
  va_list values; va_start(values, format); int r = vfscanf(f, format, values); va_end(values); return r;
}
"""


@pytest.mark.parametrize("fortified", [False, True])
def test_every_read_and_write_call_is_counted_with_bytes(counted, fortified):
    flags = ["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-O2"] if fortified else ["-fno-builtin"]
    ways = [*DESCRIPTORS, *STREAMS]
    body = OPEN + "struct iovec both[2] = {{data, 10}, {data + 100, 20}};" + STREAMS_OPEN
    body += "".join(f"{way[0]} perfield_step(1, 1.0);\n" for way in ways)
    run, _ = counted(body, before=VALUES, flags=flags)
    found = of_steps(run)[1:]
    for way, step in zip(ways, found):
        assert step == way[1:], way[0]
    assert len(found) == len(ways)
    assert "io" in sources_of(run)


# The same, from the file `fd` to the file `to` and to the socket `out`.
BETWEEN = [
    ("check(sendfile(to, fd, &at, 64) == 64);", 1, 64, 1, 64),
    ("check(sendfile64(out, fd, &at64, 64) == 64);", 1, 64, 0, 0),
    ("check(copy_file_range(fd, &at64, to, NULL, 64, 0) == 64);", 1, 64, 1, 64),
    ("check(splice(fd, &at64, ends[1], NULL, 64, 0) == 64);", 1, 64, 0, 0),
    ("check(splice(ends[0], NULL, to, NULL, 64, 0) == 64);", 0, 0, 1, 64),
    ("check(sendfile(to, -1, &at, 64) == -1);", 0, 0, 1, 0),
]
ASYNCHRONOUS = [
    ("block.aio_nbytes = 100; check(aio_read(&block) == 0); ended(&block, 100);", 1, 100, 0, 0),
    ("block.aio_nbytes = 80; check(aio_write(&block) == 0); ended(&block, 80);", 0, 0, 1, 80),
    ("check(lio_listio(LIO_WAIT, list, 2, NULL) == 0); ended(list[0], 10);", 1, 10, 1, 20),
]


def test_calls_between_files_count_on_both_sides(counted):
    body = (
        OPEN
        + """
      int to = open("to", O_RDWR | O_CREAT, 0600), ends[2], pair[2];
      check(to >= 0 && pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
      int out = pair[0]; off_t at = 0; off64_t at64 = 0;
    """
    )
    body += "".join(f"{way[0]} perfield_step(1, 1.0);\n" for way in BETWEEN)
    run, _ = counted(body, before="#include <sys/sendfile.h>")
    for way, step in zip(BETWEEN, of_steps(run)[1:], strict=True):
        assert step == way[1:], way[0]


def test_asynchronous_reads_and_writes_count_when_they_start(counted):
    body = (
        OPEN
        + """
      char in[100];
      struct aiocb block = {.aio_fildes = fd, .aio_buf = data, .aio_sigevent.sigev_notify = SIGEV_NONE};
      struct aiocb first = block, second = block, *list[2] = {&first, &second};
      first.aio_lio_opcode = LIO_READ; first.aio_nbytes = 10; first.aio_buf = in;
      second.aio_lio_opcode = LIO_WRITE; second.aio_nbytes = 20;
    """
    )
    body += "".join(f"{way[0]} perfield_step(1, 1.0);\n" for way in ASYNCHRONOUS)
    run, _ = counted(
        body,
        before="""
        #include <aio.h>
        static void ended(struct aiocb* block, ssize_t bytes) {
          while (aio_error(block) == EINPROGRESS) aio_suspend((const struct aiocb* const*)&block, 1, NULL);
          check(aio_return(block) == bytes);
        }
        """,
    )
    for way, step in zip(ASYNCHRONOUS, of_steps(run)[1:], strict=True):
        assert step == way[1:], way[0]


UNSEEN = {
    "mapped file": (
        """check(ftruncate(fd, 2 << 20) == 0);
           check(mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED);""",
        "this program maps files into its memory (as data); what it reads",
    ),
    "io_uring": (
        """char room[120] = {0};  /* struct io_uring_params */
           int ring = (int)syscall(425, 8, room); if (ring < 0) exit(77);
           check(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0) != MAP_FAILED);""",
        "this program uses io_uring; what it reads",
    ),
    "kernel's aio": (
        "unsigned long context = 0; check(syscall(SYS_io_setup, 8, &context) == 0);",
        "this program uses the kernel's asynchronous I/O (io_submit); what it reads",
    ),
}


@pytest.mark.parametrize("way", UNSEEN)
def test_io_that_is_not_seen_is_reported_once(counted, way):
    opens, sentence = UNSEEN[way]
    body = OPEN + opens + "for (int s = 1; s < 9; ++s) perfield_step(s, s);"
    _, result = counted(body, before="#include <sys/mman.h>\n#include <sys/syscall.h>", check=False)
    if result.returncode == 77:
        pytest.skip("this kernel or container forbids io_uring")
    assert result.returncode == 0, result.stderr
    assert result.stderr.count(sentence) == 1
    assert result.stderr.count("is not counted among its files") == 1


def test_shared_memory_and_libraries_are_no_unseen_files(counted):
    """Neither memory shared between processes, nor private and small mappings, nor files that are gone."""
    body = (
        OPEN
        + """
      check(ftruncate(fd, 2 << 20) == 0);
      int shared = shm_open("/perfield-test", O_RDWR | O_CREAT, 0600), memory = memfd_create("m", 0);
      check(shm_unlink("/perfield-test") == 0 && ftruncate(shared, 2 << 20) == 0);
      check(ftruncate(memory, 2 << 20) == 0);
      check(mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0) != MAP_FAILED);
      check(mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0) != MAP_FAILED);
      check(mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
      check(mmap(NULL, 2 << 20, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
      check(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED);
      for (int s = 1; s < 9; ++s) perfield_step(s, s);
    """
    )
    _, result = counted(body, before="#include <sys/mman.h>")
    assert "not counted among its files" not in result.stderr


def test_standard_output_and_error_count_as_files(counted):
    run, result = counted(
        OPEN
        + """
      check(write(1, "one\\n", 4) == 4); perfield_step(1, 1.0);
      check(printf("%s\\n", "words") == 6); perfield_step(2, 2.0);
      check(puts("line") >= 0); perfield_step(3, 3.0);
      check(putchar('!') == '!'); perfield_step(4, 4.0);
      check(fprintf(stderr, "%d", 12) == 2); perfield_step(5, 5.0);
      """,
        flags=["-fno-builtin"],
    )
    assert result.stdout == "one\nwords\nline\n!"
    assert [step[2:] for step in of_steps(run)[1:]] == [(1, 4), (1, 6), (1, 5), (1, 1), (1, 2)]


def test_sockets_pipes_and_memory_streams_are_not_counted(counted):
    run, _ = counted(
        OPEN
        + """
      int ends[2], pair[2]; char got[64];
      check(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
      check(write(ends[1], data, 64) == 64 && read(ends[0], got, 64) == 64);
      check(write(pair[1], data, 64) == 64 && read(pair[0], got, 64) == 64);
      int null = open("/dev/null", O_WRONLY);
      check(write(null, data, 64) == 64);
      FILE* memory = fmemopen(got, sizeof got, "w");
      check(fprintf(memory, "some words") == 10 && fclose(memory) == 0);
      char* text; size_t size; memory = open_memstream(&text, &size);
      check(fprintf(memory, "some words") == 10 && fclose(memory) == 0 && size == 10);
      FILE* child = popen("cat", "w");
      check(fputs("", child) >= 0 && pclose(child) == 0);
      perfield_step(1, 1.0);
      """,
    )
    assert of_steps(run)[1:] == [(0, 0, 0, 0)]


def test_reused_descriptor_is_checked_again(counted):
    run, _ = counted(
        OPEN
        + """
      int ends[2]; char got[8];
      check(pipe(ends) == 0);
      int other = dup(ends[1]);
      check(write(other, data, 8) == 8); /* a pipe */
      check(dup2(fd, other) == other && pwrite(other, data, 8, 0) == 8); /* a file */
      check(dup3(ends[1], other, 0) == other && write(other, data, 8) == 8); /* a pipe */
      close(other);
      FILE* file = fopen("second", "w+"); /* the same number */
      check(fileno(file) == other && fputs("12345", file) >= 0 && fflush(file) == 0);
      fclose(file);
      check(dup(ends[1]) == other && write(other, data, 8) == 8); /* a pipe */
      perfield_step(1, 1.0);
      /* Numbers beyond those that are remembered are asked each time. */
      check(fcntl(fd, F_DUPFD, 70000) >= 0 || errno == EINVAL);
      """,
    )
    assert of_steps(run)[1] == (0, 0, 3, 13)


def test_custom_stream_writes_are_counted_once(counted):
    run, _ = counted(
        OPEN
        + """
      cookie_io_functions_t functions = {.write = put};
      FILE* stream = fopencookie(&fd, "w", functions);
      check(fwrite(data, 1, 100, stream) == 100 && fflush(stream) == 0);
      perfield_step(1, 1.0);
      """,
        before="static ssize_t put(void* fd, const char* d, size_t n) { return write(*(int*)fd, d, n); }",
    )
    assert of_steps(run)[1] == (0, 0, 1, 100)


def test_io_time_covers_system_calls_and_is_not_compute_time(counted):
    run, _ = counted(
        OPEN
        + """
      int ends[2]; check(pipe(ends) == 0 && dup2(ends[0], 0) == 0);
      if (fork() == 0) { usleep(150000); check(write(ends[1], "x", 1) == 1); _exit(0); }
      check(read(0, data, 1) == 1);
      perfield_step(1, 1.0);
      work(30);
      FILE* out = fopen("out", "w");
      check(setvbuf(out, NULL, _IOFBF, 4096) == 0);
      check(fputc('x', out) == 'x' && fputc('x', out) == 'x'); /* the second goes into the buffer */
      perfield_step(2, 2.0);
      """,
        real_time=True,
    )
    waits, works = run.frame(1).values, run.frame(2).values
    outside_s = [
        np.nansum([of["compute_time_s"][0], of["delayed_compute_time_s"][0]]) for of in (waits, works)
    ]
    assert 0.14 < waits["io_time_s"][0] <= waits["step_time_s"][0]
    assert outside_s[0] == pytest.approx(waits["step_time_s"][0] - waits["io_time_s"][0])
    assert works["io_time_s"][0] < 0.03 <= outside_s[1]


def test_perfields_own_writes_are_not_counted(counted):
    run, _ = counted(
        """
      perfield_initialize();
      double origin[3] = {0}, spacing[3] = {1, 1, 1}; int extent[6] = {0, 9, 0, 9, 0, 9};
      for (int step = 0; step < 50; ++step) {
        if (step == 1) perfield_mesh_image(0, extent, origin, spacing);
        perfield_begin("solve"); work(1); perfield_end("solve");
        perfield_step(step, step);
      }
      """,
        env={"PERFIELD_STEP_SECONDS": "0"},
    )
    assert set(of_steps(run)) == {(0, 0, 0, 0)}
    frames = [run.setup, *run.frames(), run.teardown]
    assert all(frame.values["io_time_s"][0] == 0 for frame in frames if frame is not None)


def test_clock_windows_count_files_but_not_their_own_closing(counted):
    run, _ = counted(
        """
      perfield_initialize();
      int fd = open("data", O_RDWR | O_CREAT, 0600);
      for (int i = 0; i < 40; ++i) { check(write(fd, data, 10) == 10); usleep(5000); }
      """,
        real_time=True,
        env={"PERFIELD_STEP_SECONDS": "0.02"},
    )
    frames = [run.setup, *run.frames(), run.teardown]
    written = sum(frame.values["io_write_bytes"][0] for frame in frames if frame is not None)
    assert (written, len(run) > 3) == (400, True)


def test_io_is_absent_without_a_source(counted):
    run, _ = counted(OPEN + 'perfield_begin("x"); perfield_end("x");', env={"PERFIELD_IO": "false"})
    assert "io" not in sources_of(run)
    for name in (*IO, "io_time_s"):
        assert np.isnan(run.frame(0).values[name]).all(), name


def test_values_equal_frames_and_stderr_lines_begin_no_step(counted, tmp_path):
    run, _ = counted(
        OPEN
        + """
      perfield_value values[100];
      FILE* noted = fopen("noted", "w");
      for (int step = 1; step < 4; ++step) {
        perfield_begin("solve"); work(1); perfield_end("solve");
        check(pwrite(fd, data, n + step, 0) > 0 && pread(fd, data, n, 0) == 64);
        perfield_step(step, step);
        printf("step %d\\n", step); /* belongs to the next */
        int found = perfield_values(100, values);
        for (int i = 0; i < found; ++i)
          if (strstr(values[i].name, "io_") == values[i].name || !strcmp(values[i].name, "compute_time_s"))
            fprintf(noted, "%d %s %.17g\\n", step, values[i].name, values[i].value);
      }
      fclose(noted);
      """,
    )
    rows = [line.split() for line in (tmp_path / "noted").read_text().splitlines()]
    assert len(rows) == 3 * 6
    for step, name, value in rows:
        assert run.frame(int(step)).values[name][0] == float(value), name
    assert run.frame(3).values["io_write_count"][0] == 1 + 1 + 6  # the file, the line, the lines of `noted`
