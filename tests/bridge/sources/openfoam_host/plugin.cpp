// SPDX-License-Identifier: BSD-3-Clause
//
// plugin.cpp - a library that the solver opens while it runs. It calls a function of OpenFOAM, and
// one of its own that has a name of OpenFOAM.
#include "openfoam.hpp"

namespace Foam {
struct nearWallDist {
  void correct();
};
void nearWallDist::correct() { work(1); }
}  // namespace Foam

extern "C" void plugin_correct() { Foam::interfaceProperties().correct(); }
extern "C" void plugin_own() { Foam::nearWallDist().correct(); }
