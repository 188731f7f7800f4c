// SPDX-License-Identifier: BSD-3-Clause
//
// clocks.hpp - compares the clocks of a program's nodes, inside MPI_Init and MPI_Finalize: one rank
// of each node exchanges messages with another on a private communicator. On the thread that starts
// and ends MPI; never fails or aborts, and waits no longer than its deadlines.
//
// Only where perfield-exec has vouched that every rank is started by it (launcher/vouch.hpp). The
// first step is collective: without it no rank knows the leaders of the other nodes, and one rank
// without these wrappers would keep all others waiting. No cheaper safeguard exists. A message on
// MPI_COMM_WORLD to a rank that does not expect it may match a wildcard receive of the program, and
// a collective that some ranks never enter blocks the next one, whether it can be cancelled or not.
// So ranks that are not measured (PERFIELD_ENABLED=false, a wrong configuration) take part as well.
// A deadline bounds the time that a rank waits for one that was lost nevertheless.
#pragma once

namespace perfield::pmpi {

// Right after MPI_Init, before measuring starts.
void compare_clocks_at_start(int rank, int size) noexcept;

// After the start: writes what is known of this node's clock, if this rank is its leader. The
// end of measuring then compares again.
void report_clocks() noexcept;

// At MPI_Finalize: the second comparison of a leader that is not measured, whom nobody asks.
void compare_clocks_at_end() noexcept;

}  // namespace perfield::pmpi
