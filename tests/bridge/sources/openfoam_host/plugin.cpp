// SPDX-License-Identifier: BSD-3-Clause
//
// plugin.cpp - a library that the solver opens while it runs. It calls a function of OpenFOAM.
#include "openfoam.hpp"

extern "C" void plugin_correct() { Foam::interfaceProperties().correct(); }
