# SPDX-License-Identifier: BSD-3-Clause
"""Odd names of regions and fields, from a program's source to the .pvd files and the images."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ElementTree

import pytest
from compiled.c_programs import mpi_program
from vtkmodules.vtkIOXML import vtkXMLMultiBlockDataReader

import perfield
from twins import twin

# Name in the C source -> prefix of its fields.
REGIONS = {
    "i flux": "i_flux",
    "i-flux": "i_flux_2",
    "i_flux": "i_flux_3",
    "Überströmung": "_berstr_mung",
    "流れ": "__",
    "2nd": "_2nd",
    "rank": "region_rank",
    "isend": "region_isend",
    "step": "region_step",
    "sent": "region_sent",
    "a\\\"b<c>&d'": "a_b_c__d_",
    "two\\nlines": "two_lines",
    "not \\xff\\xfe UTF-8": "not____UTF_8",
}
PROGRAM = mpi_program("""
  const char* names[] = {NAMES};
  int64_t e[6] = {2 * rank, 2 * rank + 2, 0, 2, 0, 2};
  double o[3] = {0}, d[3] = {1, 1, 1}, t[27] = {0};
  perfield_initialize();
  perfield_mesh_image(0, e, o, d);
  perfield_array values = perfield_array_of(t, PERFIELD_FLOAT64, 1, 27);
  perfield_field(0, "temperature in °C", PERFIELD_POINTS, values);
  perfield_field(0, "rank", PERFIELD_POINTS, values);
  perfield_field(0, "a<b>&\\"c\\"", PERFIELD_POINTS, values);
  for (int s = 0; s < 2; ++s) {
    for (unsigned i = 0; i < sizeof names / sizeof *names; ++i) {
      perfield_begin(names[i]);
      for (volatile int k = 0; k < 1000 * (1 + rank); ++k) continue;
      perfield_end(names[i]);
    }
    perfield_step(s, s);
  }
""")


@pytest.fixture(scope="module")
def odd(build_c, mpirun, bin_dir, tmp_path_factory):
    """The run directory of a program with these names; its path is just as odd."""
    folder = tmp_path_factory.mktemp("odd") / "größe & 'name'"
    folder.mkdir()
    program = build_c(PROGRAM.replace("NAMES", ", ".join(f'"{name}"' for name in REGIONS)), name="odd ü.c")
    result = mpirun(2, bin_dir / "perfield-exec", program, cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder / "perfield-run"


def test_regions_with_odd_names_get_fields_and_keep_names(odd):
    run = perfield.open(odd)
    assert sorted(region.field for region in run.known_regions) == sorted(REGIONS.values())
    names = {region.name for region in run.known_regions}
    assert {"i flux", "Überströmung", "流れ", "rank", "a\"b<c>&d'", "two\nlines"} <= names
    assert len(names) == len(REGIONS)
    for frame in run.frames():
        for field in REGIONS.values():
            assert (frame.values[f"{field}_count"] == 1).all(), field
    assert (run.frame(0).values["rank"] == [0, 1]).all()


def test_info_shows_one_odd_region_per_line(perfield_cli, odd):
    rows = json.loads(perfield_cli("info", odd, "--regions", "--json").stdout)["regions"]
    assert sorted(row["field"] for row in rows) == sorted(REGIONS.values())
    table = perfield_cli("info", odd, "--regions")
    assert table.returncode == 0, table.stderr
    lines = [line for line in table.stdout.splitlines() if line.split(" ")[0] in REGIONS.values()]
    assert len(lines) == len(REGIONS)
    assert any(line.endswith("  two\\nlines") for line in lines)


@pytest.fixture(scope="module")
def rendered(perfield_cli, odd, tmp_path_factory):
    """The pictures of that run, with images of three fields."""
    folder = tmp_path_factory.mktemp("pictures") / "bilder ü"
    fields = "_berstr_mung_time_s,region_rank_time_s,a_b_c__d__time_s"
    images = ["--images"] if shutil.which("Xvfb") and shutil.which("pvpython") else []
    words = ["-o", folder, "--steps", "1", "--arrays", "all", "--fields", fields, *images]
    result = perfield_cli("render", odd, *words, timeout=300)
    assert result.returncode == 0, result.stderr
    perfield_cli("render", odd, "-o", folder / "all", "--geometry", "--arrays", "all")
    return folder


def arrays(pvd):
    """Names of all point and cell arrays of the first step of a series."""
    entry = next(ElementTree.parse(pvd).iter("DataSet"))
    reader = vtkXMLMultiBlockDataReader()
    reader.SetFileName(str(pvd.parent / entry.get("file")))
    reader.Update()
    picture = reader.GetOutput()
    names = set()
    for number in range(picture.GetNumberOfBlocks()):
        block = picture.GetBlock(number)
        for data in (block.GetPointData(), block.GetCellData()):
            names |= {data.GetArrayName(i) for i in range(data.GetNumberOfArrays())}
    return names


def test_pvd_files_hold_all_fields(rendered):
    names = arrays(rendered / "all/geometry.pvd")
    assert {f"{field}_time_s" for field in REGIONS.values()} <= names
    assert {"a_b___c_", "rank", "own_rank"} <= names
    assert any(name.startswith("temperature") for name in names)
    assert {"_berstr_mung_time_s", "region_rank_time_s"} <= arrays(rendered / "topology.pvd")


def test_images_of_odd_names_are_drawn(rendered):
    if not (rendered / "images").exists():
        pytest.skip("pvpython or Xvfb is not installed")
    drawn = sorted(path.name for path in (rendered / "images").glob("*.png"))
    for picture in ("geometry", "topology"):
        for field in ("_berstr_mung", "region_rank", "a_b_c__d_"):
            assert any(name[3:].startswith(f"{picture}_{field}_time_s") for name in drawn), (field, drawn)
    assert all(path.stat().st_size > 5000 for path in (rendered / "images").glob("*.png"))


def test_own_field_of_wrong_length_is_left_out_with_a_reason(perfield_cli, tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=2)
    (file,) = (path / "mesh").iterdir()
    array = {"role": "field", "name": "short", "association": "point", "type": "f8", "values": [1.0] * 26}
    twin.Writer(file, 1).add("field", twin.array_body({"block": 0}, [array]), index=0)
    shown = perfield_cli("render", path, "--geometry")
    assert shown.returncode == 0, shown.stderr
    assert (
        "left out: rank 1, block 0: field 'short' has 26 values, but the block has 125 points" in shown.stdout
    )
    assert shown.stdout.count("left out") == 1
    names = arrays(path / "pictures/geometry.pvd")
    assert "temperature" in names and "short" not in names
