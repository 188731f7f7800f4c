# SPDX-License-Identifier: BSD-3-Clause
"""Builds the template of a source as its copy would be, loads it and calls its three hooks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

BRIDGE = Path(__file__).resolve().parents[3] / "bridge"
MS = 1e-3

# A program of the library that the template stands for: it calls the hooks where there are any.
HOOKS = """
#include <dlfcn.h>
static void (*begin)(const char*); static void (*end)(void); static void (*copied)(uint64_t, uint64_t);
static void find_hooks(void) {
  *(void**)&begin = dlsym(RTLD_DEFAULT, "template_begin");
  *(void**)&end = dlsym(RTLD_DEFAULT, "template_end");
  *(void**)&copied = dlsym(RTLD_DEFAULT, "template_copied");
  if (!begin || !end || !copied) exit(3);
}
"""


@pytest.fixture(scope="module")
def library(perfield_flags, tmp_path_factory) -> Path:
    """The template as a library; it needs only perfield's library and headers."""
    path = tmp_path_factory.mktemp("template") / "libperfield_template.so"
    source = BRIDGE / "sources/template"
    words = ["g++", "-std=c++17", "-Wall", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-exceptions"]
    words += ["-fno-rtti", f"-I{BRIDGE}", source / "template.cpp", *perfield_flags("--libs"), "-Wl,-z,defs"]
    words += [f"-Wl,--version-script={source / 'exports.map'}", "-o", path]
    subprocess.run(words, check=True)
    return path


def test_hooks_become_regions_and_copies(measured, library):
    run, result = measured(
        """
      find_hooks();
      perfield_initialize();
      for (int step = 0; step < 2; ++step) {
        begin("outer"); work(1);
        for (int i = 0; i <= step; ++i) { begin("inner"); work(2); end(); }
        end();
        copied(1000, 500000); copied(24, 0);
        perfield_step(step, step);
      }
    """,
        before=HOOKS,
        env={"LD_PRELOAD": str(library)},
    )
    inner = [(f.values["inner_count"][0], f.values["inner_time_s"][0]) for f in run.frames()]
    assert inner == [(1, pytest.approx(2 * MS)), (2, pytest.approx(4 * MS))]
    outer = [f.values["outer_time_s"][0] for f in run.frames()]
    assert outer == pytest.approx([3 * MS, 5 * MS])
    assert "template" in run.rank_entries[0]["sources"]
    assert "could not be right" not in result.stderr


def test_copied_bytes_are_a_field_of_the_rank(measured, library):
    run, _ = measured(
        "find_hooks(); perfield_initialize(); copied(1000, 500000); copied(24, 0); perfield_step(0, 0.0);",
        before=HOOKS,
        env={"LD_PRELOAD": str(library)},
    )
    frame = run.frame(0)
    assert frame.values["template_copied_bytes"] == [1024]
    assert "device_copy_count" not in frame.values


def test_copy_time_belongs_to_the_open_region(measured, library):
    run, _ = measured(
        """
      find_hooks();
      perfield_initialize();
      begin("outer"); begin("inner"); copied(1, 500000); end(); copied(1, 200000); end(); copied(1, 70000);
      perfield_step(0, 0.0);
    """,
        before=HOOKS,
        env={"LD_PRELOAD": str(library)},
    )
    times = [run.frame(0).values[f"{name}_template_copy_time_s"][0] for name in ("outer", "inner")]
    assert times == pytest.approx([0.7 * MS, 0.5 * MS])


def test_library_exports_only_its_hooks(library):
    words = ["nm", "-D", "--defined-only", library]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {line.split()[-1] for line in lines} == {"template_begin", "template_end", "template_copied"}


def test_unmatched_hooks_do_no_harm(measured, library):
    run, _ = measured(
        """
      find_hooks();
      begin("early"); end(); end(); copied(1, 1);
      perfield_initialize();
      begin("open"); work(1);
      perfield_step(0, 0.0);
    """,
        before=HOOKS,
        env={"LD_PRELOAD": str(library)},
    )
    assert run.frame(0).values["open_time_s"] == pytest.approx([MS])
    assert "early_count" not in run.frame(0).values
