// SPDX-License-Identifier: BSD-3-Clause
//
// interpose.hpp - puts replacements in front of OpenFOAM's functions that are measured as regions.
//
// A library that is preloaded replaces functions by exporting their mangled names, and those differ
// between versions of OpenFOAM, between its builds, and with each combination of its templates. So
// these functions are found by their readable names among all that the loaded program and libraries
// take from others, and the words of memory that hold their addresses get the address of a
// replacement: the tables of calls across libraries, and those of virtual functions. That reaches
// the same calls as an exported name would.
#pragma once

#include <atomic>

#include "sources/openfoam/scope_names.hpp"

namespace perfield::openfoam {

// Looks at the program and libraries that were loaded since the last call. Call it where no thread
// waits for it: at the start, and between time steps. It allocates. It costs 50 ns if nothing was
// loaded, else tens of milliseconds. A second thread that calls it meanwhile does nothing.
void interpose() noexcept;

// A function that enters a region and calls the real one.
struct Replacement {
  void* function = nullptr;
  std::atomic<void*>* real = nullptr;
};

// For interpose(). A replacement without function if there are too many. region: kept.
Replacement make_replacement(char* region, Returns returns) noexcept;

}  // namespace perfield::openfoam
