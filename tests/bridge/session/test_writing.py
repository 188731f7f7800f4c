# SPDX-License-Identifier: BSD-3-Clause
"""Writes that fail, for a while or for good: what is lost, what is reported, and that the program runs on."""

from __future__ import annotations

import re

import pytest
from compiled.c_programs import c_program

import perfield
from twins import twin

# The program's own functions of the C library: writes to a stream or a mesh fail while fails(n) says
# so, where n counts them from 0. Half of what is to be written reaches the disk where it returns -1.
FAILING = """
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
static int attempts, failures;
static const char* path_of(int file) {
  static char name[4096];
  char link[64];
  sprintf(link, "/proc/self/fd/%%d", file);
  ssize_t n = syscall(SYS_readlink, link, name, sizeof name - 1);
  name[n > 0 ? n : 0] = 0;
  return name;
}
static int step;
static int fails(int n, const char* path) { %s }
static ssize_t any_write(int file, const void* bytes, size_t n, ssize_t (*really)(int, const void*, size_t)) {
  if (file < 3 || !strstr(path_of(file), ".pf")) return really(file, bytes, n);
  int error = fails(attempts++, path_of(file));
  if (!error) return really(file, bytes, n);
  ++failures;
  if (error > 0) return errno = error, -1;
  return 0;
}
static ssize_t one(int file, const void* bytes, size_t n) { return syscall(SYS_write, file, bytes, n); }
static ssize_t many(int file, const void* parts, size_t n) { return syscall(SYS_writev, file, parts, n); }
static ssize_t half(int file, const void* bytes, size_t n) { return one(file, bytes, n / 2); }
ssize_t write(int file, const void* bytes, size_t n) {
  ssize_t done = any_write(file, bytes, n, one);
  return done || !n ? done : half(file, bytes, n);
}
ssize_t writev(int file, const struct iovec* parts, int n) {
  ssize_t done = any_write(file, parts, (size_t)n, many);
  return done ? done : half(file, parts[1].iov_base, parts[1].iov_len);
}
"""
SHORT = -1  # as error: half of it is written

STEPS = """
  perfield_initialize();
  for (step = 0; step < %d; ++step) {
    const char* name = step < 5 ? "early" : "late";
    perfield_begin(name); work(%s); perfield_end(name);
    perfield_step(step, step);
  }
  perfield_finalize();
  printf("the answer is 42 after %%d failures of %%d", failures, attempts);
"""
# Small tables, so that few entries can wait for a full disk.
SMALL = {"PERFIELD_MAX_REGIONS": "16", "PERFIELD_MAX_PEERS": "16"}


def failing(when: str) -> str:
    """Text at file scope; when : the body of fails(n, path), an errno, SHORT, or 0 to succeed."""
    return FAILING % when


def steps_of(run) -> list[int]:
    """The steps that are there, each with exactly its own count."""
    found = []
    for frame in run.frames():
        if not frame.present.any():
            continue
        name = "early_count" if frame.label < 5 else "late_count"
        assert frame.values[name].tolist() == [1]
        found.append(frame.label)
    return found


def warnings_of(result) -> list[str]:
    """What perfield said about writing."""
    return re.findall("^perfield: .*(?:writ|missing|safe|closing).*", result.stderr, re.M)


@pytest.mark.parametrize("error", ["ENOSPC", "EDQUOT", "EIO", "EINTR", "EAGAIN", "EFBIG", str(SHORT)])
@pytest.mark.parametrize("first", [0, 4])
def test_one_failed_write_loses_nothing(measured, error, first):
    when = f"return n == {first} ? {error} : 0;"
    run, result = measured(STEPS % (20, "1"), before=failing(when))
    assert result.stdout.startswith("the answer is 42 after 1 failures")
    assert steps_of(run) == list(range(20))
    assert (run.state, run.ends[0]["missing"]) == ("finished", 0)
    assert not any("lost" in sentence for sentence in run.damage)
    assert len(warnings_of(result)) == (0 if error == "EINTR" else 1)
    assert "measuring ends" not in result.stderr


