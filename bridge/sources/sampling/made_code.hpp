// SPDX-License-Identifier: BSD-3-Clause
//
// made_code.hpp - functions that compilers in the process have made. They belong to no file; some
// compilers list them for perf, in /tmp/perf-PID.map: those of Python (from 3.12 on, with -X perf),
// Node.js (--perf-basic-prof), Java, .NET.
#pragma once

namespace perfield::sampling {

// Hands in what was listed since the last call. Says so once if the list is too long for it.
void record_made_functions() noexcept;

}  // namespace perfield::sampling
