// SPDX-License-Identifier: BSD-3-Clause
//
// trace.hpp - the definitions of a trace that its events refer to, by the trace's own numbers. Made
// once, then only read by the followers of all ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/calls.h"

namespace perfield {

// The members of communicators: events name a peer by its index in one.
class TracePeers {
 public:
  // World ranks; nullptr for the group of the asking rank alone (MPI_COMM_SELF).
  using Group = std::shared_ptr<const std::vector<int32_t>>;

  // An inter-communicator has two groups; a rank talks to the other group.
  void add(uint32_t comm, std::vector<Group> groups) { groups_[comm] = std::move(groups); }

  // The world rank of the member with index `place`, seen from rank `own`; kPeerUnknown if the
  // trace does not say.
  int32_t world_rank(uint32_t comm, uint32_t place, int32_t own) const noexcept;

 private:
  std::unordered_map<uint32_t, std::vector<Group>> groups_;
};

struct TraceRegion {
  std::string name;  // "": not measured
  std::string file;
  int line = 0;
  uint16_t call = 0;  // an MPI function that counts as this call; 0: none
  bool closes_steps = false;
};

enum class FileKind : uint8_t { posix, stdio, mpi };

// A value that comes with a metric of the trace, and the counter it belongs to.
struct TraceMetric {
  uint32_t place;
  int counter;
};

struct Trace {
  std::unordered_map<uint32_t, TraceRegion> regions;
  std::unordered_map<uint32_t, uint32_t> contexts;  // calling context -> region
  TracePeers peers;
  std::unordered_map<uint32_t, uint32_t> windows;  // of one-sided communication -> communicator
  std::unordered_map<uint32_t, FileKind> files;    // by I/O handle
  std::unordered_map<uint32_t, std::string> strings;
  std::vector<std::string> counters;
  std::unordered_map<uint32_t, std::vector<TraceMetric>> metrics;
  std::vector<std::string> sources;

  double ticks_per_second = 1e9;
  uint64_t start = 0;    // stamp of the trace's begin
  int64_t start_ns = 0;  // CLOCK_REALTIME then
  int64_t end_ns = 0;    // ... and at its end

  // The configuration keys of the same name.
  uint32_t max_regions = 0, max_peers = 0;  // as configured
  bool messages = true;
};

}  // namespace perfield