def test_only_the_torn_entry_is_passed_over(measured):
    run, _ = measured(STEPS % (20, "1"), before=failing(f"return n == 7 ? {SHORT} : 0;"))
    [torn] = run.damage
    assert "were passed over" in torn


@pytest.mark.parametrize("failures", ["n == 7", "n == 7 || n == 9", "n > 6 && n < 40 && n % 3"])
@pytest.mark.parametrize("error", ["EIO", str(SHORT)])
def test_steps_behind_a_failed_write_name_none_before_it(measured, error, failures):
    run, _ = measured(STEPS % (60, "1"), before=failing(f"return {failures} ? {error} : 0;"))
    assert steps_of(run) == list(range(60))
    (stream,) = (run.path / "stream").glob("*.pf")
    steps = [e for e in twin.decode(stream.read_bytes())[0] if e["type"] == "step" and e["body"]["kind"] == 0]
    full = [entry["index"] for entry in steps if entry["version"] == 3]
    assert full[0] == 0 and len(full) > failures.count("n")
    assert any(entry["version"] == twin.PACKED for entry in steps)


@pytest.fixture
def full_for_a_while(measured):
    """A run of 12,000 steps of 1 ms whose disk is full from step 3 to 9,000."""
    return measured(
        STEPS % (12000, "1"), before=failing("return step > 2 && step < 9000 ? ENOSPC : 0;"), env=SMALL
    )


def test_full_disk_that_is_freed_goes_on_with_known_regions(full_for_a_while):
    run, result = full_for_a_while
    assert "No space left on device" in result.stderr and "tries again" in result.stderr
    found = steps_of(run)
    assert found[:100] == list(range(100))
    assert found[-1000:] == list(range(11000, 12000))
    assert len(found) < 11900
    assert run.state == "finished"


def test_missing_entries_are_counted_and_reported(full_for_a_while):
    run, result = full_for_a_while
    missing = run.ends[0]["missing"]
    assert missing == 12000 - len(steps_of(run)) > 0
    assert any(f"{missing} entries of rank 0 are lost before" in sentence for sentence in run.damage)
    assert f"{missing} entries of rank 0 are missing in" in result.stderr
    assert f"{missing:,} entries that could not be written" in result.stderr


def test_full_disk_is_tried_rarely(full_for_a_while):
    _, result = full_for_a_while
    failures = int(re.search(r"after (\d+) failures", result.stdout)[1])
    assert 2 < failures < 20


def test_measuring_ends_after_an_hour_of_failures(measured):
    when = "return step > 9 ? EIO : 0;"
    run, result = measured(STEPS % (200, "60000"), before=failing(when), env=SMALL)
    assert result.stdout.startswith("the answer is 42 after 72 failures")
    assert "failed 72 times in a row (Input/output error); measuring ends here in step 8" in result.stderr
    assert steps_of(run) == list(range(10))


def test_full_disk_at_the_end_keeps_room_for_the_end_entry(measured):
    """The gathered entries do not fit any more, the small last one does."""
    when = (
        "return step > 9 && step < 200 ? ENOSPC : step == 200 && failures < 100 ? failures = 100, ENOSPC : 0;"
    )
    run, result = measured(STEPS % (200, "0"), before=failing(when))
    assert run.state == "finished"
    assert run.ends[0]["missing"] == 191
    assert "191 entries of rank 0 are missing in" in result.stderr


def test_call_sites_outlast_a_failed_write(measured):
    """Without steps of its own, the program's entries end with its sites, written in parts."""
    run, _ = measured(
        "perfield_initialize(); for (int i = 0; i < 100; ++i) MPI_Barrier(MPI_COMM_WORLD);",
        mpi=True,
        before=failing("return n == 1 ? EIO : 0;"),
    )
    assert run.state == "finished"
    assert run.ends[0]["missing"] in (0, 1)


