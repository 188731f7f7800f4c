// SPDX-License-Identifier: BSD-3-Clause
//
// The messages of a step: one to each rank at an offset of --send-to, one from each rank that
// sends to this one. Each message begins with its sender's rank and step, and the receiver checks
// both.
#pragma once

#include <mpi.h>

#include <vector>

#include "options.hpp"

namespace rhythm {

class Exchange {
 public:
  // needed: numbers that the program wants to send. Throws Misuse if --bytes is too small for them.
  Exchange(const Options& options, size_t needed, int rank, int n_ranks);

  // Where the program puts its numbers for the rank at this offset; nullptr if none is there.
  double* to(int offset);
  // What the rank at this offset has sent; nullptr if it sends nothing to this rank.
  const double* from(int offset) const;

  // Exchanges once what nobody counts, since the first message of two ranks takes long.
  void rehearse();
  // Starts and completes all messages of this step.
  void all(int step);
  // The same in two parts.
  void receive(int step);
  void send(int step);

  long received() const { return received_; }
  long wrong() const { return wrong_; }

 private:
  struct Message {
    int offset;  // of the other rank
    int peer;
    std::vector<double> numbers;
  };
  std::vector<Message> partners(const Options& options, int sign) const;
  void start_receiving();
  void start_sending(int step);
  void complete();
  void check(int step);

  const int rank_, n_ranks_;
  const bool wait_for_each_;
  int bytes_;
  std::vector<Message> out_, in_;
  std::vector<MPI_Request> requests_;
  long received_ = 0, wrong_ = 0;
};

}  // namespace rhythm
