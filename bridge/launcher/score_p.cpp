// SPDX-License-Identifier: BSD-3-Clause
//
// score_p.cpp - see score_p.hpp.
#include "launcher/score_p.hpp"

#include <cstdlib>
#include <sstream>

namespace perfield {
namespace {

std::string variable(const char* name, const char* otherwise = "") {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

bool has_word(const std::string& list, char separator, const std::string& word) {
  std::istringstream words(list);
  for (std::string found; std::getline(words, found, separator);)
    if (found == word) return true;
  return false;
}

}  // namespace

bool brings_score_p(const std::vector<std::string>& needed) {
  for (const std::string& name : needed)
    if (name.rfind("libscorep_", 0) == 0 && name.rfind("libscorep_substrate_", 0) != 0) return true;
  return false;
}

std::vector<std::pair<std::string, std::string>> score_p_environment(const std::string& plugin) {
  const std::string folder = plugin.substr(0, plugin.rfind('/'));
  const char separator = variable("SCOREP_SUBSTRATE_PLUGINS_SEP", ",")[0];
  std::string plugins = variable("SCOREP_SUBSTRATE_PLUGINS");
  // Loading the plugin under both of its names would count everything twice.
  if (!has_word(plugins, separator, "perfield") && !has_word(plugins, separator, "Catalyst"))
    plugins += (plugins.empty() ? "" : std::string(1, separator)) + "perfield";
  std::string path = variable("LD_LIBRARY_PATH");
  if (!has_word(path, ':', folder)) path = path.empty() ? folder : folder + ":" + path;
  return {{"SCOREP_SUBSTRATE_PLUGINS", plugins}, {"LD_LIBRARY_PATH", path}};
}

}  // namespace perfield
