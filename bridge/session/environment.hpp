// SPDX-License-Identifier: BSD-3-Clause
//
// environment.hpp - what the session reads from the process around it, or changes in it.
#pragma once

#include <cstdint>
#include <string>

#include "format/json.hpp"

namespace perfield {

// Removes perfield-exec's settings from the environment and switches perfield off there, so that a
// program started by this rank is not taken for a rank. Called once, in MPI_Init.
void forget_preload_in_environment();

// Whether a wrapped MPI_Init will start measuring: the wrappers are preloaded, or linked before
// MPI, and the program uses MPI.
bool mpi_init_will_start() noexcept;

// The warning for a program that is alone in its world though it was started as one of several
// ranks: its MPI and the launcher do not match. Else "". mpi: the MPI's name, "" without one.
std::string lone_world(int size, const std::string& mpi);

// Whether this program runs Python without perfield's module, which follows Python's functions.
bool python_lacks_perfield();

// Adds `devices` and `device_choice` to an end entry: what this process has open now, and the
// variables that chose it.
void add_devices(JsonObject* entry);

}  // namespace perfield
