# SPDX-License-Identifier: BSD-3-Clause
"""A program's mesh and fields arrive unchanged, and bad ones give a warning."""

from __future__ import annotations

import numpy as np
import pytest


def test_image_and_rectilinear_blocks_keep_their_coordinates(measured):
    run, _ = measured("""
      int64_t e[6] = {0, 4, 0, 3, 0, 2}; double o[3] = {1, 2, 3}, d[3] = {0.5, 0.25, 0.125};
      double x[3] = {0, 1, 4}, y[2] = {0, 2}, z[1] = {7};
      int64_t f[6] = {10, 12, 0, 1, 5, 5};
      perfield_initialize();
      perfield_mesh_image(0, e, o, d);
      perfield_mesh_rectilinear(1, f, perfield_array_of(x, PERFIELD_FLOAT64, 1, 3),
        perfield_array_of(y, PERFIELD_FLOAT64, 1, 2), perfield_array_of(z, PERFIELD_FLOAT64, 1, 1));
      perfield_step(0, 0.0);
    """)
    assert run.frame(0).mesh_version[0] == 1
    image, rectilinear = sorted(run.mesh(0, 1), key=lambda block: block.block)
    assert image.kind == "image"
    assert list(image.extent) == [0, 4, 0, 3, 0, 2]
    assert list(image.origin) == [1, 2, 3]
    assert rectilinear.kind == "rectilinear"
    assert np.array_equal(rectilinear.x, [0, 1, 4])


def test_component_of_a_fortran_array_keeps_its_strides(measured):
    run, _ = measured("""
      enum { NI = 4, NJ = 3, NK = 2, LI = 6, LJ = 5 };
      static double q[NK][LJ][LI][5];
      for (int k = 0; k < NK; ++k) for (int j = 0; j < LJ; ++j) for (int i = 0; i < LI; ++i)
        for (int c = 0; c < 5; ++c) q[k][j][i][c] = 1000 * c + 100 * k + 10 * j + i;
      int64_t e[6] = {0, NI - 1, 0, NJ - 1, 0, NK - 1}; double o[3] = {0}, d[3] = {1, 1, 1};
      perfield_initialize();
      perfield_mesh_image(0, e, o, d);
      perfield_field(0, "density", PERFIELD_POINTS,
                     perfield_array_component(&q[0][0][0][0], 5, 2, NI, NJ, NK, LI, LJ));
      perfield_step(0, 0.0);
    """)
    field = run.fields(0, 0)[(0, "density")]
    expected = [2000 + 100 * k + 10 * j + i for k in range(2) for j in range(3) for i in range(4)]
    assert np.array_equal(np.ravel(field.values), expected)
    assert field.association == "point"


def test_connectivity_width_and_offset_give_the_same_mesh(measured):
    run, _ = measured("""
      double p[12] = {0,0,0, 1,0,0, 0,1,0, 0,0,1};
      int32_t c0[4] = {0, 1, 2, 3}; int64_t c1[4] = {1, 2, 3, 4};
      int32_t o0[2] = {0, 4}; int64_t o1[2] = {0, 4}; int32_t t = 10;
      perfield_initialize();
      perfield_array points = perfield_array_of(p, PERFIELD_FLOAT64, 3, 4);
      perfield_mesh_unstructured(0, points, perfield_array_of(c0, PERFIELD_INT32, 1, 4),
        perfield_array_of(o0, PERFIELD_INT32, 1, 2), perfield_array_of(&t, PERFIELD_INT32, 1, 1), 0);
      perfield_mesh_unstructured(1, points, perfield_array_of(c1, PERFIELD_INT64, 1, 4),
        perfield_array_of(o1, PERFIELD_INT64, 1, 2), perfield_array_of(&t, PERFIELD_INT32, 1, 1), 1);
      perfield_step(0, 0.0);
    """)
    for block in run.mesh(0, 1):
        assert np.array_equal(block.connectivity, [0, 1, 2, 3])
        assert np.array_equal(block.offsets, [0, 4])
        assert np.array_equal(block.types, [10])
        assert block.points.shape == (4, 3)


