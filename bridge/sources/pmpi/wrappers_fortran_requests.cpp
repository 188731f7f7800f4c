// SPDX-License-Identifier: BSD-3-Clause
//
// wrappers_fortran_requests.cpp - starts and completes requests of Fortran calls: see
// wrappers_requests.cpp. Indices of requests count from 1; statuses are arrays of integers.
#include "completion.hpp"
#include "fortran_bindings.hpp"

namespace {

using FortranCompletion = Completion<FortranRequest, FortranStatus>;

MPI_Request in_c(const FortranRequest& request) { return request; }

template <Binding binding>
bool ignored_one(const FortranStatus* status) {
  return status == meanings(binding).status_ignore;
}
template <Binding binding>
bool ignored_all(const FortranStatus* statuses) {
  return statuses == meanings(binding).statuses_ignore;
}

// --- starting ------------------------------------------------------------------------------------
PERFIELD_BODY start(Next next, FortranRequest* request, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_start, ierror);
  next(request, ierror);
  if (call.follows(*ierror)) started(call, in_c(*request));
}

PERFIELD_BODY start_all(Next next, const MPI_Fint* count, FortranRequest* handles,
                        MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_start, ierror);
  next(count, handles, ierror);
  if (call.follows(*ierror))
    for (int i = 0; i < *count; ++i) started(call, in_c(handles[i]));
}

PERFIELD_BODY request_free(Next next, FortranRequest* request, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_request_free, ierror);
  if (following()) count_freed(call, in_c(*request));
  next(request, ierror);
}

// --- completing all ------------------------------------------------------------------------------
PERFIELD_BODY wait(Next next, FortranRequest* request, FortranStatus* status, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_wait, ierror);
  if (!looks()) return next(request, status, ierror);
  const Pending taken = requests.take(in_c(*request));
  FortranStatus own;
  if (taken.kind != Pending::none) status = own_if_ignored<binding>(status, &own);
  next(request, status, ierror);
  if (taken.kind != Pending::none) end_wait(call, taken, *ierror == MPI_SUCCESS, status);
}

PERFIELD_BODY wait_all(Next next, const MPI_Fint* count, FortranRequest* handles,
                       FortranStatus* statuses, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_waitall, ierror);
  Awaited<FortranRequest, FortranStatus> awaited(call, *count, handles, statuses,
                                                 ignored_all<binding>(statuses));
  next(count, handles, statuses, ierror);
  awaited.ended(call, *ierror == MPI_SUCCESS, statuses);
}

// Apart from the wrapper, as in C.
template <Binding binding, typename Next>
[[gnu::noinline]] void test_known(const void* caller, const void* frame, Next next,
                                  FortranRequest* request, FortranLogical* flag,
                                  FortranStatus* status, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_test, ierror, caller, frame);
  if (!following()) return next(request, flag, status, ierror);
  const Handle handle = *request;
  if (!requests.knows(handle)) {
    next(request, flag, status, ierror);
    if (*ierror == MPI_SUCCESS && (!*flag || is_idle(handle))) call.leave_unanswered();
    return;
  }
  FortranStatus own;
  status = own_if_ignored<binding>(status, &own);
  next(request, flag, status, ierror);
  if (*ierror != MPI_SUCCESS && Handle(*request) != handle) let_go(requests.take(handle));
  if (*ierror != MPI_SUCCESS) return;
  if (!*flag) return call.leave_unanswered();
  const MPI_Status in_c = *status;
  count_tested(call, requests.take(handle), &in_c);
}

PERFIELD_BODY test(Next next, FortranRequest* request, FortranLogical* flag, FortranStatus* status,
                   MPI_Fint* ierror) {
  if (requests.any())
    return test_known<binding>(__builtin_return_address(0), __builtin_frame_address(0), next,
                               request, flag, status, ierror);
  MPI_Fint own = MPI_SUCCESS;  // apart from the call, which so stays in registers
  if (!ierror) ierror = &own;
  Call call(PERFIELD_CALL_test);
  next(request, flag, status, ierror);
}

PERFIELD_BODY test_all(Next next, const MPI_Fint* count, FortranRequest* handles,
                       FortranLogical* flag, FortranStatus* statuses, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_testall, ierror);
  FortranCompletion completion(call, *count, handles, statuses, ignored_all<binding>(statuses));
  next(count, handles, flag, statuses, ierror);
  if (*ierror != MPI_SUCCESS) return completion.failed(handles);
  for (int i = 0; *flag && i < *count; ++i) completion.ended(i, i);
  completion.tested(*flag);
}

// --- completing some -----------------------------------------------------------------------------
PERFIELD_BODY wait_any(Next next, const MPI_Fint* count, FortranRequest* handles, MPI_Fint* index,
                       FortranStatus* status, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_waitany, ierror);
  FortranCompletion completion(call, *count, handles, status, ignored_one<binding>(status));
  next(count, handles, index, status, ierror);
  if (*ierror != MPI_SUCCESS) completion.failed(handles);
  if (*ierror == MPI_SUCCESS && *index != MPI_UNDEFINED)
    completion.ended(*index - first_number(binding), 0);
}

