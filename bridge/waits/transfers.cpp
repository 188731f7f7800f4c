// SPDX-License-Identifier: BSD-3-Clause
//
// transfers.cpp - see transfers.hpp. First each event is added to its call, or to its operation;
// then each of these is classified.
#include "waits/transfers.hpp"

#include <algorithm>

#include "format/calls.h"
#include "waits/collectives.hpp"
#include "waits/timeline.hpp"

namespace perfield::waits {
namespace {

struct Messages {
  uint32_t n = 0;
  uint64_t bytes = 0;
  void add(const Event& event) {
    ++n;
    bytes += event.bytes;
  }
};

// The message that its partner began last, and when the last of the others was begun: of all, and
// of those with other partners.
struct Latest {
  const Event* event = nullptr;
  int64_t at = kUnknown, other = kUnknown, of_others = kUnknown;

  void add(const Event& next, int64_t begun) {
    const bool is_later = !event || begun > at;
    const int64_t earlier = is_later ? at : begun;
    if (event) {
      other = std::max(other, earlier);
      if (next.peer != event->peer) of_others = is_later ? at : std::max(of_others, begun);
    }
    if (!is_later) return;
    event = &next;
    at = begun;
  }
};

// The messages of one call.
struct OfCall {
  Latest receive, send;
  Messages received, sent;
  bool is_known = true;

  void begun(const Event& event, int64_t at) {
    (event.kind == kReceive ? receive : send).add(event, at);
  }
  // The message that came last.
  const Latest& last() const {
    if (!receive.event || !send.event) return receive.event ? receive : send;
    if (receive.at != send.at) return receive.at > send.at ? receive : send;
    return receive.event < send.event ? receive : send;
  }
  // When the last of all others was begun before the last receive. A partner sends and posts its
  // receive at nearly the same time: an exchange is one transfer.
  int64_t before() const {
    const bool is_exchange = send.event && send.event->peer == receive.event->peer;
    return std::max(receive.other, is_exchange ? send.of_others : send.at);
  }
};

// A collective operation: who entered last, and last but the root.
struct Operation {
  const Event *last = nullptr, *last_other = nullptr, *root = nullptr;
  uint32_t n = 0;
  bool is_known = true;

  void add(const Event& event, const Event& first) {
    ++n;
    if (event.begun == kUnknown || event.call != first.call || event.size != first.size) {
      is_known = false;
      return;
    }
    const auto is_later = [&](const Event* than) { return !than || event.begun > than->begun; };
    if (is_later(last)) last = &event;
    if (!(event.flags & kRoot)) {
      if (is_later(last_other)) last_other = &event;
    } else {
      is_known = is_known && !root;
      root = &event;
    }
  }
};

bool is_test(uint16_t call) { return call >= PERFIELD_CALL_test && call <= PERFIELD_CALL_testsome; }

class TransferAnalyzer {
 public:
  TransferAnalyzer(const Event* events, size_t n_events)
      : events_(events), n_events_(n_events), timeline_(events, n_events, nullptr, 0) {}

  std::vector<Transfer> analyze() {
    add_to_calls();
    add_to_operations();
    for (size_t i = 0; i < n_events_; ++i) {
      if (timeline_.call_of()[i] < 0) continue;
      if (events_[i].kind == kCollective)
        classify_operation(i);
      else
        classify_call(i);
    }
    return std::move(found_);
  }

 private:
  size_t place_of(size_t event) const {
    return first_call_[size_t(events_[event].rank)] + size_t(timeline_.call_of()[event]);
  }

