// SPDX-License-Identifier: BSD-3-Clause
//
// collectives.cpp - see collectives.hpp.
#include "waits/collectives.hpp"

#include "format/calls.h"

namespace perfield::waits {

Collective collective_of(uint16_t call) {
  switch (call) {
    case PERFIELD_CALL_barrier:
    case PERFIELD_CALL_ibarrier:
      return {Pattern::kAllToAll, kBarrier};
    case PERFIELD_CALL_fence:
      return {Pattern::kAllToAll, kLateOneSided};
    case PERFIELD_CALL_allgather:
    case PERFIELD_CALL_allgatherv:
    case PERFIELD_CALL_alltoall:
    case PERFIELD_CALL_alltoallv:
    case PERFIELD_CALL_alltoallw:
    case PERFIELD_CALL_allreduce:
    case PERFIELD_CALL_reduce_scatter:
    case PERFIELD_CALL_reduce_scatter_block:
    case PERFIELD_CALL_iallgather:
    case PERFIELD_CALL_iallgatherv:
    case PERFIELD_CALL_ialltoall:
    case PERFIELD_CALL_ialltoallv:
    case PERFIELD_CALL_ialltoallw:
    case PERFIELD_CALL_iallreduce:
    case PERFIELD_CALL_ireduce_scatter:
    case PERFIELD_CALL_ireduce_scatter_block:
    case PERFIELD_CALL_comm_create:
    case PERFIELD_CALL_win_create:
      return {Pattern::kAllToAll, kNToN};
    case PERFIELD_CALL_bcast:
    case PERFIELD_CALL_scatter:
    case PERFIELD_CALL_scatterv:
    case PERFIELD_CALL_ibcast:
    case PERFIELD_CALL_iscatter:
    case PERFIELD_CALL_iscatterv:
      return {Pattern::kOneToAll, kLateBroadcast};
    case PERFIELD_CALL_reduce:
    case PERFIELD_CALL_gather:
    case PERFIELD_CALL_gatherv:
    case PERFIELD_CALL_ireduce:
    case PERFIELD_CALL_igather:
    case PERFIELD_CALL_igatherv:
      return {Pattern::kAllToOne, kEarlyReduce};
    default:  // scans wait for some ranks only; what a persistent collective does is not known
      return {Pattern::kNone, kNToN};
  }
}

}  // namespace perfield::waits
