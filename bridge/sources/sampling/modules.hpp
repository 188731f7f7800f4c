// SPDX-License-Identifier: BSD-3-Clause
//
// modules.hpp - the program and the libraries in the process, with the addresses of their code.
#pragma once

namespace perfield::sampling {

// Hands in what was loaded since the last call.
void record_new_modules() noexcept;

}  // namespace perfield::sampling
