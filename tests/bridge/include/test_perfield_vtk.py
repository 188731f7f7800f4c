# SPDX-License-Identifier: BSD-3-Clause
"""perfield_vtk.hpp in an adaptor compiled against ParaView: VTK accepts its arrays as ordinary ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import perfield

VTK = Path("/usr/include/paraview-5.11")
MODULES = ("CommonCore", "CommonDataModel", "CommonExecutionModel", "FiltersCore", "FiltersGeneral", "IOXML")
FLAGS = (f"-I{VTK}", *(f"-lvtk{name}-pv5.11" for name in MODULES), "-lvtksys-pv5.11")

ADAPTOR = r"""
#include <mpi.h>
#include <perfield.hpp>
#include <perfield_vtk.hpp>
#include <cstdio>
#include <cstring>
#include <vtkClipDataSet.h>
#include <vtkImageData.h>
#include <vtkMultiBlockDataSet.h>
#include <vtkTable.h>
#include <vtkThreshold.h>
#include <vtkUnstructuredGrid.h>
#include <vtkXMLImageDataReader.h>
#include <vtkXMLImageDataWriter.h>

static vtkNew<vtkImageData> grid_of(int n) {
  vtkNew<vtkImageData> grid;
  grid->SetDimensions(n, n, n);
  return grid;
}

static double range_of(vtkDataSetAttributes* data, const char* name, int side) {
  double range[2];
  data->GetArray(name)->GetRange(range);
  return range[side];
}