def test_structured_points_keep_their_ghosts(measured):
    run, _ = measured("""
      float p[3 * 12]; for (int i = 0; i < 36; ++i) p[i] = i;
      int64_t e[6] = {0, 2, 0, 1, 0, 1}; int8_t g[2] = {0, 1};
      perfield_initialize();
      perfield_mesh_structured(0, e, perfield_array_of(p, PERFIELD_FLOAT32, 3, 12));
      perfield_mesh_ghosts(0, PERFIELD_CELLS, perfield_array_of(g, PERFIELD_INT8, 1, 2));
      perfield_step(0, 0.0);
    """)
    (block,) = run.mesh(0, 1)
    assert block.kind == "structured"
    assert np.array_equal(block.points.ravel(), np.arange(36))
    assert np.array_equal(block.ghosts["cell"], [0, 1])


def test_changed_mesh_is_a_new_version_for_later_steps(measured):
    run, _ = measured("""
      int64_t small[6] = {0, 1, 0, 1, 0, 1}, big[6] = {0, 9, 0, 1, 0, 1}; double o[3] = {0}, d[3] = {1, 1, 1};
      perfield_initialize();
      perfield_mesh_image(0, small, o, d);
      perfield_step(0, 0.0);
      perfield_mesh_changed();
      perfield_mesh_image(0, big, o, d);
      perfield_step(1, 1.0);
    """)
    versions = [int(frame.mesh_version[0]) for frame in run.frames()]
    assert versions == [1, 2]
    assert [run.mesh(0, v)[0].extent[1] for v in versions] == [1, 9]


def test_mesh_changed_without_notice_is_a_new_version_with_a_warning(measured):
    run, result = measured("""
      int64_t small[6] = {0, 1, 0, 1, 0, 1}, big[6] = {0, 9, 0, 1, 0, 1}; double o[3] = {0}, d[3] = {1, 1, 1};
      static double t[40];
      perfield_initialize();
      perfield_mesh_image(0, small, o, d);
      perfield_mesh_image(1, small, o, d);
      perfield_field(0, "t", PERFIELD_POINTS, perfield_array_of(t, PERFIELD_FLOAT64, 1, 8));
      perfield_step(0, 0.0);
      for (int s = 1; s < 4; ++s) {
        perfield_mesh_image(0, big, o, d);
        perfield_mesh_image(1, small, o, d);
        if (s == 2) perfield_field(0, "t", PERFIELD_POINTS, perfield_array_of(t, PERFIELD_FLOAT64, 1, 40));
        perfield_step(s, s);
      }
    """, env={"PERFIELD_FIELDS_EVERY": "1"})  # fmt: skip
    versions = [int(frame.mesh_version[0]) for frame in run.frames()]
    assert versions == [1, 2, 3, 4]
    assert [run.mesh(0, v)[0].extent[1] for v in versions] == [1, 9, 9, 9]
    assert all(len(run.mesh(0, v)) == 2 for v in versions)
    assert run.fields(0, 3)[(0, "t")].values.shape == (40,)
    assert result.stderr.count("described again without perfield_mesh_changed") == 1
    assert "field 't' of block 0 has 8 values but the block has 40 points" in result.stderr


def test_block_described_again_before_the_first_step_replaces_the_first(measured):
    run, result = measured("""
      int64_t small[6] = {0, 1, 0, 1, 0, 1}, big[6] = {0, 9, 0, 1, 0, 1}; double o[3] = {0}, d[3] = {1, 1, 1};
      perfield_mesh_image(0, small, o, d);
      perfield_initialize();
      perfield_mesh_image(0, big, o, d);
      perfield_step(0, 0.0);
    """)
    (block,) = run.mesh(0, int(run.frame(0).mesh_version[0]))
    assert list(block.extent) == [0, 9, 0, 1, 0, 1]
    assert "perfield: " not in result.stderr


