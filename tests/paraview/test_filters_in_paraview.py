# SPDX-License-Identifier: BSD-3-Clause
"""Each filter of the plugin in ParaView's own Python, behind readers of run.json."""

from __future__ import annotations

from drivers.in_paraview import in_paraview

from perfield.paraview.plugin import write_plugin
from twins import twin

APPLY = """
from vtkmodules.vtkCommonCore import vtkOutputWindow, vtkStringOutputWindow
before, window = vtkOutputWindow.GetInstance(), vtkStringOutputWindow()
vtkOutputWindow.SetInstance(window)
pv.LoadPlugin({plugin!r}, remote=False, ns=globals())
mesh, other, machine = (pv.OpenDataFile(file) for file in ({after!r}, {before!r}, {after!r}))
machine.Picture = "machine"

def at(proxy, time=1.0):
    proxy.UpdatePipeline(time)
    return proxy

result = {{}}
result["layout"] = at(Layout(Input=machine)).GetDataInformation().GetNumberOfCells()
statistics = at(Statistics(Input=mesh))
result["statistics"] = statistics.PointData["compute_time_s_maximum"].GetRange()
table = pv.servermanager.Fetch(at(Statisticstable(Input=mesh)))
result["table"] = [table.GetNumberOfRows(), table.GetColumnByName("compute_time_s_mean").GetValue(0)]
difference = at(Differenceoftworuns(Input=[other, mesh], Array="solve_time_s"))
result["difference"] = difference.CellData["solve_time_s_difference"].GetRange()
top = at(Topmessages(Input=mesh, Number=2))
result["top"] = [top.CellData["sent_bytes"].GetRange(), top.CellData["place"].GetRange()]
rank = at(Rank(Input=mesh, Rank=2))
result["rank"] = rank.PointData["rank"].GetRange()
rank.Rank = 9
at(rank)
result["said"] = window.GetOutput()
vtkOutputWindow.SetInstance(before)
"""


def test_every_filter_works_behind_a_reader(tmp_path):
    def slower(of, step, values):
        if of == 2:
            values["regions"] = [
                twin.region_row(1, twin.solve_ns(2, step) + 1_000_000),
                *values["regions"][1:],
            ]

    after = twin.write_run(tmp_path / "after", ranks=4, steps=3)
    before = twin.write_run(tmp_path / "before", ranks=4, steps=3, change_step=slower, run_id=7)
    files = {name: str(path / "run.json") for name, path in (("after", after), ("before", before))}
    result = in_paraview(APPLY.format(plugin=str(write_plugin(tmp_path / "perfield.xml")), **files), tmp_path)
    assert result["layout"] > 0
    assert 0 < result["statistics"][0] < result["statistics"][1] < 5e-3
    assert result["table"][0] == 3 and 0 < result["table"][1] < 4e-3
    assert abs(result["difference"][0] + 1e-3) < 1e-9 and result["difference"][1] == 0
    assert result["top"] == [[6000, 8000], [1, 2]]
    assert result["rank"] == [2, 2]
    assert result["said"].strip() == "perfield: Rank: this run has no rank 9; it has ranks 0 to 3."
