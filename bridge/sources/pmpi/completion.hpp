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
    count_arrived(pending, status, 0);
  else
    source_of(pending, status);
}

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
      : call_(call), n_(n), handles_(following() ? n : 0), own_(following() ? n : 0) {
    if (!following() || !handles_.get() || !own_.get()) return;
    for (int i = 0; i < n; ++i) handles_.get()[i] = handles[i];
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
  Call& call_;
  int n_;
  Items<MPI_Request> handles_;
  Items<Status> own_;
  Status* statuses_ = nullptr;
};

// One request that a call waits for. It leaves the table before the call, because when the call
// returns, another thread may already have the handle.
template <typename Status>
void end_wait(Call& call, const Pending& taken, bool succeeded, const Status* status) noexcept {
  if (!succeeded) return let_go(taken);
  if (!taken.receives()) return;
  if (call.entered)
    count_arrived(taken, *status, call.entered);
  else
    source_of(taken, *status);
}

// All requests that a call waits for, in the same way. Keeps receives only.
template <typename Request, typename Status>
class Awaited {
 public:
  Awaited(int n, const Request* handles, Status*& statuses, bool ignored) noexcept
      : receives_(following() && n > 0 ? n : 0), own_(following() && n > 0 ? n : 0) {
    if (!following() || !receives_.get() || !own_.get()) return;
    for (int i = 0; i < n; ++i) {
      const MPI_Request handle = handles[i];
      if (handle == library.no_request) continue;
      const Pending pending = requests.take(handle);
      if (pending.receives()) receives_.get()[n_++] = {i, pending};
    }
    if (n_ > 0 && ignored) statuses = own_.get();
  }

  void ended(Call& call, bool succeeded, const Status* statuses) noexcept {
    for (int k = 0; k < n_; ++k) {
      const Receive& receive = receives_.get()[k];
      if (succeeded)
        count_or_let_go(call, receive.pending, statuses[receive.i]);
      else
        let_go(receive.pending);
    }
  }

 private:
  struct Receive {
    int i;
    Pending pending;
  };
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
