// SPDX-License-Identifier: BSD-3-Clause
//
// peers.h - the numbers in a stream for peers that are not world ranks, and for messages.
#pragma once

#include <cstdint>

inline constexpr int32_t kPeerOther = -1;    // the table was full: exact sums, no name
inline constexpr int32_t kPeerOutside = -2;  // a rank of another MPI_COMM_WORLD
inline constexpr int32_t kPeerUnknown = -3;
inline constexpr int32_t kEveryPeer = -1;  // of a lock: all ranks of the window

// Set in the number of a message that is no count of its channel, but a hash of what its two ranks
// have sent before it (docs/stream.md). Such numbers have no order.
inline constexpr uint32_t kNumberOfHistory = uint32_t{1} << 31;