def test_empty_piece_is_legal(measured):
    run, _ = measured("""
      int64_t zero = 0;
      perfield_array none = perfield_array_of(0, PERFIELD_FLOAT64, 3, 0);
      perfield_array no_numbers = perfield_array_of(0, PERFIELD_INT64, 1, 0);
      perfield_initialize();
      perfield_mesh_unstructured(0, none, no_numbers, perfield_array_of(&zero, PERFIELD_INT64, 1, 1),
                                 no_numbers, 0);
      perfield_step(0, 0.0);
    """)
    (block,) = run.mesh(0, 1)
    assert len(block.types) == 0
    assert run.frame(0).mesh_version[0] == 1


def test_connectivity_out_of_range_gives_both_numbers(measured):
    run, result = measured("""
      double p[12] = {0}; int32_t c[4] = {0, 1, 2, 44}, o[2] = {0, 4}, t = 10;
      perfield_initialize();
      perfield_mesh_unstructured(0, perfield_array_of(p, PERFIELD_FLOAT64, 3, 4),
        perfield_array_of(c, PERFIELD_INT32, 1, 4), perfield_array_of(o, PERFIELD_INT32, 1, 2),
        perfield_array_of(&t, PERFIELD_INT32, 1, 1), 0);
      perfield_step(0, 0.0);
    """)
    assert "connectivity[3] names point 44 but the points are 0 to 3 in block 0" in result.stderr
    assert run.frame(0).mesh_version[0] == 0


def test_doubling_the_steps_does_not_double_the_mesh_bytes(measured, tmp_path):
    body = """
      int64_t e[6] = {0, 9, 0, 9, 0, 9}; double o[3] = {0}, d[3] = {1, 1, 1};
      perfield_initialize();
      perfield_mesh_image(0, e, o, d);
      for (int s = 0; s < STEPS; ++s) perfield_step(s, s);
    """
    measured(body.replace("STEPS", "20"))
    measured(body.replace("STEPS", "40"))

    def mesh_bytes(name: str) -> int:
        return sum(file.stat().st_size for file in (tmp_path / name / "mesh").iterdir())

    assert mesh_bytes("perfield-run") == mesh_bytes("perfield-run-2") > 0


def test_fields_are_stored_at_their_interval(measured):
    run, _ = measured(
        """
      int64_t e[6] = {0, 1, 0, 0, 0, 0}; double o[3] = {0}, d[3] = {1, 1, 1}, t[2] = {0};
      perfield_initialize();
      perfield_mesh_image(0, e, o, d);
      perfield_field(0, "temperature", PERFIELD_POINTS, perfield_array_of(t, PERFIELD_FLOAT64, 1, 2));
      for (int s = 0; s < 10; ++s) { t[0] = s; perfield_step(s, s); }
    """,
        env={"PERFIELD_FIELDS_EVERY": "4"},
    )
    seen = [float(np.ravel(run.fields(0, i)[(0, "temperature")].values)[0]) for i in range(10)]
    assert seen == [0, 0, 0, 0, 4, 4, 4, 4, 8, 8]


@pytest.mark.parametrize(
    ("setting", "value", "stored"),
    [
        ("SUM_EVERY", "2", {1: 1, 3: 1, 5: 5, 7: 5, 9: 9, 11: 9}),
        ("MEASURE_EVERY", "3", {0: 0, 3: 0, 6: 6, 9: 9}),
        ("SKIP_STEPS", "3", {3: 3, 4: 4, 7: 4, 8: 8, 11: 8}),
    ],
)
def test_fields_go_with_the_first_due_frame(measured, setting, value, stored):
    run, _ = measured(
        """
      int64_t e[6] = {0, 1, 0, 0, 0, 0}; double o[3] = {0}, d[3] = {1, 1, 1}, t[2] = {0};
      perfield_initialize();
      perfield_mesh_image(0, e, o, d);
      perfield_field(0, "temperature", PERFIELD_POINTS, perfield_array_of(t, PERFIELD_FLOAT64, 1, 2));
      for (int s = 0; s < 12; ++s) { t[0] = s; perfield_step(s, s); }
    """,
        env={"PERFIELD_FIELDS_EVERY": "4", f"PERFIELD_{setting}": value},
    )
    seen = {index: run.fields(0, index)[(0, "temperature")] for index in stored}
    assert {index: float(np.ravel(field.values)[0]) for index, field in seen.items()} == stored