// Memory of this process alone, because others share the libraries.
static long own_kb() {
  long kb = 0, total = 0;
  char line[256];
  FILE* file = std::fopen("/proc/self/smaps_rollup", "r");
  while (std::fgets(line, sizeof line, file))
    if (std::sscanf(line, "Pss_Anon: %ld", &kb) == 1 || std::sscanf(line, "Pss_Shmem: %ld", &kb) == 1)
      total += kb;
  std::fclose(file);
  return total;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  perfield_initialize();
  for (int step = 0; step < 2; ++step) {
    static const perfield_region solve = perfield::region("solve");
    { perfield::Region measured(solve); for (volatile int i = 0; i < 100000; ++i) {} }
    char sent[12] = {0}, got[12];
    MPI_Sendrecv(sent, 12, MPI_CHAR, 0, 0, got, 12, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    perfield_step(step, 0.5 * step);

    auto grid = grid_of(50);
    const int added = perfield::attach(grid);
    auto* points = grid->GetPointData();
    std::printf("%d arrays %d same %d\n", step, added, added == points->GetNumberOfArrays());
    std::printf("%d value %.17g\n", step, range_of(points, "solve_time_s", 0));
    std::printf("%d focus %g %g\n", step, range_of(points, "sendrecv_bytes_to_0", 0),
                range_of(points, "received_count_from_0", 1));
    std::printf("%d constant %d\n", step,
                range_of(points, "solve_time_s", 0) == range_of(points, "solve_time_s", 1));
    perfield::attach(grid, perfield::Attached::points, {"solve_count", "rank"});  // replaces
    std::printf("%d replaced %d\n", step, added == points->GetNumberOfArrays());

    perfield::attach(grid, perfield::Attached::cells, {"solve_time_s"});
    perfield::attach(grid, perfield::Attached::field, {"solve_time_s"});
    std::printf("%d cells %d field %d\n", step,
                int(grid->GetCellData()->GetArray("solve_time_s")->GetNumberOfTuples()),
                int(grid->GetFieldData()->GetArray("solve_time_s")->GetNumberOfTuples()));

    vtkNew<vtkClipDataSet> clip;
    clip->SetInputData(grid);
    clip->SetInputArrayToProcess(0, 0, 0, vtkDataObject::FIELD_ASSOCIATION_POINTS, "solve_count");
    clip->SetValue(0.5);
    clip->Update();
    vtkNew<vtkThreshold> threshold;
    threshold->SetInputData(grid);
    threshold->SetInputArrayToProcess(0, 0, 0, vtkDataObject::FIELD_ASSOCIATION_CELLS, "solve_time_s");
    threshold->SetLowerThreshold(1e9);
    threshold->Update();
    std::printf("%d clip %d threshold %d\n", step, int(clip->GetOutput()->GetNumberOfPoints()),
                int(threshold->GetOutput()->GetNumberOfCells()));

    vtkNew<vtkXMLImageDataWriter> writer;
    writer->SetInputData(grid);
    writer->SetFileName("grid.vti");
    writer->SetDataModeToBinary();
    writer->Write();
    vtkNew<vtkXMLImageDataReader> reader;
    reader->SetFileName("grid.vti");
    reader->Update();
    std::printf("%d read %d\n", step, range_of(reader->GetOutput()->GetPointData(), "solve_time_s", 1) ==
                                          range_of(points, "solve_time_s", 0));

    grid->GetPointData()->GetArray("solve_count")->SetTuple1(7, 77);  // unshares one page of it
    std::printf("%d written %g %g\n", step, points->GetArray("solve_count")->GetTuple1(7),
                points->GetArray("solve_count")->GetTuple1(100000));

    vtkNew<vtkMultiBlockDataSet> blocks;
    blocks->SetBlock(0, grid_of(3));
    blocks->SetBlock(2, grid_of(30));
    perfield::attach(blocks, perfield::Attached::points, {"solve_count"});
    for (int block : {0, 2}) {
      auto* part = vtkDataSet::SafeDownCast(blocks->GetBlock(block))->GetPointData();
      std::printf("%d block %d %d %g\n", step, block, int(part->GetArray("solve_count")->GetNumberOfTuples()),
                  range_of(part, "solve_count", 1));
    }
    vtkNew<vtkTable> table;
    std::printf("%d no grid %d %d\n", step, perfield::attach(static_cast<vtkDataObject*>(nullptr)),
                perfield::attach(table));
    vtkNew<vtkUnstructuredGrid> empty;
    perfield::attach(empty);
  }
  long before = 0;
  for (int i = 0; i < 10; ++i) {
    auto grid = grid_of(100);
    perfield::attach(grid);
    auto* points = grid->GetPointData();
    const int n = points->GetNumberOfArrays();
    for (int a = 0; a < n; ++a) range_of(points, points->GetArrayName(a), 0);
    if (i == 9) std::printf("2 held %g\n", double(own_kb() - before) / n);
    grid->GetPointData()->Initialize();
    if (i == 0) before = own_kb();
  }
  std::printf("2 freed %ld\n", own_kb() - before);
  MPI_Finalize();
}
"""


@pytest.fixture(scope="module")
def adaptor(build_c):
    """The adaptor above, compiled; skips without VTK's headers."""
    if not VTK.is_dir():
        pytest.skip("VTK's headers are not installed (Debian: paraview-dev)")
    return build_c(ADAPTOR, *FLAGS, name="adaptor.cpp")


@pytest.fixture(scope="module")
def attached(adaptor, mpirun, bin_dir):
    """(perfield.Run, lines that the adaptor printed for a step) of one rank."""
    result = mpirun(1, bin_dir / "perfield-exec", adaptor, env={"PERFIELD_FOCUS_RANKS": "0"})
    assert result.returncode == 0, result.stderr
    rows = [line.split(" ") for line in result.stdout.splitlines()]
    return perfield.open(result.cwd / "perfield-run"), lambda step: [r[1:] for r in rows if r[0] == str(step)]


def test_arrays_equal_the_frame(attached):
    run, printed = attached
    for step in range(2):
        lines = {row[0]: row[1:] for row in printed(step)}
        assert int(lines["arrays"][0]) > 20
        assert lines["arrays"][1:] == ["same", "1"]
        assert float(lines["value"][0]) == run.frame(step).values["solve_time_s"][0]
        assert (lines["constant"], lines["replaced"]) == (["1"], ["1"])
        assert lines["focus"] == ["12", "1"]
        assert lines["cells"] == [str(49**3), "field", "1"]


def test_filters_and_writers_accept_the_arrays(attached):
    _, printed = attached
    for step in range(2):
        lines = {row[0]: row[1:] for row in printed(step)}
        assert lines["clip"] == [str(50**3), "threshold", "0"]
        assert lines["read"] == ["1"]
        assert lines["written"] == ["77", "1"]


def test_all_blocks_of_a_composite_get_arrays(attached):
    _, printed = attached
    blocks = [row[1:] for row in printed(1) if row[0] == "block"]
    assert blocks == [["0", "27", "1"], ["2", "27000", "1"]]


def test_objects_without_a_grid_get_nothing(attached):
    _, printed = attached
    assert [row for row in printed(0) if row[0] == "no"] == [["no", "grid", "0", "0"]]


def test_arrays_use_little_memory_and_free_it(attached):
    _, printed = attached
    kilobytes = {row[0]: float(row[1]) for row in printed(2)}
    assert 50 < kilobytes["held"] < 0.03 * 8000  # for each array of a million numbers
    assert kilobytes["freed"] < 500


def test_attach_adds_nothing_without_perfield(build_c, mpirun, adaptor):
    program = build_c(
        "#include <perfield_vtk.hpp>\n#include <vtkImageData.h>\n"
        "int main() { vtkNew<vtkImageData> g; g->SetDimensions(3, 3, 3); return perfield::attach(g); }\n",
        *FLAGS,
        name="absent.cpp",
    )
    assert mpirun(1, program).returncode == 0
