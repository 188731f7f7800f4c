// SPDX-License-Identifier: BSD-3-Clause
//
// stamps.hpp - how the moment at which a message was sent gets to its receiver: through a ring of
// shared memory for each pair of ranks of one node, beside the message, which stays as it is. A
// sender leaves a stamp before it sends. A receiver takes the oldest stamp with the message's
// communicator and tag, because MPI delivers such messages in the order in which they were sent.
// Any thread. Nothing here waits for another process; what cannot be matched is counted.
#pragma once

#include <atomic>
#include <cstdint>

namespace perfield::injector {

struct Stamp {
  uint64_t sent_ns;  // of CLOCK_MONOTONIC, the same for all processes of a node
  uint64_t number;   // among the messages of this pair, from 0
  uint32_t communicator;
  int32_t tag;
  uint32_t bytes;  // of the message, modulo 2^32
};

class Stamps {
 public:
  // The run's name and this rank; before the first of the calls below. False without memory.
  bool prepare(const char* run, int rank, int n_ranks) noexcept;

  void leave(int32_t peer, uint32_t communicator, int32_t tag, uint64_t bytes) noexcept;

  enum class Found { yes, none, out_of_step };
  // Takes the stamp of a message that has arrived from `peer`. bytes: of that message, or
  // kAnyBytes. Once a stamp does not fit its message, or was lost because the sender was too far
  // ahead, the pair stays out of step.
  Found take(int32_t peer, uint32_t communicator, int32_t tag, uint64_t bytes,
             Stamp* stamp) noexcept;
  // Looks at it and leaves it there.
  Found look(int32_t peer, uint32_t communicator, int32_t tag, Stamp* stamp) noexcept;
  // A message from `peer` will be received unseen, so nothing can be matched any more.
  void give_up(int32_t peer) noexcept;

  // Removes the names of the rings, after MPI_Finalize.
  void remove() noexcept;

  static constexpr uint64_t kAnyBytes = ~uint64_t{0};

 private:
  struct Ring;
  struct Incoming;
  Ring* open_ring(int from, int to) noexcept;
  Ring* outgoing(int32_t peer) noexcept;
  Incoming* incoming(int32_t peer) noexcept;
  bool make_room(Incoming& from) noexcept;
  void drain(Incoming& from) noexcept;
  Stamp* find(Incoming& from, uint32_t communicator, int32_t tag) noexcept;

  int me_ = 0, n_ = 0;
  char run_[40] = "";
  std::atomic<bool> sending_{false}, receiving_{false};
  Ring** out_ = nullptr;
  Incoming** in_ = nullptr;
};

}  // namespace perfield::injector