def test_ever_new_fields_stay_within_the_limit(measured, tmp_path):
    _, result = measured(
        """
      static double t[1000];
      int64_t e[6] = {0, 999, 0, 0, 0, 0}; double o[3] = {0}, d[3] = {1, 1, 1};
      perfield_initialize();
      perfield_mesh_image(0, e, o, d);
      perfield_field(0, "t", PERFIELD_POINTS, perfield_array_of(t, PERFIELD_FLOAT64, 1, 1000));
      for (int s = 0; s < 100; ++s) perfield_step(s, s);
    """,
        env={"PERFIELD_FIELDS_EVERY": "1", "PERFIELD_RECORD_LIMIT": "100000"},
    )
    stored = sum(path.stat().st_size for path in (tmp_path / "perfield-run/mesh").iterdir())
    assert 50_000 < stored < 80_000  # the rest is for the steps
    assert result.stderr.count("on they are not stored; set record_limit to more than") == 1
    assert "but record_limit (100000 bytes) has room for" in result.stderr


def test_long_run_stores_fields_ever_more_rarely(measured):
    run, _ = measured("""
      int64_t e[6] = {0, 1, 0, 0, 0, 0}; double o[3] = {0}, d[3] = {1, 1, 1}, t[2] = {0};
      perfield_initialize();
      perfield_mesh_image(0, e, o, d);
      perfield_field(0, "temperature", PERFIELD_POINTS, perfield_array_of(t, PERFIELD_FLOAT64, 1, 2));
      for (int s = 0; s < 3000; ++s) perfield_step(s, s);
    """)
    stored = sorted({run.fields(0, i)[(0, "temperature")].index for i in range(3000)})
    assert stored[:33] == list(range(0, 330, 10))
    assert len(stored) < 100
    assert all(i - max(s for s in stored if s <= i) <= max(10, i / 16) for i in range(3000))


# Storing takes longer than such a step.
BIG_FIELD = """
  static double t[2000000]; double o[3] = {0}, d[3] = {1, 1, 1};
  int64_t e[6] = {0, 1999999, 0, 0, 0, 0};
  perfield_initialize();
  perfield_mesh_image(0, e, o, d);
  perfield_field(0, "t", PERFIELD_POINTS, perfield_array_of(t, PERFIELD_FLOAT64, 1, 2000000));
  for (int s = 0; s < STEPS; ++s) {
    MPI_Barrier(MPI_COMM_WORLD);
    perfield_step(s, s);
  }
"""


def stored_steps(run, rank, every):
    return sorted({run.fields(rank, index)[(0, "t")].index for index in range(0, len(run), every)})


def test_fields_that_cost_much_are_stored_rarely_and_in_the_same_steps_by_all(measured):
    run, result = measured(BIG_FIELD, n=2, mpi=True, flags=["-DSTEPS=400"])
    stored = stored_steps(run, 0, every=10)
    assert stored == stored_steps(run, 1, every=10)
    assert 2 <= len(stored) < 30  # 36 without that
    assert result.stderr.count("storing the simulation's own fields takes") == 1
    assert "set fields_every to store them more often" in result.stderr


def test_changes_of_the_interval_hold_from_their_steps_in_any_order_of_reading(measured, execute, tmp_path):
    """A later change is agreed before an earlier one holds, as ranks that close steps at once may do."""
    source = tmp_path / "hash.cpp"
    source.write_text(
        "#include <cstdio>\n#include <string>\n"
        'int main() { printf("%016zx", std::hash<std::string>()("heat")); }\n'
    )
    assert execute("g++", source, "-o", "hash").returncode == 0
    group = execute("./hash").stdout
    run, _ = measured(
        """
      double o[3] = {0}, d[3] = {1, 1, 1}; static double t[2];
      int64_t e[6] = {0, 1, 0, 0, 0, 0};
      perfield_initialize();
      perfield_mesh_image(0, e, o, d);
      perfield_field(0, "t", PERFIELD_POINTS, perfield_array_of(t, PERFIELD_FLOAT64, 1, 2));
      for (int s = 0; s < 200; ++s) {
        if (s == 1) {
          FILE* first = fopen("perfield-run/stream/.fields-" GROUP "-1", "w");
          FILE* second = fopen("perfield-run/stream/.fields-" GROUP "-2", "w");
          fprintf(first, "20 40"); fprintf(second, "120 80");
          fclose(first); fclose(second);
        }
        perfield_step(s, s);
      }
    """,
        flags=[f'-DGROUP="{group}"'],
        env={"PERFIELD_GROUP": "heat"},
    )
    assert stored_steps(run, 0, every=1) == [0, 10, 20, 40, 80, 120, 160]


