// SPDX-License-Identifier: BSD-3-Clause
//
// environment.hpp - what the session needs to know of the process around it, or to change in it.
#pragma once

#include <cstdint>
#include <string>

#include "recorder/recorder.hpp"

namespace perfield {

// Takes what perfield-exec put into the environment out again and switches perfield off there, so
// that a program started by this rank is not taken for a rank. Called once, in MPI_Init.
void forget_preload_in_environment();

// Whether a wrapped MPI_Init will start measuring: perfield-exec has preloaded the wrappers and the
// program has an MPI.
bool mpi_init_will_wake() noexcept;

// Nodes of the run as the launcher's environment tells (ranks / ranks of a node), at least 1.
uint64_t nodes_of_run();

// What is to be told where a program is alone in its world though it was started as one of several:
// its MPI and the launcher do not know each other. Else "". mpi: the MPI's name, "" without one.
std::string lone_world(int size, const std::string& mpi);

// Memory that perfield's tables have touched in this process, bytes, by their use.
uint64_t private_bytes(Recorder& recorder) noexcept;

}  // namespace perfield
