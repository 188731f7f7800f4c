// SPDX-License-Identifier: BSD-3-Clause
//
// score_p.hpp - programs built with Score-P: recognises them, and makes the environment in which
// Score-P loads perfield's plugin.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace perfield {

// Whether one of the libraries that a program loads belongs to Score-P.
bool brings_score_p(const std::vector<std::string>& needed);

// SCOREP_SUBSTRATE_PLUGINS and LD_LIBRARY_PATH with the plugin added to their values, once. plugin:
// its path.
std::vector<std::pair<std::string, std::string>> score_p_environment(const std::string& plugin);

}  // namespace perfield
