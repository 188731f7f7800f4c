// SPDX-License-Identifier: BSD-3-Clause
//
// channel_table.cpp - `channel_table CASE N SEED`: N messages from rank 0 to rank 1, numbered by
// the tables of both. Prints how many both ends know by the same number, and how many wrong pairs
// that would make. No MPI runs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <unordered_map>
#include <vector>

#include "channels.hpp"

// What the table uses of the rest.
namespace perfield::pmpi {
Library library;
}
extern "C" void perfield_source_counts_dropped(const char*, const char*,
                                               const std::atomic<uint64_t>*) noexcept {}

using namespace perfield::pmpi;

namespace {

constexpr int kCommunicators = 3;
Channels at_sender, at_receiver;
Peers of_sender[kCommunicators], of_receiver[kCommunicators];
uint32_t next_name = 0x1234567;
std::mt19937_64 chance;

int below(int n) { return int(chance() % uint64_t(n)); }

struct Sent {
  int communicator, tag;
  bool is_for_wildcard;
};

// The number of every message at both ends.
using Id = std::pair<uint32_t, uint32_t>;
struct Numbers {
  std::vector<Id> sent, received;
};

Id id(perfield_message_id of) { return {of.channel, of.number}; }

void name(int communicator) {
  of_sender[communicator].name = of_receiver[communicator].name = next_name;
  next_name = next_name * 0x9E3779B1u + 5;
}

void free_and_make_again(int communicator) {
  at_sender.forget(of_sender[communicator].name);
  at_receiver.forget(of_receiver[communicator].name);
  name(communicator);
}

// All are sent; then their receives are posted in the order `posts`, of which those of one channel
// are in the order of the messages.
void exchange(const std::vector<Sent>& sent, const std::vector<size_t>& posts, int cancels,
              Numbers* numbers) {
  const size_t first = numbers->sent.size();
  std::map<Id, std::vector<size_t>> waiting;  // messages of each channel
  for (size_t i = 0; i < sent.size(); ++i) {
    Peers& peers = of_sender[sent[i].communicator];
    const uint32_t channel = channel_of(peers.name, sent[i].tag);
    numbers->sent.push_back(id(at_sender.next(peers, Side::sent, 1, channel)));
    waiting[{uint32_t(sent[i].communicator), uint32_t(sent[i].tag)}].push_back(first + i);
  }
  numbers->received.resize(numbers->sent.size());
  std::map<Id, size_t> n_posted;
  for (const size_t post : posts) {
    const Sent& one = sent[post];
    Peers& peers = of_receiver[one.communicator];
    const uint32_t channel = channel_of(peers.name, one.tag);
    if (cancels && below(cancels) == 0) {  // one that the program cancels again
      const perfield_message_id posted = at_receiver.next_received(peers, 0, channel);
      at_receiver.cancelling(posted, 0);
      at_receiver.cancelled(posted, 0, false);
    }
    const Id key{uint32_t(one.communicator), uint32_t(one.tag)};
    const size_t message = waiting[key][n_posted[key]++];
    if (one.is_for_wildcard) {
      const uint32_t order = at_receiver.post_wildcard(peers, Channels::kAnyPeer, MPI_ANY_TAG);
      numbers->received[message] = id(at_receiver.end_wildcard(peers, order, 0, channel));
    } else {
      numbers->received[message] = id(at_receiver.next_received(peers, 0, channel));
    }
  }
}

// Receives are posted in the order of sends but for swaps of messages up to `apart` apart.
std::vector<size_t> order_of(size_t n, int apart) {
  std::vector<size_t> order(n);
  for (size_t i = 0; i < n; ++i) order[i] = i;
  for (size_t i = 0; apart && i + size_t(apart) < n; i += size_t(1 + below(2 * apart)))
    std::swap(order[i], order[i + size_t(below(apart + 1))]);
  return order;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 1;
  const char* kind = argv[1];
  const int n = atoi(argv[2]);
  chance.seed(uint64_t(atoll(argv[3])));
  for (int i = 0; i < kCommunicators; ++i) name(i);
  Numbers numbers;
  std::vector<Sent> sent;
  int fresh = 0;
  while (int(numbers.sent.size()) < n) {
    sent.clear();
    const int n_sent = 20;
    for (int i = 0; i < n_sent; ++i) {
      if (!strcmp(kind, "tags")) sent.push_back({0, fresh++ % 30000, false});
      if (!strcmp(kind, "few")) sent.push_back({0, (i * 7) % 26, false});
      if (!strcmp(kind, "communicators")) sent.push_back({i % kCommunicators, 5, false});
      if (!strcmp(kind, "mixed"))
        sent.push_back(
            {below(kCommunicators), below(3) ? fresh++ % 900 : below(4), below(10) == 0});
    }
    const bool mixes = !strcmp(kind, "mixed");
    std::vector<size_t> posts = order_of(sent.size(), mixes ? below(4) : 0);
    if (!strcmp(kind, "few")) std::reverse(posts.begin(), posts.end());
    exchange(sent, posts, mixes ? 50 : 0, &numbers);
    if (!strcmp(kind, "communicators")) free_and_make_again(below(kCommunicators));
    if (mixes && below(100) == 0) free_and_make_again(below(kCommunicators));
  }
  std::map<Id, size_t> received;
  size_t matched = 0, wrong = 0, of_history = 0;
  for (size_t i = 0; i < numbers.received.size(); ++i)
    if (numbers.received[i].second && !received.emplace(numbers.received[i], i).second) ++wrong;
  for (size_t i = 0; i < numbers.sent.size(); ++i) {
    of_history += (numbers.sent[i].second & kNumberOfHistory) != 0;
    const auto found = received.find(numbers.sent[i]);
    if (!numbers.sent[i].second || found == received.end()) continue;
    ++(found->second == i ? matched : wrong);
  }
  printf("%zu %zu %zu %zu\n", numbers.sent.size(), matched, wrong, of_history);
  return 0;
}
