// SPDX-License-Identifier: BSD-3-Clause
//
// wrappers_requests.cpp - written by hand, because starting and completing requests is the one
// place where a call ends what others began: handles are kept over the call, which clears them,
// and statuses are asked for where the program ignores them. Any thread.
#include <cstdlib>
#include <cstring>

#include "requests.hpp"

using namespace perfield::pmpi;

namespace {

// n items for the time of one call: on the stack, or, where they are many, from malloc (none if
// there is no memory). Not initialised.
template <typename T>
class Items {
 public:
  explicit Items(int n) noexcept
      : items_(reinterpret_cast<T*>(n <= kFew ? few_ : malloc(n * sizeof(T)))) {}
  ~Items() {
    if (!on_stack()) free(items_);
  }
  Items(const Items&) = delete;
  Items& operator=(const Items&) = delete;
  T* get() noexcept { return items_; }

 private:
  static constexpr int kFew = 64;
  bool on_stack() const noexcept { return static_cast<const void*>(items_) == few_; }
  alignas(T) unsigned char few_[kFew * sizeof(T)];
  T* items_;
};

void let_go(const Pending& pending) noexcept {
  if (pending.any && !pending.kept()) pending.any->let_go();
}

void count_or_let_go(Call& call, const Pending& pending, const MPI_Status& status) noexcept {
  if (!pending.receives()) return;
  if (call.entered)
    count_arrived(pending, status, 0);
  else
    source_of(pending, status);
}

// Handles and statuses of a call that completes some of several requests. Which ones is known
// when it has returned; only then are they taken out of the table. (Another thread that is given
// the handle of a receive in that very moment, for a send that it completes at once, would
// have the two messages counted for each other: a few nanoseconds, against searching the table
// for all requests at each poll.)
class Completion {
 public:
  Completion(Call& call, int n, const MPI_Request* handles, MPI_Status*& statuses) noexcept
      : call_(call), n_(n), handles_(library.awake ? n : 0), own_(library.awake ? n : 0) {
    if (!library.awake || !handles_.get() || !own_.get()) return;
    if (n > 0) memcpy(handles_.get(), handles, n * sizeof(MPI_Request));
    if (statuses == MPI_STATUSES_IGNORE) statuses = own_.get();
    statuses_ = statuses;
  }

  // The call has failed: requests that it has freed all the same are forgotten.
  void failed(const MPI_Request* handles) noexcept {
    if (!statuses_) return;
    for (int i = 0; i < n_; ++i)
      if (handles_.get()[i] != handles[i]) let_go(requests.take(handles_.get()[i]));
  }

  // Request `i` of the call is complete, and the k-th status tells of it.
  void ended(int i, int k) noexcept {
    if (statuses_ && handles_.get()[i] != library.no_request)
      count_or_let_go(call_, requests.take(handles_.get()[i]), statuses_[k]);
  }

 private:
  Call& call_;
  int n_;
  Items<MPI_Request> handles_;
  Items<MPI_Status> own_;
  MPI_Status* statuses_ = nullptr;
};

void started(Call& call, void* handle) noexcept {
  const Pending kept = requests.start(handle);
  if (!call.entered) return;
  if (kept.kind == Pending::kept_send) perfield_message(call.kind, kept.peer, kept.bytes);
  if (kept.kind == Pending::none && requests.was_full())
    perfield_message(call.kind, kPeerUnknown, 0);
}

}  // namespace

// --- starting ------------------------------------------------------------------------------------
PERFIELD_WRAPPER MPI_Start(MPI_Request* request) {
  Call call(PERFIELD_CALL_start);
  const int result = next().Start(request);
  if (call.follows(result)) started(call, *request);
  return result;
}

PERFIELD_WRAPPER MPI_Startall(int count, MPI_Request array_of_requests[]) {
  Call call(PERFIELD_CALL_start);
  const int result = next().Startall(count, array_of_requests);
  if (call.follows(result))
    for (int i = 0; i < count; ++i) started(call, array_of_requests[i]);
  return result;
}

PERFIELD_WRAPPER MPI_Request_free(MPI_Request* request) {
  Call call(PERFIELD_CALL_request_free);
  if (library.awake) requests.forget(*request);
  return next().Request_free(request);
}

// --- completing all ------------------------------------------------------------------------------
PERFIELD_WRAPPER MPI_Wait(MPI_Request* request, MPI_Status* status) {
  Call call(PERFIELD_CALL_wait);
  MPI_Status own;
  status = own_if_ignored(status, &own);
  // Taken out before the call: when it returns, another thread may have the handle already.
  const Pending pending = library.awake ? requests.take(*request) : Pending{};
  const int result = next().Wait(request, status);
  if (result != MPI_SUCCESS) let_go(pending);
  if (!pending.receives() || result != MPI_SUCCESS) return result;
  if (call.entered)
    count_arrived(pending, *status, call.entered);
  else
    source_of(pending, *status);
  return result;
}

