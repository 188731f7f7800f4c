// SPDX-License-Identifier: BSD-3-Clause
//
// receives.hpp - the requests of this rank that receive, and persistent ones that send, by handle
// and in the order in which they were posted. One table of fixed size; any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "call.hpp"
#include "handle.hpp"
#include "peers.hpp"

namespace perfield::injector {

using namespace perfield::pmpi;

struct Receive {
  Handle handle;
  Peers* any = nullptr;       // any source: translates its rank
  uint64_t post = 0;          // when it was posted, as a number that grows
  uint64_t due_ns = 0;        // once `settled`
  uint64_t bytes = 0;         // of a persistent send
  int32_t peer = -1;          // world rank
  uint32_t communicator = 0;  // its name
  int tag = -1;               // negative: any
  bool sends = false;
  bool kept = false;     // persistent
  bool active = false;   // posted, and not completed
  bool settled = false;  // its stamp was taken
  int32_t next = -1;     // in its bucket, or of the free ones; older ones first
  int32_t older = -1, newer = -1;
};

class Receives {
 public:
  static constexpr uint64_t kNewest = ~uint64_t{0};

  // False if the table is full.
  bool add(const Receive& receive) noexcept;
  // Whether the handle is a receive that is posted and not completed.
  bool is_active(Handle handle) noexcept;
  // A persistent request starts; one that sends leaves its stamp.
  void start(Handle handle) noexcept;
  // When the message of this completed receive counts as arrived; 0: at once. May be asked again.
  uint64_t due(Handle handle, const MPI_Status& status) noexcept;
  // It has completed, and its handle means nothing any more unless it is persistent.
  void completed(Handle handle) noexcept;
  // The program frees it; a message may still be on its way.
  void freed(Handle handle) noexcept;
  // Takes the stamps of receives that were posted before `post` and name that source and tag: MPI
  // gave them earlier messages.
  void settle_older(int32_t peer, uint32_t communicator, int tag, uint64_t post) noexcept;

 private:
  static constexpr int32_t kRoom = 8192, kBuckets = 4096;
  static uint32_t bucket_of(Handle handle) noexcept {
    return static_cast<uint32_t>(handle.value * 0x9E3779B97F4A7C15u >> 52);
  }
  int32_t find(Handle handle) noexcept;
  void join(int32_t at) noexcept;
  void leave(int32_t at) noexcept;
  void forget(int32_t at) noexcept;
  void settle(int32_t peer, uint32_t communicator, int tag, uint64_t post) noexcept;

  std::atomic<bool> lock_{false};
  std::atomic<int32_t> n_{0};
  uint64_t n_posts_ = 0;
  int32_t first_free_ = -1, n_used_ = 0, oldest_ = -1, newest_ = -1;
  int32_t buckets_[kBuckets] = {};  // place + 1, so that an empty table costs no memory
  Receive receives_[kRoom];
};
extern Receives receives;

}  // namespace perfield::injector