def test_lowered_limit_of_files_does_not_end_the_program(measured):
    _, result = measured(
        """
      perfield_initialize();
      struct rlimit limit = {20000, 20000};
      setrlimit(RLIMIT_FSIZE, &limit);
      for (int s = 0; s < 1000; ++s) perfield_step(s, s);
      perfield_finalize();
      printf("the answer is 42");
    """,
        before="#include <sys/resource.h>",
    )
    assert result.stdout == "the answer is 42"
    assert "File too large" in result.stderr


@pytest.mark.parametrize("blocks", [0, 1, 2, 3, 4, 6, 8])
def test_small_limit_of_files_does_not_keep_the_program_from_starting(
    build_c, perfield_flags, execute, bin_dir, blocks
):
    """perfield-exec writes run.json and the machine's file, a linked program does the same itself."""
    text = c_program("perfield_initialize(); for (int s = 0; s < 20; ++s) perfield_step(s, s);")
    for program in (
        f"{bin_dir}/perfield-exec {build_c(text, mpi=False)}",
        build_c(text, *perfield_flags("--libs"), mpi=False),
    ):
        result = execute("sh", "-c", f"rm -rf perfield-run*; ulimit -f {blocks}; exec {program}")
        assert result.returncode == 0, (program, result.stderr)


MESH = """
  int64_t e[6] = {0, 2, 0, 2, 0, 2};
  double o[3] = {0}, d[3] = {1, 1, 1};
  unsigned char marks[8] = {0, 1};
  perfield_initialize();
  perfield_mesh_image(0, e, o, d);
  perfield_mesh_ghosts(0, PERFIELD_CELLS, perfield_array_of(marks, PERFIELD_UINT8, 1, 8));
  for (step = 0; step < 10; ++step) { work(10); perfield_step(step, step); }
  perfield_finalize();
"""


@pytest.mark.parametrize("error", ["ENOSPC", str(SHORT)])
def test_failed_block_of_mesh_is_written_with_a_later_frame(measured, error):
    when = f'return strstr(path, "/mesh/") && step < 5 ? {error} : 0;'
    run, result = measured(MESH, before=failing(when))
    assert "writing the mesh or fields to" in result.stderr
    assert len(run) == 10
    [block] = run.mesh(0, 1)
    assert block.extent == (0, 2, 0, 2, 0, 2) and sum(block.ghosts["cell"]) == 1
    assert run.ends[0]["missing_of_mesh"] == 0


def test_torn_block_of_mesh_does_not_fill_the_disk(build_c, bin_dir, privately):
    """Room for 3 MB, a block of 4 MB: the program's own file of 2 MB still fits afterwards."""
    text = c_program("""
      static double x[500000];
      int64_t e[6] = {0, 499999, 0, 0, 0, 0};
      perfield_initialize();
      for (int s = 0; s < 3; ++s) {
        if (s == 1) perfield_mesh_rectilinear(0, e, perfield_array_of(x, PERFIELD_FLOAT64, 1, 500000),
            perfield_array_of(x, PERFIELD_FLOAT64, 1, 1), perfield_array_of(x, PERFIELD_FLOAT64, 1, 1));
        x[s + 1] = 1;
        perfield_step(s, s);
      }
      FILE* own = fopen("own", "w");
      return own && fwrite(x, 1, 2000000, own) == 2000000 && fclose(own) == 0 ? 7 : 8;
    """)
    result = privately(
        f"mount -t tmpfs -o size=3m none /mnt; cd /mnt; code=0;"
        f"{bin_dir}/perfield-exec {build_c(text, mpi=False)} || code=$?; echo $code"
    )
    assert result.stdout == "7\n", result.stderr
    assert "writing the mesh or fields to" in result.stderr


