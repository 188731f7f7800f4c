// SPDX-License-Identifier: BSD-3-Clause
//
// completion.hpp - common to calls that start or complete requests. It keeps handles across the
// call, which clears them, and asks for statuses that the program ignores. Handles and statuses are
// those of C, or types that convert to them. Any thread.
#pragma once

#include "items.hpp"
#include "requests.hpp"

namespace perfield::pmpi {

inline void let_go(const Pending& pending) noexcept {
  if (pending.any && !pending.kept()) pending.any->let_go();
}

inline void count_or_let_go(Call& call, const Pending& pending, const MPI_Status& status) noexcept {
  if (!pending.receives()) return;
  if (call.entered)
    count_arrived(pending, status);
  else
    source_of(pending, status);
}

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
    if (n_ <= 0 || !handles_.get() || !own_.get()) return;
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
    if (statuses_ && i >= 0 && i < n_ && handles_.get()[i] != library.no_request)
      count_or_let_go(call_, requests.take(handles_.get()[i]), statuses_[k]);
  }

 private:
  // looked_at: requests, 0 if none of them can be a remembered one. Asked once, since another
  // thread may begin a request meanwhile.
  Completion(Call& call, int looked_at, bool ignored) noexcept
      : call_(call), n_(looked_at), handles_(looked_at), own_(ignored ? looked_at : 0) {}

  Call& call_;
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
  if (!taken.receives()) return;
  if (call.entered)
    count_awaited(call, taken, *status);
  else
    source_of(taken, *status);
}

// All requests that a call waits for, in the same way. Keeps receives only.
template <typename Request, typename Status>
class Awaited {
 public:
  Awaited(int n, const Request* handles, Status*& statuses, bool ignored) noexcept
      : Awaited(looks() && n > 0 ? n : 0, ignored) {
    Receive* const receives = receives_.get();
    Status* const own = own_.get();
    if (!receives || !own) return;
    int kept = 0;
    for (int i = 0; i < looked_at_; ++i) {
      const MPI_Request handle = handles[i];
      if (handle == library.no_request) continue;
      if (requests.take_receive(handle, receives[kept].pending)) receives[kept++].i = i;
    }
    n_ = kept;
    if (kept > 0 && ignored) statuses = own;
  }

  void ended(Call& call, bool succeeded, const Status* statuses) noexcept {
    const Receive* const receives = receives_.get();
    for (int k = 0, n = n_; k < n; ++k) {
      const Receive& receive = receives[k];
      if (succeeded && call.entered)
        count_arrived(receive.pending, statuses[receive.i]);
      else if (succeeded)
        count_or_let_go(call, receive.pending, statuses[receive.i]);
      else
        let_go(receive.pending);
    }
  }

 private:
  // The same as for Completion.
  Awaited(int looked_at, bool ignored) noexcept
      : looked_at_(looked_at), receives_(looked_at), own_(ignored ? looked_at : 0) {}
  struct Receive {
    int i;
    Pending pending;
  };
  int looked_at_;
  Items<Receive> receives_;
  Items<Status> own_;
  int n_ = 0;
};

inline void started(Call& call, Handle handle) noexcept {
  const Pending kept = requests.start(handle);
  if (!call.entered) return;
  if (kept.kind == Pending::kept_send) perfield_message(call.kind, kept.peer, kept.bytes);
  if (kept.kind == Pending::none && requests.was_full())
    perfield_message(call.kind, kPeerUnknown, 0);
}

}  // namespace perfield::pmpi
