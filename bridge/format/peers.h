// SPDX-License-Identifier: BSD-3-Clause
//
// peers.h - peers that are no world rank, as streams number them.
#pragma once

#include <cstdint>

inline constexpr int32_t kPeerOther = -1;    // the table was full: exact sums, no name
inline constexpr int32_t kPeerOutside = -2;  // a rank of another MPI_COMM_WORLD
inline constexpr int32_t kPeerUnknown = -3;