def test_mesh_that_is_never_written_is_missing_and_frames_are_not(measured):
    run, result = measured(MESH, before=failing('return strstr(path, "/mesh/") ? ENOSPC : 0;'))
    assert len(run) == 10 and run.state == "finished"
    assert run.ends[0]["missing_of_mesh"] == 2
    assert "2 entries of rank 0 are missing in" in result.stderr


# --- the end -----------------------------------------------------------------------------------

ENDING = 'perfield_initialize(); perfield_step(0, 0); perfield_finalize(); puts("the answer is 42");'


def test_end_says_that_the_file_is_safe(measured):
    run, result = measured(ENDING)
    assert run.ends[0]["synced"] is True
    assert run.ends[0]["missing"] == 0
    assert warnings_of(result) == []


def test_every_rank_syncs_for_itself(measured):
    run, _ = measured("perfield_initialize(); perfield_step(0, 0);", n=3, mpi=True)
    assert [run.ends[rank]["synced"] for rank in range(3)] == [True] * 3


def test_error_of_writing_back_is_reported_and_kept(measured):
    before = "#include <errno.h>\nint fdatasync(int file) { (void)file; return errno = EIO, -1; }"
    run, result = measured(ENDING, before=before)
    assert result.stdout == "the answer is 42\n"
    assert (run.ends[0]["synced"], run.ends[0]["sync_error"]) == (False, "Input/output error")
    assert "is not safe: the file system reports an error in writing it back" in result.stderr
    assert "1 rank whose entries the file system may have lost" in result.stderr


def test_file_system_without_sync_is_no_error(measured):
    before = "#include <errno.h>\nint fdatasync(int file) { (void)file; return errno = EINVAL, -1; }"
    run, result = measured(ENDING, before=before)
    assert "synced" not in run.ends[0]
    assert warnings_of(result) == []


def test_error_of_closing_is_reported(measured):
    before = """
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
int close(int file) {
  char link[64], name[4096];
  sprintf(link, "/proc/self/fd/%d", file);
  ssize_t n = syscall(SYS_readlink, link, name, sizeof name - 1);
  int is_stream = n > 3 && !memcmp(name + n - 3, ".pf", 3);
  syscall(SYS_close, file);
  return is_stream ? errno = EDQUOT, -1 : 0;
}
"""
    _, result = measured(ENDING, before=before)
    assert result.stdout == "the answer is 42\n"
    assert "closing the files of" in result.stderr and "Disk quota exceeded" in result.stderr


def test_dead_file_system_does_not_hang_the_end(measured):
    before = "int fdatasync(int file) { (void)file; for (;;) pause(); }"
    run, result = measured(ENDING, before=before)
    assert result.stdout == "the answer is 42\n"
    assert "has not answered for 10 s, so the end of the program does not wait for it" in result.stderr
    assert len(run) == 1 and not run.ends


def test_aborting_program_does_not_wait_for_the_disk(measured):
    run, result = measured(
        "perfield_initialize(); perfield_step(0, 0); MPI_Abort(MPI_COMM_WORLD, 3);",
        before="int fdatasync(int file) { (void)file; for (;;) pause(); }",
        mpi=True,
        check=False,
    )
    assert result.returncode == 3
    assert run.ends[0]["reason"] == "abort" and "synced" not in run.ends[0]


def test_last_close_spares_the_programs_own_file(build_c, bin_dir, mpirun, tmp_path):
    """The program closed all descriptors, and has a file of its own under perfield's number."""
    body = """
      perfield_initialize();
      perfield_step(0, 0);
      for (int fd = 3; fd < 256; ++fd) close(fd);
      FILE* files[20];
      for (int i = 0; i < 20; ++i) files[i] = fopen("result.txt", "a");
      perfield_finalize();
      for (int i = 0; i < 20; ++i) { fputs("x", files[i]); if (fclose(files[i])) return 5; }
    """
    result = mpirun(1, bin_dir / "perfield-exec", build_c(c_program(body), mpi=False), cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "result.txt").read_text() == "x" * 20
    assert perfield.open(tmp_path / "perfield-run").state == "finished"
