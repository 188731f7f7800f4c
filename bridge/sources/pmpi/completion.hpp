// SPDX-License-Identifier: BSD-3-Clause
//
// completion.hpp - common to calls that start or complete requests. It keeps handles across the
// call, which clears them, and asks for statuses that the program ignores. Handles and statuses are
// those of C, or types that convert to them. Any thread.
#pragma once

#include "items.hpp"
#include "requests.hpp"

namespace perfield::pmpi {

// Whether a request of this call may be a remembered one.
inline bool looks() noexcept { return following() && requests.any(); }

// Handles and statuses of a call that completes some of several requests. Which ones is known only
// after the call, so they leave the table then. (Another thread may receive the handle of a
// finished receive within these few nanoseconds, and use it for a send that it completes at once:
// then the two messages are counted for each other. Preventing that would mean searching the table
// for all requests at each poll.)
template <typename Request, typename Status>
class Completion {
 public:
  // ignored: the program ignores the statuses.
  Completion(Call& call, int n, const Request* handles, Status*& statuses, bool ignored) noexcept
      : Completion(call, looks() ? n : 0, ignored) {
    if (n_ <= 0 || !handles_.get() || !own_.get()) {
      for (int i = 0; i < n && is_all_idle_; ++i) is_all_idle_ = is_idle(handles[i]);
      return;
    }
    for (int i = 0; i < n_; ++i) handles_.get()[i] = handles[i];
    if (ignored) statuses = own_.get();
    statuses_ = statuses;
  }

  // The call has failed: forgets requests that it freed all the same.
  void failed(const Request* handles) noexcept {
    if (!statuses_) return;
    for (int i = 0; i < n_; ++i)
      if (handles_.get()[i] != handles[i]) let_go(requests.take(handles_.get()[i]));
  }

  // Request `i` of the call is complete; the k-th status belongs to it.
  void ended(int i, int k) noexcept {
    if (!statuses_ || i < 0 || i >= n_ || handles_.get()[i] == library.no_request) return;
    const Pending taken = requests.take(handles_.get()[i]);
    is_all_idle_ = is_all_idle_ && is_idle(handles_.get()[i]);
    if (taken.kind == Pending::none) return;
    const MPI_Status& status = statuses_[k];  // a copy, of one of Fortran
    if (!is_test_)
      count_ended(call_, taken, &status, 0);
    else
      count_tested(call_, taken, &status);
  }

  // The test has returned; has_any: requests of it are complete, and ended() was called for them.
  void tested(bool has_any) noexcept {
    if (!has_any || is_all_idle_) call_.leave_unanswered();
  }

 private:
  // looked_at: requests, 0 if none of them can be a remembered one. Asked once, since another
  // thread may begin a request meanwhile.
  Completion(Call& call, int looked_at, bool ignored) noexcept
      : call_(call),
        is_test_(call.kind >= PERFIELD_CALL_test),
        n_(looked_at),
        handles_(looked_at),
        own_(ignored ? looked_at : 0) {}

  Call& call_;
  const bool is_test_;       // else it waits
  bool is_all_idle_ = true;  // what is complete was complete before
  int n_;
  Items<MPI_Request> handles_;
  Items<Status> own_;
  Status* statuses_ = nullptr;
};

// One request that a call waits for. It leaves the table before the call, because when the call
// returns, another thread may already have the handle.
template <typename Status>
[[gnu::always_inline]] inline void end_wait(Call& call, const Pending& taken, bool succeeded,
                                            const Status* status) noexcept {
  if (!succeeded) return let_go(taken);
  const MPI_Status& in_c = *status;  // a copy, of one of Fortran
  count_ended(call, taken, &in_c, PERFIELD_RECV_BLOCKING);
}

// All requests that a call waits for, in the same way.
template <typename Request, typename Status>
class Awaited {
 public:
  Awaited(const Call& call, int n, const Request* handles, Status*& statuses,
          bool ignored) noexcept {
    if (!call.follows() || !requests.any() || n <= 0) return;
    if (__builtin_expect(n > kFew, 0)) {
      room_ = room_for(n);
      if (!room_) return;
      known_ = end_ = static_cast<Known*>(room_);
      own_ = reinterpret_cast<Status*>(known_ + n);
    }
    Known* end = known_;
    for (int i = 0; i < n; ++i) {
      const MPI_Request handle = handles[i];
      if (handle == library.no_request || !requests.take_to(handle, end->pending)) continue;
      end->i = i;
      ++end;
    }
    end_ = end;
    if (end != known_ && ignored) statuses = own_;
  }
  ~Awaited() {
    if (__builtin_expect(room_ != nullptr, 0)) free(room_);
  }
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

  void ended(Call& call, bool succeeded, const Status* statuses) noexcept {
    const Known *known = known_, *const end = end_;
    if (__builtin_expect(!succeeded, 0)) {
      for (; known != end; ++known) let_go(known->pending);
      return;
    }
    const bool is_fast = is_on_fast_path(call);
    for (; known != end; ++known) {
      const MPI_Status& status = statuses[known->i];  // a copy, of one of Fortran
      count_ended(call, known->pending, &status, 0, is_fast, call.entered);
    }
  }

 private:
  struct Known {
    int i;
    Pending pending;
  };
  static constexpr int kFew = 64;
  // nullptr without memory.
  [[gnu::noinline]] static void* room_for(int n) noexcept {
    return malloc(size_t(n) * (sizeof(Known) + sizeof(Status)));
  }

  alignas(Known) unsigned char few_known_[kFew * sizeof(Known)];
  alignas(Status) unsigned char few_own_[kFew * sizeof(Status)];
  void* room_ = nullptr;  // if there are more
  Known* known_ = reinterpret_cast<Known*>(few_known_);
  Known* end_ = known_;
  Status* own_ = reinterpret_cast<Status*>(few_own_);
};

// A persistent request has started: a message that is sent or posted now.
inline void started(Call& call, Handle handle) noexcept {
  const Pending kept = requests.start(handle, [&call](Pending& slot) {
    slot.begun = call.entered;
    Peers& peers = *slot.peers;
    if (slot.kind == Pending::kept_send) {
      if (call.entered) slot.flags |= Pending::counted;
      const perfield_message_id id = channels.next(peers, Side::sent, slot.peer, slot.id.channel);
      slot.id.number =
          call.entered ? perfield_msg_send(call.kind, slot.peer, slot.bytes, call.entered, id) : 0;
    } else if (slot.is(Pending::wildcard)) {
      slot.id.number = channels.post_wildcard(peers, slot.peer, static_cast<int>(slot.id.channel));
    } else {
      slot.id = channels.next_received(peers, slot.peer, slot.id.channel);
    }
  });
  if (call.entered && kept.kind == Pending::none && requests.was_full())
    perfield_message(call.kind, kPeerUnknown, 0);
}

}  // namespace perfield::pmpi
