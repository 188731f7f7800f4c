// SPDX-License-Identifier: BSD-3-Clause
//
// wrappers_requests.cpp - handwritten, because only these calls complete what other calls began.
// They keep handles across the call, which clears them, and ask for statuses that the program
// ignores. Any thread.
#include "completion.hpp"

using namespace perfield::pmpi;

namespace {

using CompletionInC = Completion<MPI_Request, MPI_Status>;
bool ignored(const MPI_Status* statuses) { return statuses == MPI_STATUSES_IGNORE; }

// Where requests are remembered, a test may complete one. Apart from the wrapper, so that this
// stays short where none are. caller, frame: of the wrapper.
[[gnu::noinline]] int test_known(const void* caller, const void* frame, MPI_Request* request,
                                 int* flag, MPI_Status* status) {
  Call call(PERFIELD_CALL_test, caller, frame);
  const Handle handle = *request;
  if (!following() || !requests.knows(handle)) {
    const int result = next(call).Test(request, flag, status);
    if (result == MPI_SUCCESS && (!*flag || is_idle(handle))) call.leave_unanswered();
    return result;
  }
  MPI_Status own;
  status = own_if_ignored(status, &own);
  const int result = next(call).Test(request, flag, status);
  if (result != MPI_SUCCESS) {
    if (Handle(*request) != handle) let_go(requests.take(handle));
  } else if (*flag) {
    count_tested(call, requests.take(handle), status);
  } else {
    call.leave_unanswered();
  }
  return result;
}

}  // namespace

// --- starting ------------------------------------------------------------------------------------
PERFIELD_WRAPPER(MPI_Start, (MPI_Request * request)) {
  Call call(PERFIELD_CALL_start);
  const int result = next(call).Start(request);
  if (call.follows(result)) started(call, *request);
  return result;
}

PERFIELD_WRAPPER(MPI_Startall, (int count, MPI_Request array_of_requests[])) {
  Call call(PERFIELD_CALL_start);
  const int result = next(call).Startall(count, array_of_requests);
  if (call.follows(result))
    for (int i = 0; i < count; ++i) started(call, array_of_requests[i]);
  return result;
}

PERFIELD_WRAPPER(MPI_Request_free, (MPI_Request * request)) {
  Call call(PERFIELD_CALL_request_free);
  if (following()) count_freed(call, *request);
  return next(call).Request_free(request);
}

// --- completing all ------------------------------------------------------------------------------
PERFIELD_WRAPPER(MPI_Wait, (MPI_Request * request, MPI_Status* status)) {
  Call call(PERFIELD_CALL_wait);
  const Pending taken = call.follows() ? requests.take(*request) : Pending{};
  if (taken.kind == Pending::none) return next(call).Wait(request, status);
  MPI_Status own;
  status = own_if_ignored(status, &own);
  const int result = next(call).Wait(request, status);
  end_wait(call, taken, result == MPI_SUCCESS, status);
  return result;
}

PERFIELD_WRAPPER(MPI_Waitall,
                 (int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[])) {
  Call call(PERFIELD_CALL_waitall);
  Awaited<MPI_Request, MPI_Status> awaited(call, count, array_of_requests, array_of_statuses,
                                           ignored(array_of_statuses));
  const int result = next(call).Waitall(count, array_of_requests, array_of_statuses);
  awaited.ended(call, result == MPI_SUCCESS, array_of_statuses);
  return result;
}

PERFIELD_WRAPPER(MPI_Test, (MPI_Request * request, int* flag, MPI_Status* status)) {
  if (requests.any())
    return test_known(__builtin_return_address(0), __builtin_frame_address(0), request, flag,
                      status);
  Call call(PERFIELD_CALL_test);
  return next(call).Test(request, flag, status);
}

PERFIELD_WRAPPER(MPI_Testall, (int count, MPI_Request array_of_requests[], int* flag,
                               MPI_Status array_of_statuses[])) {
  Call call(PERFIELD_CALL_testall);
  CompletionInC completion(call, count, array_of_requests, array_of_statuses,
                           ignored(array_of_statuses));
  const int result = next(call).Testall(count, array_of_requests, flag, array_of_statuses);
  if (result != MPI_SUCCESS) return completion.failed(array_of_requests), result;
  for (int i = 0; *flag && i < count; ++i) completion.ended(i, i);
  completion.tested(*flag);
  return result;
}

// --- completing some -----------------------------------------------------------------------------
PERFIELD_WRAPPER(MPI_Waitany,
                 (int count, MPI_Request array_of_requests[], int* index, MPI_Status* status)) {
  Call call(PERFIELD_CALL_waitany);
  CompletionInC completion(call, count, array_of_requests, status, ignored(status));
  const int result = next(call).Waitany(count, array_of_requests, index, status);
  if (result != MPI_SUCCESS) completion.failed(array_of_requests);
  if (result == MPI_SUCCESS && *index != MPI_UNDEFINED) completion.ended(*index, 0);
  return result;
}

PERFIELD_WRAPPER(MPI_Testany, (int count, MPI_Request array_of_requests[], int* index, int* flag,
                               MPI_Status* status)) {
  Call call(PERFIELD_CALL_testany);
  CompletionInC completion(call, count, array_of_requests, status, ignored(status));
  const int result = next(call).Testany(count, array_of_requests, index, flag, status);
  if (result != MPI_SUCCESS) return completion.failed(array_of_requests), result;
  const bool has_any = *flag && *index != MPI_UNDEFINED;
  if (has_any) completion.ended(*index, 0);
  completion.tested(has_any);
  return result;
}

PERFIELD_WRAPPER(MPI_Waitsome, (int incount, MPI_Request array_of_requests[], int* outcount,
                                int array_of_indices[], MPI_Status array_of_statuses[])) {
  Call call(PERFIELD_CALL_waitsome);
  CompletionInC completion(call, incount, array_of_requests, array_of_statuses,
                           ignored(array_of_statuses));
  const int result = next(call).Waitsome(incount, array_of_requests, outcount, array_of_indices,
                                         array_of_statuses);
  if (result != MPI_SUCCESS) completion.failed(array_of_requests);
  if (result == MPI_SUCCESS && *outcount != MPI_UNDEFINED)
    for (int k = 0; k < *outcount; ++k) completion.ended(array_of_indices[k], k);
  return result;
}

PERFIELD_WRAPPER(MPI_Testsome, (int incount, MPI_Request array_of_requests[], int* outcount,
                                int array_of_indices[], MPI_Status array_of_statuses[])) {
  Call call(PERFIELD_CALL_testsome);
  CompletionInC completion(call, incount, array_of_requests, array_of_statuses,
                           ignored(array_of_statuses));
  const int result = next(call).Testsome(incount, array_of_requests, outcount, array_of_indices,
                                         array_of_statuses);
  if (result != MPI_SUCCESS) return completion.failed(array_of_requests), result;
  const int n_done = *outcount == MPI_UNDEFINED ? 0 : *outcount;
  for (int k = 0; k < n_done; ++k) completion.ended(array_of_indices[k], k);
  completion.tested(n_done > 0);
  return result;
}
