// SPDX-License-Identifier: BSD-3-Clause
//
// wrappers_requests.cpp - handwritten: calls that start, complete or ask for requests and messages.
// Any thread.
#include "completion.hpp"

using namespace perfield::injector;

// --- starting ------------------------------------------------------------------------------------
PERFIELD_WRAPPER(MPI_Start, (MPI_Request * request)) {
  Call call(PERFIELD_CALL_start);
  if (following()) receives.start(*request);
  return next().Start(request);
}

PERFIELD_WRAPPER(MPI_Startall, (int count, MPI_Request array_of_requests[])) {
  Call call(PERFIELD_CALL_start);
  if (following())
    for (int i = 0; i < count; ++i) receives.start(array_of_requests[i]);
  return next().Startall(count, array_of_requests);
}

PERFIELD_WRAPPER(MPI_Request_free, (MPI_Request * request)) {
  Call call(PERFIELD_CALL_request_free);
  if (following()) receives.freed(*request);
  return next().Request_free(request);
}

// --- completing all ------------------------------------------------------------------------------
PERFIELD_WRAPPER(MPI_Wait, (MPI_Request * request, MPI_Status* status)) {
  Call call(PERFIELD_CALL_wait);
  Given<MPI_Request> given(1, request);
  MPI_Status own;
  if (given.any()) status = own_if_ignored(status, &own);
  const int result = next().Wait(request, status);
  if (!given.any()) return result;
  const uint64_t due_ns = result == MPI_SUCCESS ? given.due(status) : 0;
  given.all_completed();
  hold_until(due_ns);
  return result;
}

PERFIELD_WRAPPER(MPI_Waitall,
                 (int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[])) {
  Call call(PERFIELD_CALL_waitall);
  Given<MPI_Request> given(count, array_of_requests);
  const bool ask = given.any() && array_of_statuses == MPI_STATUSES_IGNORE;
  Items<MPI_Status> own(ask ? count : 0);
  if (ask && own.get()) array_of_statuses = own.get();
  const int result = next().Waitall(count, array_of_requests, array_of_statuses);
  if (!given.any()) return result;
  if (result != MPI_SUCCESS || array_of_statuses == MPI_STATUSES_IGNORE) {
    given.some_completed(array_of_requests);
    return result;
  }
  const uint64_t due_ns = given.due(array_of_statuses);
  given.all_completed();
  hold_until(due_ns);
  return result;
}

PERFIELD_WRAPPER(MPI_Test, (MPI_Request * request, int* flag, MPI_Status* status)) {
  Call call(PERFIELD_CALL_test);
  Given<MPI_Request> given(1, request);
  if (given.any_away()) {
    drive_progress();
    *flag = 0;
    return MPI_SUCCESS;
  }
  const int result = next().Test(request, flag, status);
  if (result == MPI_SUCCESS && *flag) given.all_completed();
  if (result != MPI_SUCCESS) given.some_completed(request);
  return result;
}

PERFIELD_WRAPPER(MPI_Testall, (int count, MPI_Request array_of_requests[], int* flag,
                               MPI_Status array_of_statuses[])) {
  Call call(PERFIELD_CALL_testall);
  Given<MPI_Request> given(count, array_of_requests);
  if (given.any_away()) {
    drive_progress();
    *flag = 0;
    return MPI_SUCCESS;
  }
  const int result = next().Testall(count, array_of_requests, flag, array_of_statuses);
  if (result == MPI_SUCCESS && *flag) given.all_completed();
  if (result != MPI_SUCCESS) given.some_completed(array_of_requests);
  return result;
}

// --- completing some -----------------------------------------------------------------------------
namespace {

// MPI_Testany of what has arrived.
int test_any(Given<MPI_Request>& given, int count, MPI_Request* requests, int* index, int* flag,
             MPI_Status* status) {
  bool any_hidden;
  int result;
  {
    Hidden<MPI_Request> hidden(count, requests, library.no_request);
    any_hidden = hidden.any();
    if (any_hidden) drive_progress();
    result = next().Testany(count, requests, index, flag, status);
  }
  if (result != MPI_SUCCESS) return given.some_completed(requests), result;
  if (any_hidden && *flag && *index == MPI_UNDEFINED) *flag = 0;
  if (*flag && *index != MPI_UNDEFINED) given.completed(*index);
  return result;
}

int test_some(Given<MPI_Request>& given, int count, MPI_Request* requests, int* n_done,
              int* indices, MPI_Status* statuses) {
  bool any_hidden;
  int result;
  {
    Hidden<MPI_Request> hidden(count, requests, library.no_request);
    any_hidden = hidden.any();
    if (any_hidden) drive_progress();
    result = next().Testsome(count, requests, n_done, indices, statuses);
  }
  if (result != MPI_SUCCESS) return given.some_completed(requests), result;
  if (any_hidden && *n_done == MPI_UNDEFINED) *n_done = 0;
  for (int k = 0; *n_done != MPI_UNDEFINED && k < *n_done; ++k) given.completed(indices[k]);
  return result;
}

}  // namespace

