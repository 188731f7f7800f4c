// SPDX-License-Identifier: BSD-3-Clause
#include "exchange.hpp"

#include <algorithm>

namespace rhythm {

namespace {
constexpr size_t kHeader = 2;  // the sender's rank and step
constexpr long kLargest = 1 << 30;
}  // namespace

Exchange::Exchange(const Options& options, size_t needed, int rank, int n_ranks)
    : rank_(rank), n_ranks_(n_ranks), wait_for_each_(options.wait_for_each) {
  const long smallest = long((kHeader + needed) * sizeof(double));
  const long bytes = options.bytes ? options.bytes : smallest;
  if (bytes < smallest)
    throw Misuse("--bytes " + std::to_string(bytes) + " is too small: a message holds " +
                 std::to_string(needed) + " numbers and needs " + std::to_string(smallest) +
                 " bytes; use a smaller --size or larger messages");
  if (bytes > kLargest) throw Misuse("--bytes must be at most " + std::to_string(kLargest));
  bytes_ = int(bytes);
  out_ = partners(options, 1);
  in_ = partners(options, -1);
}

// sign: 1 for those that this rank sends to, -1 for those that send to this rank.
std::vector<Exchange::Message> Exchange::partners(const Options& options, int sign) const {
  std::vector<Message> found;
  if (options.topology == Topology::none) return found;
  for (int sent_to : options.send_to) {
    const int offset = sign * sent_to;
    int peer = rank_ + offset;
    if (options.topology == Topology::ring) peer = ((peer % n_ranks_) + n_ranks_) % n_ranks_;
    const bool known = std::any_of(found.begin(), found.end(),
                                   [&](const Message& other) { return other.peer == peer; });
    if (peer < 0 || peer >= n_ranks_ || peer == rank_ || known) continue;
    found.push_back({offset, peer, std::vector<double>(size_t(bytes_) / sizeof(double) + 1)});
  }
  return found;
}

double* Exchange::to(int offset) {
  for (Message& message : out_)
    if (message.offset == offset) return message.numbers.data() + kHeader;
  return nullptr;
}

const double* Exchange::from(int offset) const {
  for (const Message& message : in_)
    if (message.offset == offset) return message.numbers.data() + kHeader;
  return nullptr;
}

void Exchange::rehearse() {
  start_receiving();
  start_sending(0);
  complete();
}

void Exchange::all(int step) {
  start_receiving();
  start_sending(step);
  complete();
  check(step);
}

void Exchange::receive(int step) {
  start_receiving();
  complete();
  check(step);
}

void Exchange::send(int step) {
  start_sending(step);
  complete();
}

void Exchange::start_receiving() {
  for (Message& message : in_) {
    requests_.emplace_back();
    MPI_Irecv(message.numbers.data(), bytes_, MPI_BYTE, message.peer, 0, MPI_COMM_WORLD,
              &requests_.back());
  }
}

void Exchange::start_sending(int step) {
  for (Message& message : out_) {
    message.numbers[0] = rank_;
    message.numbers[1] = step;
    requests_.emplace_back();
    MPI_Isend(message.numbers.data(), bytes_, MPI_BYTE, message.peer, 0, MPI_COMM_WORLD,
              &requests_.back());
  }
}

void Exchange::complete() {
  if (wait_for_each_)
    for (MPI_Request& request : requests_) MPI_Wait(&request, MPI_STATUS_IGNORE);
  else
    MPI_Waitall(int(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  requests_.clear();
}

void Exchange::check(int step) {
  for (const Message& message : in_) {
    ++received_;
    wrong_ += message.numbers[0] != message.peer || message.numbers[1] != step;
  }
}

}  // namespace rhythm
