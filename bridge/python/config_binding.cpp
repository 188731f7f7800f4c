// SPDX-License-Identifier: BSD-3-Clause
//
// config_binding.cpp - the configuration for Python: the same keys, parser and error sentences as
// in the measured program.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "configuration/config.hpp"

namespace py = pybind11;

namespace {

py::tuple load_config() {
  const perfield::ConfigResult result = perfield::load_config();
  py::list keys;
  for (const perfield::ConfigOrigin& origin : result.origins) {
    py::dict key;
    key["key"] = origin.key;
    key["type"] = origin.type;
    key["value"] = origin.value;
    key["default"] = origin.default_value;
    key["unit"] = origin.unit;
    key["help"] = origin.help;
    key["origin"] = origin.origin;
    keys.append(key);
  }
  return py::make_tuple(keys, result.errors, result.notices);
}

}  // namespace

void bind_config(py::module_& module) {
  module.def(
      "load_config", &load_config,
      "The configuration in force in this directory and environment.\n\n"
      "Returns (keys, errors, notices). keys: one dict of texts for each key, with key, type, "
      "value,\n"
      "default, unit, help and origin; value and default are literals of both TOML and JSON,\n"
      "origin is 'default', 'perfield.toml:3' or 'PERFIELD_REGIONS'. errors: sentences. notices:\n"
      "sentences about a file that is ignored.");
}
