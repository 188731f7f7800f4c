# SPDX-License-Identifier: BSD-3-Clause
"""The plugin's XML, and how ParaView loads and runs it."""

from __future__ import annotations

import importlib
import inspect
from xml.etree import ElementTree

import pytest

from perfield.paraview.plugin import MODULES, plugin_xml


@pytest.fixture(scope="module")
def proxies():
    """The elements of the plugin's proxies by name of their module."""
    root = ElementTree.fromstring(plugin_xml())
    found = root.findall("ProxyGroup/SourceProxy")
    return {name: element for name in MODULES for element in found if f"'{name}'" in _script(element)}


def _script(element):
    return element.find("StringVectorProperty[@name='Script']").get("default_values")


@pytest.mark.parametrize("name", MODULES)
def test_every_proxy_and_parameter_has_help(proxies, name):
    element = proxies[name]
    described = importlib.import_module(f"perfield.paraview.{name}").PROXY
    texts = [element.find("Documentation").text]
    texts += [element.find(f"*[@label='{one.label}']/Documentation").text for one in described.parameters]
    assert all(text.endswith(".") and len(text) > 20 for text in texts), texts


@pytest.mark.parametrize("name", MODULES)
def test_parameters_of_a_proxy_are_arguments_of_its_function(name):
    module = importlib.import_module(f"perfield.paraview.{name}")
    taken = [p.name for p in inspect.signature(module.make).parameters.values() if p.kind is p.KEYWORD_ONLY]
    assert taken == [parameter.name for parameter in module.PROXY.parameters]


@pytest.mark.parametrize("name", MODULES)
def test_defaults_of_a_proxy_are_defaults_of_its_function(name):
    module = importlib.import_module(f"perfield.paraview.{name}")
    defaults = {p.name: p.default for p in inspect.signature(module.make).parameters.values()}
    assert all(defaults[parameter.name] == parameter.default for parameter in module.PROXY.parameters)