def test_chosen_interval_of_fields_holds_whatever_it_costs(measured):
    run, result = measured(BIG_FIELD, mpi=True, flags=["-DSTEPS=30"], env={"PERFIELD_FIELDS_EVERY": "3"})
    assert stored_steps(run, 0, every=3) == list(range(0, 30, 3))
    assert "storing the simulation's own fields" not in result.stderr


SETTING = """
  int64_t e[6] = {0, 2, 0, 2, 0, 2}; double o[3] = {0}, d[3] = {1, 1, 1}; static double p[81];
  double inf = 1e308; inf *= 10;
  int32_t four[4] = {0, 1, 2, 3}, from_1[2] = {1, 4}, tetrahedron = 10;
  perfield_array points = perfield_array_of(p, PERFIELD_FLOAT64, 3, 27), none = {0};
  perfield_array cells = perfield_array_of(four, PERFIELD_INT32, 1, 4);
  perfield_array offsets = perfield_array_of(from_1, PERFIELD_INT32, 1, 2);
  perfield_array types = perfield_array_of(&tetrahedron, PERFIELD_INT32, 1, 1);
  int64_t wide[6] = {0, INT64_MAX, INT64_MIN, INT64_MAX, 0, 2}, large[6] = {0, 1 << 30, 0, 1 << 30, 0, 2};
  perfield_array much = perfield_array_of(p, PERFIELD_FLOAT64, 3, 1LL << 61);
  (void)e; (void)o; (void)d; (void)inf; (void)cells; (void)offsets; (void)types; (void)points;
  (void)none; (void)wide; (void)large; (void)much;
  perfield_initialize();
"""


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("mesh_image(0, 0, o, d)", "the extent of block 0 is a null address"),
        ("mesh_image(0, e, 0, d)", "the origin of block 0 is a null address"),
        ("mesh_image(0, e, o, 0)", "the spacing of block 0 is a null address"),
        ("mesh_image(0, e, (double[]){inf, 0, 0}, d)", "the origin of block 0 is not finite"),
        ("mesh_image(0, wide, o, d)", "names 9223372036854775807; expected numbers of 32 bits"),
        ("mesh_image(0, large, o, d)", "the extent of block 0 names more points than fit into memory"),
        ("mesh_image(-3, e, o, d)", "block -3 is left out: blocks count from 0"),
        ("mesh_rectilinear(0, 0, points, points, points)", "the extent of block 0 is a null address"),
        ("mesh_rectilinear(0, e, none, none, none)", "x of block 0 has type 0"),
        ("mesh_structured(0, 0, points)", "the extent of block 0 is a null address"),
        ("mesh_structured(0, e, much)", "the points of block 0 has more numbers than fit into memory"),
        (
            "mesh_rectilinear(0, e, offsets, offsets, offsets)",
            "x of block 0 has 2 numbers but the extent names 3",
        ),
        ("mesh_structured(0, e, cells)", "the points of block 0 has 1 components; expected 3"),
        ("mesh_structured(0, (int64_t[]){0, 3, 0, 2, 0, 2}, points)", "are 27 but the extent names 36"),
        ("mesh_unstructured(0, points, points, offsets, types, 0)", "has 3 components; expected 1"),
        (
            "mesh_unstructured(0, points, perfield_array_of(p, PERFIELD_FLOAT64, 1, 4), offsets, types, 0)",
            "the connectivity of block 0 are floating-point numbers; expected whole ones",
        ),
        (
            "mesh_unstructured(0, points, cells, perfield_array_of((int[]){0, 4}, PERFIELD_INT32, 1, 2), "
            "perfield_array_of(four, PERFIELD_INT32, 1, 3), 0)",
            "there are 3 cell types for 1 cells",
        ),
        (
            "mesh_unstructured(0, points, cells, perfield_array_of((int[]){0, 4}, PERFIELD_INT32, 1, 2), "
            "perfield_array_of((int[]){12}, PERFIELD_INT32, 1, 1), 0)",
            "a cell of type 12 (hexahedron) has 4 points; expected 8 (cell 0) in block 0; the block is left",
        ),
        (
            "mesh_unstructured(0, points, cells, perfield_array_of((int[]){0, 4}, PERFIELD_INT32, 1, 2), "
            "perfield_array_of((int[]){266}, PERFIELD_INT32, 1, 1), 0)",
            "a cell of type 266 is none of VTK's",
        ),
        (
            "mesh_unstructured(0, points, "
            "perfield_array_of((int64_t[]){INT64_MIN, 1}, PERFIELD_INT64, 1, 2), "
            "perfield_array_of((int[]){0, 2}, PERFIELD_INT32, 1, 2), types, 1)",
            "connectivity[0] names point -9223372036854775808 but the points are 1 to 27",
        ),
        ("mesh_unstructured(-1, points, cells, offsets, types, 0)", "blocks count from 0"),
        ("mesh_unstructured(0, points, cells, offsets, types, 0)", "offsets must rise from 0 to 4"),
        ("mesh_ghosts(0, PERFIELD_CELLS, types)", "ghosts of block 0 came before its mesh"),
    ],
)
def test_invalid_mesh_warns_and_the_program_runs(measured, call, sentence):
    run, result = measured(SETTING + f'perfield_{call}; perfield_step(0, 0.0); puts("the answer is 42");')
    assert result.stdout == "the answer is 42\n"
    assert sentence in result.stderr
    assert result.stderr.count("perfield: ") == 1
    assert run.frame(0).mesh_version[0] == 0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ('field(0, "short", PERFIELD_POINTS, points)', "has 26 values but the block has 27 points"),
        ('field(0, "short", PERFIELD_CELLS, points)', "has 26 values but the block has 8 cells"),
        ('field(7, "short", PERFIELD_POINTS, points)', "belongs to no block that was described"),
        ("mesh_ghosts(0, PERFIELD_CELLS, types)", "has 1 values but the block has 8 cells"),
    ],
)
def test_values_that_do_not_fit_their_block_are_left_out_with_a_warning(measured, call, sentence):
    run, result = measured(
        SETTING
        + f"""
      perfield_mesh_image(0, e, o, d);
      points.size[0] = 26;
      points.components = 1;
      perfield_{call};
      perfield_field(0, "good", PERFIELD_CELLS, perfield_array_of(p, PERFIELD_FLOAT64, 1, 8));
      perfield_step(0, 0.0);
    """
    )
    assert sentence in result.stderr
    assert result.stderr.count("perfield: ") == 1
    assert list(run.fields(0, 0)) == [(0, "good")]
    assert run.mesh(0, 1)[0].ghosts == {}


