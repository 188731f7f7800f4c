// SPDX-License-Identifier: BSD-3-Clause
//
// scopes.hpp - functions of OpenFOAM that are measured as regions (scopes.def).
#pragma once

namespace perfield::openfoam {

// Ends scopes of this thread that an exception left open. Call it where none can be open.
void end_scopes() noexcept;

}  // namespace perfield::openfoam