PERFIELD_WRAPPER MPI_Waitall(int count, MPI_Request array_of_requests[],
                             MPI_Status array_of_statuses[]) {
  Call call(PERFIELD_CALL_waitall);
  // Taken out before the call, as in MPI_Wait. All but receives are left out.
  struct Receive {
    int i;
    Pending pending;
  };
  const bool awake = library.awake && count > 0;
  Items<Receive> receives(awake ? count : 0);
  Items<MPI_Status> own(awake ? count : 0);
  int n = 0;
  if (awake && receives.get() && own.get()) {
    for (int i = 0; i < count; ++i) {
      if (array_of_requests[i] == library.no_request) continue;
      const Pending pending = requests.take(array_of_requests[i]);
      if (pending.receives()) receives.get()[n++] = {i, pending};
    }
    if (n > 0 && array_of_statuses == MPI_STATUSES_IGNORE) array_of_statuses = own.get();
  }
  const int result = next().Waitall(count, array_of_requests, array_of_statuses);
  for (int k = 0; k < n; ++k) {
    const Receive& receive = receives.get()[k];
    if (result == MPI_SUCCESS)
      count_or_let_go(call, receive.pending, array_of_statuses[receive.i]);
    else
      let_go(receive.pending);
  }
  return result;
}

PERFIELD_WRAPPER MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  Call call(PERFIELD_CALL_test);
  Completion completion(call, 1, request, status);
  const int result = next().Test(request, flag, status);
  if (result != MPI_SUCCESS) completion.failed(request);
  if (result == MPI_SUCCESS && *flag) completion.ended(0, 0);
  return result;
}

PERFIELD_WRAPPER MPI_Testall(int count, MPI_Request array_of_requests[], int* flag,
                             MPI_Status array_of_statuses[]) {
  Call call(PERFIELD_CALL_testall);
  Completion completion(call, count, array_of_requests, array_of_statuses);
  const int result = next().Testall(count, array_of_requests, flag, array_of_statuses);
  if (result != MPI_SUCCESS) completion.failed(array_of_requests);
  if (result == MPI_SUCCESS && *flag)
    for (int i = 0; i < count; ++i) completion.ended(i, i);
  return result;
}

// --- completing some -----------------------------------------------------------------------------
PERFIELD_WRAPPER MPI_Waitany(int count, MPI_Request array_of_requests[], int* index,
                             MPI_Status* status) {
  Call call(PERFIELD_CALL_waitany);
  Completion completion(call, count, array_of_requests, status);
  const int result = next().Waitany(count, array_of_requests, index, status);
  if (result != MPI_SUCCESS) completion.failed(array_of_requests);
  if (result == MPI_SUCCESS && *index != MPI_UNDEFINED) completion.ended(*index, 0);
  return result;
}

PERFIELD_WRAPPER MPI_Testany(int count, MPI_Request array_of_requests[], int* index, int* flag,
                             MPI_Status* status) {
  Call call(PERFIELD_CALL_testany);
  Completion completion(call, count, array_of_requests, status);
  const int result = next().Testany(count, array_of_requests, index, flag, status);
  if (result != MPI_SUCCESS) completion.failed(array_of_requests);
  if (result == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED) completion.ended(*index, 0);
  return result;
}

PERFIELD_WRAPPER MPI_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount,
                              int array_of_indices[], MPI_Status array_of_statuses[]) {
  Call call(PERFIELD_CALL_waitsome);
  Completion completion(call, incount, array_of_requests, array_of_statuses);
  const int result =
      next().Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  if (result != MPI_SUCCESS) completion.failed(array_of_requests);
  if (result == MPI_SUCCESS && *outcount != MPI_UNDEFINED)
    for (int k = 0; k < *outcount; ++k) completion.ended(array_of_indices[k], k);
  return result;
}

PERFIELD_WRAPPER MPI_Testsome(int incount, MPI_Request array_of_requests[], int* outcount,
                              int array_of_indices[], MPI_Status array_of_statuses[]) {
  Call call(PERFIELD_CALL_testsome);
  Completion completion(call, incount, array_of_requests, array_of_statuses);
  const int result =
      next().Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  if (result != MPI_SUCCESS) completion.failed(array_of_requests);
  if (result == MPI_SUCCESS && *outcount != MPI_UNDEFINED)
    for (int k = 0; k < *outcount; ++k) completion.ended(array_of_indices[k], k);
  return result;
}
