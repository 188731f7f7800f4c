# SPDX-License-Identifier: BSD-3-Clause
"""perfield.h and perfield.hpp: programs that run without perfield, and descriptions of arrays."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

INCLUDE = Path(__file__).resolve().parents[3] / "bridge/include"

EVERY_CALL = """
#include <stdio.h>
#include HEADER
int main(void) {
  const int64_t extent[6] = {0, 1, 0, 1, 0, 1};
  const double zero[3] = {0, 0, 0}, one[3] = {1, 1, 1};
  const perfield_array a = perfield_array_of(one, PERFIELD_FLOAT64, 1, 3);
  perfield_region region;
  perfield_initialize();
  region = perfield_region_define("work", __FILE__, __LINE__);
  perfield_pipeline_next();
  perfield_region_begin(region);
  perfield_region_begin_on(region, 0);
  perfield_region_end(region);
  perfield_region_end(region);
  perfield_begin("more");
  perfield_end("more");
  perfield_pause();
  perfield_resume();
  perfield_mesh_image(0, extent, zero, one);
  perfield_mesh_rectilinear(0, extent, a, a, a);
  perfield_mesh_structured(0, extent, a);
  perfield_mesh_unstructured(0, a, a, a, a, 0);
  perfield_mesh_ghosts(0, PERFIELD_CELLS, a);
  perfield_mesh_changed();
  perfield_mesh_size(0, 512, 729, 64);
  perfield_field(0, "temperature", PERFIELD_POINTS, a);
  perfield_step(7, 0.5);
  printf("measuring %d, region %u\\n", perfield_measuring(), (unsigned)region);
  perfield_finalize();
  return 0;
}
"""

# A fake libperfield.so, which only prints that the program's calls reach it.
FAKE_LIBRARY = """
#include <stdint.h>
#include <stdio.h>
int perfield_measuring(void) { return 1; }
uint32_t perfield_region_define(const char* name, const char* file, int line) { return 5; }
void perfield_step(int64_t step, double time) { printf("run %d %g\\n", (int)step, time); }
"""

CPP_SCOPES = """
#include <cstdio>
#include <perfield.hpp>
extern "C" {
uint32_t perfield_region_define_fake(const char*, const char* file, int line) asm("perfield_region_define");
uint32_t perfield_region_define_fake(const char*, const char* file, int line) {
  std::printf("define at %s:%d\\n", file, line);
  return 3;
}
void begin(uint32_t region) asm("perfield_region_begin");
void begin(uint32_t region) { std::printf("begin %u\\n", region); }
void begin_on(uint32_t region, int block) asm("perfield_region_begin_on");
void begin_on(uint32_t region, int block) { std::printf("begin %u on %d\\n", region, block); }
void end(uint32_t region) asm("perfield_region_end");
void end(uint32_t region) { std::printf("end %u\\n", region); }
void pause() asm("perfield_pause");
void pause() { std::printf("pause\\n"); }
void resume() asm("perfield_resume");
void resume() { std::printf("resume\\n"); }
}
int main() {
#line 42 "solver.cpp"
  static const perfield_region work = perfield::region("work");
  try {
    perfield::Region measured(work);
    perfield::Region on_block(work, 2);
    throw 1;
  } catch (int) {
    perfield::Pause pause;
    std::printf("caught\\n");
  }
}
"""

CPP_ARRAYS = """
#include <cstdio>
#include <perfield.hpp>
static void print(const perfield_array& a, const void* base) {
  std::printf("[%d, %d, %d, [%d, %d, %d], [%d, %d, %d], %d]\\n", a.type, a.components,
              int(a.component_stride), int(a.size[0]), int(a.size[1]), int(a.size[2]),
              int(a.stride[0]), int(a.stride[1]), int(a.stride[2]),
              int((const char*)a.data - (const char*)base));
}
int main() {
  const std::vector<float> points(12);
  print(perfield::array(points, 3), points.data());
  const signed char bytes[4] = {};
  print(perfield::array(bytes, 4), bytes);
  const unsigned char marks[4] = {};
  print(perfield::array(marks, 4), marks);
  const int numbers[4] = {};
  print(perfield::array(numbers, 4), numbers);
  const long long many[4] = {};
  print(perfield::array(many, 4), many);
  const double block[6 * 5 * 4] = {};
  const int64_t size[3] = {4, 3, 2}, stride[3] = {1, 6, 30};
  print(perfield::array(block + 37, size, stride), block);
  const double q[5 * 8 * 7 * 6] = {};
  print(perfield_array_component(q, 5, 2, 4, 3, 2, 8, 7), q);
}
"""


def run(*argv: object, env: dict[str, str] | None = None) -> str:
    """Standard output of a command that must succeed with an empty error output."""
    result = subprocess.run([str(word) for word in argv], capture_output=True, text=True, env=env)
    assert result.returncode == 0, f"{argv} failed:\n{result.stdout}{result.stderr}"
    assert result.stderr == ""
    return result.stdout


def build(folder: Path, text: str, compiler: str, *flags: str) -> Path:
    """Compiles a program with all warnings as errors, with the headers only."""
    source = folder / ("program.c" if compiler == "gcc" else "program.cpp")
    source.write_text(text)
    program = folder / "program"
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    run(compiler, *strict, f"-I{INCLUDE}", source, "-o", program, *flags)
    return program


LANGUAGES = {
    "C99": ("gcc", "-std=c99", '-DHEADER="perfield.h"'),
    "C17": ("gcc", "-std=gnu17", '-DHEADER="perfield.h"'),
    "C++17": ("g++", "-std=c++17", '-DHEADER="perfield.hpp"'),
}
LINKS = {"plain": (), "fast": ("-O3",), "no-pie": ("-no-pie", "-fno-pie"), "pie": ("-O1", "-fPIE", "-pie")}


@pytest.mark.parametrize("link", [*LINKS, "static"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_call_does_nothing_without_perfield(tmp_path, language, link):
    program = build(tmp_path, EVERY_CALL, *LANGUAGES[language], *LINKS.get(link, ("-static",)))
    assert run(program) == "measuring 0, region 0\n"


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_calls_reach_a_preloaded_library(tmp_path, language, link):
    program = build(tmp_path, EVERY_CALL, *LANGUAGES[language], *LINKS[link])
    (tmp_path / "fake.c").write_text(FAKE_LIBRARY)
    run("gcc", "-shared", "-fPIC", tmp_path / "fake.c", "-o", tmp_path / "fake.so")
    said = run(program, env={"LD_PRELOAD": str(tmp_path / "fake.so")})
    assert said == "run 7 0.5\nmeasuring 1, region 5\n"


def test_two_files_may_include_the_header(tmp_path):
    (tmp_path / "other.c").write_text('#include "perfield.h"\nvoid other(void) { perfield_step(1, 0); }\n')
    text = '#include "perfield.h"\nvoid other(void);\nint main(void) { perfield_step(0, 0); other(); }\n'
    program = build(tmp_path, text, "gcc", str(tmp_path / "other.c"))
    assert run(program) == ""


def test_exception_ends_the_region(tmp_path):
    program = build(tmp_path, CPP_SCOPES, "g++", "-std=c++17")
    assert run(program).splitlines() == [
        "define at solver.cpp:42",
        "begin 3",
        "begin 3 on 2",
        "end 3",
        "end 3",
        "pause",
        "caught",
        "resume",
    ]


def test_arrays_know_type_size_and_strides(tmp_path):
    program = build(tmp_path, CPP_ARRAYS, "g++", "-std=c++17")
    points, int8, uint8, int32, int64, block, component = map(json.loads, run(program).splitlines())
    # type (5 float32, 6 float64), components, component stride, size, stride, bytes to the first number
    assert points == [5, 3, 1, [4, 1, 1], [3, 0, 0], 0]
    assert [array[0] for array in (int8, uint8, int32, int64)] == [1, 2, 3, 4]
    assert block == [6, 1, 1, [4, 3, 2], [1, 6, 30], 37 * 8]
    # q(5, 8, 7, 6) in Fortran's order: its third component, 4 x 3 x 2 points of it
    assert component == [6, 1, 1, [4, 3, 2], [5, 40, 280], 2 * 8]


def test_unsupported_number_type_does_not_compile(tmp_path):
    (tmp_path / "program.cpp").write_text(
        "#include <perfield.hpp>\nint main() { unsigned n = 0; perfield::array(&n, 1); }\n"
    )
    command = ["g++", "-std=c++17", f"-I{INCLUDE}", "-c", "program.cpp"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode != 0
    assert "perfield takes float, double, signed integers of" in result.stderr