  void add_to_calls() {
    size_t n_calls = 0;
    for (int32_t rank = 0; rank < timeline_.n_ranks(); ++rank) {
      first_call_.push_back(n_calls);
      n_calls += timeline_.calls(rank).size();
    }
    calls_.resize(n_calls);
    const std::vector<int64_t>& send_of = timeline_.send_of();
    std::vector<int64_t> receive_of(n_events_, -1);
    for (size_t i = 0; i < n_events_; ++i)
      if (send_of[i] >= 0 && !is_of_probe(events_[i])) receive_of[size_t(send_of[i])] = int64_t(i);
    for (size_t i = 0; i < n_events_; ++i) {
      const Event& e = events_[i];
      if (timeline_.call_of()[i] < 0) continue;
      OfCall& call = calls_[place_of(i)];
      const int64_t partner = e.kind == kReceive ? send_of[i] : receive_of[i];
      if (e.kind >= kCollective || e.count != 1 || partner < 0 || (e.flags & kOverflow) ||
          is_test(e.call) || is_transfer_of_window(e.call) || events_[partner].begun == kUnknown) {
        call.is_known = false;
        continue;
      }
      const int64_t begun = events_[partner].begun;
      (e.kind == kReceive ? call.received : call.sent).add(e);
      if (e.kind == kReceive || begun <= e.wait_end) call.begun(e, begun);
    }
  }

  void classify_call(size_t index) {
    const Event& e = events_[index];
    const OfCall& call = calls_[place_of(index)];
    if (!call.is_known || &e != call.last().event) return;
    const int64_t last = call.last().at;
    const double time = double(difference(e.wait_end, std::clamp(last, e.wait_begin, e.wait_end)));
    // Whether a send waited for its receive cannot be seen, so only receives are whole for sure.
    const bool is_alone = e.kind == kReceive && last >= e.wait_begin && last <= e.wait_end &&
                          (call.before() == kUnknown || double(last - call.before()) >= time);
    add(e, e.peer, last, is_alone, larger_of(call), e.bytes);
  }

  static const Messages& larger_of(const OfCall& call) {
    return call.received.bytes >= call.sent.bytes && call.received.n ? call.received : call.sent;
  }

  void add_to_operations() {
    operations_.resize(n_events_);
    for (size_t i = 0; i < n_events_; ++i) {
      const int64_t first = timeline_.operation_of()[i];
      if (first >= 0) operations_[size_t(first)].add(events_[i], events_[first]);
    }
  }

  void classify_operation(size_t index) {
    const Event& e = events_[index];
    const int64_t first = timeline_.operation_of()[index];
    if (first < 0 || e.begun != e.wait_begin || e.begun == kUnknown) return;  // does not block
    const Operation& operation = operations_[size_t(first)];
    if (!operation.is_known || e.size < 2 || operation.n != e.size) return;
    const Event* latest = nullptr;
    switch (collective_of(e.call).pattern) {
      case Pattern::kAllToAll:
        latest = operation.last;
        break;
      case Pattern::kOneToAll:
        if (!(e.flags & kRoot)) latest = operation.root;
        break;
      case Pattern::kAllToOne:
        if (e.flags & kRoot) latest = operation.last_other;
        break;
      case Pattern::kNone:
        break;
    }
    if (!latest) return;
    add(e, latest->rank, latest->begun, latest->begun >= e.wait_begin, {e.size, e.bytes}, e.bytes);
  }

  void add(const Event& e, int32_t partner, int64_t since, bool is_alone, const Messages& messages,
           uint64_t last_bytes) {
    const double time = double(difference(e.wait_end, std::clamp(since, e.wait_begin, e.wait_end)));
    found_.push_back({e.step, e.rank, partner, e.call, e.kind, uint8_t(is_alone), messages.n,
                      messages.bytes, last_bytes, time});
  }

  const Event* events_;
  size_t n_events_;
  Timeline timeline_;
  std::vector<size_t> first_call_;  // of each rank
  std::vector<OfCall> calls_;
  std::vector<Operation> operations_;  // by their first event
  std::vector<Transfer> found_;
};

}  // namespace

std::vector<Transfer> find_transfers(const Event* events, size_t n_events) {
  return TransferAnalyzer(events, n_events).analyze();
}

}  // namespace perfield::waits
