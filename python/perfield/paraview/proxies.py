# SPDX-License-Identifier: BSD-3-Clause
"""Describes what the plugin offers in ParaView: readers and filters, their parameters and their help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union
from xml.etree.ElementTree import Element, SubElement

PREFIX = "of_user_"  # of the parameters' names in scripts


@dataclass(frozen=True)
class Text:
    """A line of text. It must not hold an apostrophe: ParaView writes it between two into a script.

    name : of make()'s argument. label : in the panel. help : sentences. default : what the panel shows first.
    advanced : it is among the advanced properties.
    """

    name: str
    label: str
    help: str
    default: str = ""
    advanced: bool = False

    def element(self) -> Element:
        """Its property in ParaView's XML."""
        return _property("StringVectorProperty", self)


@dataclass(frozen=True)
class Flag:
    """A box to tick; make() takes 0 or 1. Other attributes: as of Text."""

    name: str
    label: str
    help: str
    default: bool = False
    advanced: bool = False

    def element(self) -> Element:
        """Its property in ParaView's XML."""
        made = _property("IntVectorProperty", self)
        SubElement(made, "BooleanDomain", name="bool")
        return made


@dataclass(frozen=True)
class Choice:
    """A menu; make() takes the number of a choice, from 0. Other attributes: as of Text."""

    name: str
    label: str
    help: str
    choices: tuple[str, ...]
    default: int = 0
    advanced: bool = False

    def element(self) -> Element:
        """Its property in ParaView's XML."""
        made = _property("IntVectorProperty", self)
        domain = SubElement(made, "EnumerationDomain", name="enum")
        for number, text in enumerate(self.choices):
            SubElement(domain, "Entry", value=str(number), text=text)
        return made


@dataclass(frozen=True)
class Number:
    """A number with a slider from `least` to `most`; whole if `default` is. Other attributes: as of Text."""

    name: str
    label: str
    help: str
    default: float
    least: float
    most: float
    advanced: bool = False

    def element(self) -> Element:
        """Its property in ParaView's XML."""
        kind = "Int" if isinstance(self.default, int) else "Double"
        made = _property(f"{kind}VectorProperty", self)
        SubElement(made, f"{kind}RangeDomain", name="range", min=str(self.least), max=str(self.most))
        return made


Parameter = Union[Text, Flag, Choice, Number]

RUN_PATH = Text(  # of filters behind any picture
    "run",
    "Run",
    """Path of the run directory. It is needed only behind pictures that perfield render wrote, which do not
    say where their run is.""",
    advanced=True,
)


@dataclass(frozen=True)
class Proxy:
    """A reader or a filter of the plugin.

    name : its name in state files, CamelCase. label : its name in menus; without spaces, in ParaView's
    Python. help : sentences, which ParaView shows. parameters : in the panel's order.
    output : VTK's class of what make() returns: vtkMultiBlockDataSet, vtkPolyData or vtkTable.
    inputs : VTK's classes that a filter takes; none makes it a reader. several : it takes several at once.
    file : what a reader opens: "run.json". file_words : how File > Open calls such files.
    """

    name: str
    label: str
    help: str
    parameters: tuple[Parameter, ...] = ()
    output: str = "vtkMultiBlockDataSet"
    inputs: tuple[str, ...] = ("vtkMultiBlockDataSet",)
    several: bool = False
    file: str = ""
    file_words: str = ""


def _property(kind: str, parameter: Parameter) -> Element:
    default = parameter.default
    made = Element(
        kind,
        name=parameter.name.title().replace("_", ""),
        label=parameter.label,
        command="SetParameter",
        initial_string=PREFIX + parameter.name,
        number_of_elements="1",
        default_values=str(int(default) if isinstance(default, bool) else default),
        panel_visibility="advanced" if parameter.advanced else "default",
    )
    SubElement(made, "Documentation").text = " ".join(parameter.help.split())
    return made