PERFIELD_BODY test_any(Next next, const MPI_Fint* count, FortranRequest* handles, MPI_Fint* index,
                       FortranLogical* flag, FortranStatus* status, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_testany, ierror);
  FortranCompletion completion(call, *count, handles, status, ignored_one<binding>(status));
  next(count, handles, index, flag, status, ierror);
  if (*ierror != MPI_SUCCESS) return completion.failed(handles);
  const bool has_any = *flag && *index != MPI_UNDEFINED;
  if (has_any) completion.ended(*index - first_number(binding), 0);
  completion.tested(has_any);
}

template <Binding binding, perfield_call kind, typename Next>
[[gnu::always_inline]] inline void complete_some(Next next, const MPI_Fint* count,
                                                 FortranRequest* handles, MPI_Fint* n_done,
                                                 MPI_Fint* indices, FortranStatus* statuses,
                                                 MPI_Fint* ierror) {
  FortranCall call(kind, ierror);
  FortranCompletion completion(call, *count, handles, statuses, ignored_all<binding>(statuses));
  next(count, handles, n_done, indices, statuses, ierror);
  if (*ierror != MPI_SUCCESS) return completion.failed(handles);
  const int n = *n_done == MPI_UNDEFINED ? 0 : *n_done;
  for (int k = 0; k < n; ++k) completion.ended(indices[k] - first_number(binding), k);
  if (kind == PERFIELD_CALL_testsome) completion.tested(n > 0);
}

PERFIELD_BODY wait_some(Next next, const MPI_Fint* count, FortranRequest* handles, MPI_Fint* n_done,
                        MPI_Fint* indices, FortranStatus* statuses, MPI_Fint* ierror) {
  complete_some<binding, PERFIELD_CALL_waitsome>(next, count, handles, n_done, indices, statuses,
                                                 ierror);
}

PERFIELD_BODY test_some(Next next, const MPI_Fint* count, FortranRequest* handles, MPI_Fint* n_done,
                        MPI_Fint* indices, FortranStatus* statuses, MPI_Fint* ierror) {
  complete_some<binding, PERFIELD_CALL_testsome>(next, count, handles, n_done, indices, statuses,
                                                 ierror);
}

}  // namespace

PERFIELD_BINDINGS(mpi_start, start, (FortranRequest * request, MPI_Fint* ierror), request, ierror)
PERFIELD_BINDINGS(mpi_startall, start_all,
                  (const MPI_Fint* count, FortranRequest* handles, MPI_Fint* ierror), count,
                  handles, ierror)
PERFIELD_BINDINGS(mpi_request_free, request_free, (FortranRequest * request, MPI_Fint* ierror),
                  request, ierror)
PERFIELD_BINDINGS(mpi_wait, wait,
                  (FortranRequest * request, FortranStatus* status, MPI_Fint* ierror), request,
                  status, ierror)
PERFIELD_BINDINGS(mpi_waitall, wait_all,
                  (const MPI_Fint* count, FortranRequest* handles, FortranStatus* statuses,
                   MPI_Fint* ierror),
                  count, handles, statuses, ierror)
PERFIELD_BINDINGS(mpi_test, test,
                  (FortranRequest * request, FortranLogical* flag, FortranStatus* status,
                   MPI_Fint* ierror),
                  request, flag, status, ierror)
PERFIELD_BINDINGS(mpi_testall, test_all,
                  (const MPI_Fint* count, FortranRequest* handles, FortranLogical* flag,
                   FortranStatus* statuses, MPI_Fint* ierror),
                  count, handles, flag, statuses, ierror)
PERFIELD_BINDINGS(mpi_waitany, wait_any,
                  (const MPI_Fint* count, FortranRequest* handles, MPI_Fint* index,
                   FortranStatus* status, MPI_Fint* ierror),
                  count, handles, index, status, ierror)
PERFIELD_BINDINGS(mpi_testany, test_any,
                  (const MPI_Fint* count, FortranRequest* handles, MPI_Fint* index,
                   FortranLogical* flag, FortranStatus* status, MPI_Fint* ierror),
                  count, handles, index, flag, status, ierror)
PERFIELD_BINDINGS(mpi_waitsome, wait_some,
                  (const MPI_Fint* count, FortranRequest* handles, MPI_Fint* n_done,
                   MPI_Fint* indices, FortranStatus* statuses, MPI_Fint* ierror),
                  count, handles, n_done, indices, statuses, ierror)
PERFIELD_BINDINGS(mpi_testsome, test_some,
                  (const MPI_Fint* count, FortranRequest* handles, MPI_Fint* n_done,
                   MPI_Fint* indices, FortranStatus* statuses, MPI_Fint* ierror),
                  count, handles, n_done, indices, statuses, ierror)
