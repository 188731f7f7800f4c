# SPDX-License-Identifier: BSD-3-Clause
"""Makes the plugin: one XML file that describes all readers and filters to ParaView.

ParaView's own class for scripts does the work, so the file needs no Python to load. The scripts import
perfield from where it was when the file was written.

Plugins in Python do not load in Debian's ParaView 5.11: its loader needs `inspect.getargspec`, which Python
3.11 no longer has. A bare ParaView cannot import classes that an XML file names; a script names the path
first. But a script cannot fill ParaView's list of boxes for arrays: a choice and a line of names replace it.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import perfield
from perfield.catalyst_scripts.owned_folder import new_file
from perfield.paraview.proxies import PREFIX, Proxy
from perfield.text import first_sentence

MODULES = (
    "reader",
    "messages_of_ranks",
    "layout",
    "statistics",
    "statistics_table",
    "difference",
    "top_messages",
    "rank",
)
PROGRAMMABLE = "vtkPythonProgrammableFilter"
OUTPUTS = {"vtkPolyData": 0, "vtkMultiBlockDataSet": 13, "vtkTable": 19}  # VTK's numbers of these classes
FILE = "perfield.xml"

# What ParaView runs. What fails is printed in its output window.
SCRIPT = """\
import sys
of_perfield = {packages!r}
if of_perfield not in sys.path:
    sys.path.append(of_perfield)
try:
    import perfield._bridge
    from perfield.paraview import calls
except ImportError as error:
    from vtkmodules.vtkCommonCore import vtkOutputWindow
    vtkOutputWindow.GetInstance().DisplayErrorText(
        "perfield cannot be loaded from " + of_perfield + " (" + str(error) + "). This ParaView has Python "
        + "%d.%d" % sys.version_info[:2] + ", and the plugin was written for Python {version}. Install "
        "perfield for the former, call its 'perfield setup plugin', and load the file that it writes.\\n"
    )
else:
    chosen = {{name[{begin}:]: value for name, value in locals().items() if name.startswith({prefix!r})}}
    calls.{call}(self, {module!r}, chosen)
"""


def default_path() -> Path:
    """Where the plugin of this user is written."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return Path(home, "perfield", FILE)


def write_plugin(path: Path | None = None) -> Path:
    """Writes the plugin; returns its path, absolute. None: for this user. Raises OSError."""
    path = (path or default_path()).absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path) as place:
        place.write_text(plugin_xml(), encoding="utf-8")
    return path


def plugin_xml() -> str:
    """The text of the plugin, for this installation of perfield."""
    root = Element("ServerManagerConfiguration")
    groups = {name: SubElement(root, "ProxyGroup", name=name) for name in ("sources", "filters")}
    for name in MODULES:
        proxy = importlib.import_module(f"perfield.paraview.{name}").PROXY
        groups["sources" if proxy.file else "filters"].append(_element(proxy, name))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _element(proxy: Proxy, module: str) -> Element:
    """The element of a proxy, whose function make() is in `module`."""
    made = Element("SourceProxy", name=proxy.name, label=proxy.label, **{"class": PROGRAMMABLE})
    words = " ".join(proxy.help.split())
    SubElement(made, "Documentation", short_help=first_sentence(words) + ".").text = words
    if proxy.file:
        _file_and_times(made)
        _hidden(made, "StringVectorProperty", "InformationScript", _script(module, "information"))
    else:
        _input(made, proxy)
    made.extend(parameter.element() for parameter in proxy.parameters)
    _hidden(made, "IntVectorProperty", "OutputDataSetType", str(OUTPUTS[proxy.output]))
    _hidden(made, "StringVectorProperty", "Script", _script(module, "data"))
    hints = SubElement(made, "Hints")
    if proxy.file:
        about = {"filename_patterns": proxy.file, "file_description": proxy.file_words}
        SubElement(hints, "ReaderFactory", about)
        SubElement(hints, "ReloadFiles", property="Refresh")
    else:
        SubElement(hints, "ShowInMenu", category="perfield")
    SubElement(hints, "RepresentationType", view="RenderView", type="Surface")
    return made


def _script(module: str, call: str) -> str:
    version = ".".join(map(str, sys.version_info[:2]))
    packages = str(Path(perfield.__file__).resolve().parents[1])
    return SCRIPT.format(
        packages=packages, version=version, module=module, call=call, prefix=PREFIX, begin=len(PREFIX)
    )


def _hidden(proxy: Element, kind: str, name: str, value: str) -> None:
    """A property that the user neither sees nor sets, and that no state file holds."""
    made = SubElement(proxy, kind, name=name, command=f"Set{name}", number_of_elements="1")
    made.attrib.update(default_values=value, panel_visibility="never", state_ignored="1")


def _file_and_times(proxy: Element) -> None:
    # The one setter of this class that keeps any text as it is, and that nothing else uses: ParaView writes
    # other texts between apostrophes into a script, unescaped.
    name = SubElement(proxy, "StringVectorProperty", name="FileName", command="SetCheckNeedsUpdateScript")
    name.attrib.update(number_of_elements="1", animateable="0", panel_visibility="never")
    SubElement(name, "FileListDomain", name="files")
    SubElement(name, "Documentation").text = "The file that was opened."
    times = SubElement(proxy, "DoubleVectorProperty", name="TimestepValues", information_only="1")
    times.attrib.update(repeatable="1")
    SubElement(times, "TimeStepsInformationHelper")
    SubElement(times, "Documentation").text = "The times of the steps."
    refresh = SubElement(proxy, "Property", name="Refresh", command="Modified", panel_widget="command_button")
    SubElement(refresh, "Documentation").text = "Reads what was added since."


def _input(proxy: Element, described: Proxy) -> None:
    command = "AddInputConnection" if described.several else "SetInputConnection"
    made = SubElement(proxy, "InputProperty", name="Input", command=command)
    if described.several:
        made.attrib.update(multiple_input="1", clean_command="RemoveAllInputs")
    groups = SubElement(made, "ProxyGroupDomain", name="groups")
    for name in ("sources", "filters"):
        SubElement(groups, "Group", name=name)
    types = SubElement(made, "DataTypeDomain", name="input_type", composite_data_supported="1")
    for name in described.inputs:
        SubElement(types, "DataType", value=name)
    SubElement(made, "Documentation").text = "What the filter works on."