PERFIELD_WRAPPER(MPI_Waitany,
                 (int count, MPI_Request array_of_requests[], int* index, MPI_Status* status)) {
  Call call(PERFIELD_CALL_waitany);
  Given<MPI_Request> given(count, array_of_requests);
  if (!given.any()) return next().Waitany(count, array_of_requests, index, status);
  for (;; take_turn()) {
    int flag = 0;
    const int result = test_any(given, count, array_of_requests, index, &flag, status);
    if (result != MPI_SUCCESS || flag) return result;
  }
}

PERFIELD_WRAPPER(MPI_Testany, (int count, MPI_Request array_of_requests[], int* index, int* flag,
                               MPI_Status* status)) {
  Call call(PERFIELD_CALL_testany);
  Given<MPI_Request> given(count, array_of_requests);
  if (!given.any()) return next().Testany(count, array_of_requests, index, flag, status);
  return test_any(given, count, array_of_requests, index, flag, status);
}

PERFIELD_WRAPPER(MPI_Waitsome, (int incount, MPI_Request array_of_requests[], int* outcount,
                                int array_of_indices[], MPI_Status array_of_statuses[])) {
  Call call(PERFIELD_CALL_waitsome);
  Given<MPI_Request> given(incount, array_of_requests);
  if (!given.any())
    return next().Waitsome(incount, array_of_requests, outcount, array_of_indices,
                           array_of_statuses);
  for (;; take_turn()) {
    const int result =
        test_some(given, incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
    if (result != MPI_SUCCESS || *outcount != 0) return result;
  }
}

PERFIELD_WRAPPER(MPI_Testsome, (int incount, MPI_Request array_of_requests[], int* outcount,
                                int array_of_indices[], MPI_Status array_of_statuses[])) {
  Call call(PERFIELD_CALL_testsome);
  Given<MPI_Request> given(incount, array_of_requests);
  if (!given.any())
    return next().Testsome(incount, array_of_requests, outcount, array_of_indices,
                           array_of_statuses);
  return test_some(given, incount, array_of_requests, outcount, array_of_indices,
                   array_of_statuses);
}

// --- asking --------------------------------------------------------------------------------------
PERFIELD_WRAPPER(MPI_Request_get_status,
                 (Wide<MPI_Request> request, int* flag, MPI_Status* status)) {
  Call call(PERFIELD_CALL_test);
  const int result = next().Request_get_status(request, flag, status);
  if (call.follows(result) && *flag && is_away((MPI_Request)request)) *flag = 0;
  return result;
}

PERFIELD_WRAPPER(MPI_Iprobe,
                 (int source, int tag, Wide<MPI_Comm> comm, int* flag, MPI_Status* status)) {
  Call call(PERFIELD_CALL_iprobe);
  MPI_Status own;
  status = own_if_ignored(status, &own);
  const int result = next().Iprobe(source, tag, comm, flag, status);
  if (call.follows(result) && *flag && !has_come(due_of_probed(*status, (MPI_Comm)comm))) *flag = 0;
  return result;
}

PERFIELD_WRAPPER(MPI_Improbe, (int source, int tag, Wide<MPI_Comm> comm, int* flag,
                               MPI_Message* message, MPI_Status* status)) {
  Call call(PERFIELD_CALL_iprobe);
  if (!following()) return next().Improbe(source, tag, comm, flag, message, status);
  // A message that was matched cannot be given back, so ask first.
  MPI_Status own, found;
  status = own_if_ignored(status, &own);
  int result = next().Iprobe(source, tag, comm, flag, &found);
  if (result != MPI_SUCCESS || !*flag) return result;
  if (!has_come(due_of_probed(found, (MPI_Comm)comm))) return *flag = 0, result;
  if (found.MPI_SOURCE >= 0) source = found.MPI_SOURCE, tag = found.MPI_TAG;
  result = next().Improbe(source, tag, comm, flag, message, status);
  if (result == MPI_SUCCESS && *flag) due_of_received(*status, (MPI_Comm)comm);
  return result;
}