def test_reversed_extent_is_an_empty_piece(measured):
    run, result = measured(
        SETTING
        + """
      int64_t nothing[6] = {0, -1, 0, -1, 0, -1};
      perfield_mesh_image(0, nothing, o, d);
      perfield_mesh_structured(1, nothing, none);
      perfield_mesh_rectilinear(2, nothing, none, none, none);
      perfield_step(0, 0.0);
    """
    )
    assert "perfield: " not in result.stderr
    assert [len(block.types) for block in run.mesh(0, 1)] == [0, 0, 0]


def test_meshes_stop_at_the_limit(measured, tmp_path):
    run, result = measured(
        SETTING
        + """
      for (int s = 0; s < 50; ++s) {
        perfield_mesh_changed();
        perfield_mesh_structured(0, e, points);
        perfield_step(s, s);
      }
    """,
        env={"PERFIELD_RECORD_LIMIT": "20000"},
    )
    versions = [int(frame.mesh_version[0]) for frame in run.frames()]
    with_mesh = [version for version in versions if version]
    assert 10 < len(with_mesh) < len(versions)
    assert with_mesh == sorted(with_mesh) == versions[: len(with_mesh)]
    assert sum(path.stat().st_size for path in (tmp_path / "perfield-run/mesh").iterdir()) < 15_000
    assert result.stderr.count("block 0 of the mesh of rank 0 would take") == 1
    assert "the steps from here on have no mesh there; set record_limit to more than" in result.stderr


