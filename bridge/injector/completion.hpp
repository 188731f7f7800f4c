// SPDX-License-Identifier: BSD-3-Clause
//
// completion.hpp - calls that complete requests, in C and Fortran: `wait` calls MPI first and then
// holds the program until the messages have arrived; `test` asks MPI without completing anything,
// and hides receives whose message is still on its way behind null requests. A Request is a handle
// of C, or a type that converts to one.
#pragma once

#include "errors_returned.hpp"
#include "injection.hpp"
#include "items.hpp"
#include "receives.hpp"

namespace perfield::injector {

// Whether it is a receive whose message has not arrived yet.
inline bool is_away(MPI_Request request) noexcept {
  if (request == library.no_request || !receives.is_active(request)) return false;
  MPI_Status status;
  const int done = pmpi::is_done(request, status);
  if (done < 0) return false;
  if (!done) return true;
  return !has_come(receives.due(request, status));
}

// Receives among the requests of a call, kept because the call clears their handles.
template <typename Request>
class Given {
 public:
  Given(int n, const Request* requests) noexcept : handles_(following() && n > 0 ? n : 0) {
    if (!following() || n <= 0 || !handles_.get()) return;
    for (int i = 0; i < n; ++i) {
      const MPI_Request handle = requests[i];
      const bool is_receive = handle != library.no_request && receives.is_active(handle);
      handles_.get()[i] = is_receive ? handle : library.no_request;
      n_receives_ += is_receive;
    }
    n_ = n;
  }
  bool any() const noexcept { return n_receives_ > 0; }
  bool is_receive(int i) noexcept { return handles_.get()[i] != library.no_request; }

  bool any_away() noexcept {
    for (int i = 0; i < n_; ++i)
      if (is_receive(i) && is_away(handles_.get()[i])) return true;
    return false;
  }
  void completed(int i) noexcept {
    if (i >= 0 && i < n_ && is_receive(i)) receives.completed(handles_.get()[i]);
  }
  void all_completed() noexcept {
    for (int i = 0; i < n_; ++i) completed(i);
  }
  // After a call that failed: those that it completed all the same.
  void some_completed(const Request* requests) noexcept {
    for (int i = 0; i < n_; ++i)
      if (is_receive(i) && static_cast<MPI_Request>(requests[i]) != handles_.get()[i]) completed(i);
  }
  // All have completed with these statuses: when the last message has arrived.
  template <typename Status>
  uint64_t due(const Status* statuses) noexcept {
    uint64_t latest_ns = 0;
    for (int i = 0; i < n_; ++i) {
      if (!is_receive(i)) continue;
      const uint64_t due_ns = receives.due(handles_.get()[i], statuses[i]);
      if (due_ns > latest_ns) latest_ns = due_ns;
    }
    return latest_ns;
  }

 private:
  int n_ = 0, n_receives_ = 0;
  Items<MPI_Request> handles_;
};

// Puts null requests in the place of receives that have not arrived, for the duration of one call.
template <typename Request>
class Hidden {
 public:
  Hidden(int n, Request* requests, Request null) noexcept : requests_(requests), hidden_(n) {
    if (!hidden_.get()) return;
    for (int i = 0; i < n; ++i) {
      if (!is_away(requests[i])) continue;
      hidden_.get()[n_hidden_++] = {i, requests[i]};
      requests[i] = null;
    }
  }
  ~Hidden() {
    for (int k = 0; k < n_hidden_; ++k) requests_[hidden_.get()[k].i] = hidden_.get()[k].request;
  }
  Hidden(const Hidden&) = delete;
  Hidden& operator=(const Hidden&) = delete;
  bool any() const noexcept { return n_hidden_ > 0; }

 private:
  struct Place {
    int i;
    Request request;
  };
  Request* requests_;
  int n_hidden_ = 0;
  Items<Place> hidden_;
};

}  // namespace perfield::injector