def sizes(run, names=("cells", "points", "ghost_cells")):
    """Per step, the rank's number of each name."""
    return [[float(frame.values[name][0]) for name in names] for frame in run.frames()]


def test_blocks_of_a_rank_add_up_without_their_ghosts(measured):
    run, _ = measured("""
      int64_t e[6] = {0, 4, 0, 3, 0, 2}, f[6] = {0, 2, 0, 1, 0, 0}; double o[3] = {0}, d[3] = {1, 1, 1};
      int8_t on_cells[24] = {1, 1, 0, 2}, on_points[6] = {1};
      perfield_initialize();
      perfield_mesh_image(0, e, o, d);
      perfield_mesh_ghosts(0, PERFIELD_CELLS, perfield_array_of(on_cells, PERFIELD_INT8, 1, 24));
      perfield_mesh_image(1, f, o, d);
      perfield_mesh_ghosts(1, PERFIELD_POINTS, perfield_array_of(on_points, PERFIELD_INT8, 1, 6));
      perfield_step(0, 0.0);
    """)
    assert sizes(run) == [[24 - 3 + 2, 60 + 6 - 1, 3]]


def test_size_of_the_mesh_is_kept_until_it_changes(measured):
    run, _ = measured("""
      int64_t small[6] = {0, 1, 0, 1, 0, 1}, big[6] = {0, 9, 0, 1, 0, 1}; double o[3] = {0}, d[3] = {1, 1, 1};
      perfield_mesh_image(0, small, o, d);
      perfield_initialize();
      perfield_step(0, 0.0);
      perfield_step(1, 1.0);
      perfield_mesh_changed();
      perfield_mesh_image(0, big, o, d);
      perfield_step(2, 2.0);
      print_values();
    """)
    assert [step[0] for step in sizes(run)] == [1, 1, 9]


def test_run_without_a_mesh_has_no_number_of_cells(measured):
    run, _ = measured("perfield_initialize(); perfield_step(0, 0.0);")
    assert "cells" not in run.frame(0).values


def test_reported_sizes_of_grids_add_up_and_hold(measured):
    """A grid that is reported twice in a step counts once."""
    run, _ = measured("""
      int a, b;
      perfield_initialize();
      perfield_mesh_size(&a, 10, 20, 3);
      perfield_mesh_size(&b, 100, 200, 30);
      perfield_mesh_size(&b, 101, 200, 30);
      perfield_step(0, 0.0);
      perfield_step(1, 1.0);
      perfield_mesh_size(&a, 7, 8, 0);
      perfield_step(2, 2.0);
    """)
    assert sizes(run) == [[111, 220, 33], [111, 220, 33], [7, 8, 0]]


def test_size_reported_behind_the_setup_replaces_that_of_the_setup(measured):
    run, _ = measured("""
      int a, b;
      perfield_mesh_size(&a, 10, 20, 3);
      perfield_initialize();
      perfield_mesh_size(&b, 7, 8, 0);
      perfield_step(0, 0.0);
    """)
    assert sizes(run) == [[7, 8, 0]]


def test_described_mesh_counts_rather_than_a_reported_size(measured):
    run, _ = measured("""
      int64_t e[6] = {0, 4, 0, 3, 0, 2}; double o[3] = {0}, d[3] = {1, 1, 1};
      perfield_initialize();
      perfield_mesh_size(0, 5, 5, 5);
      perfield_mesh_image(0, e, o, d);
      perfield_step(0, 0.0);
    """)
    assert sizes(run) == [[24, 60, 0]]
