// SPDX-License-Identifier: BSD-3-Clause
//
// wrappers_fortran.cpp - the handwritten wrappers for Fortran calls: see wrappers_requests.cpp.
// Indices of requests count from first_number; statuses are arrays of integers.
#include <atomic>

#include "completion.hpp"
#include "fortran_bindings.hpp"

using namespace perfield::injector;

namespace {

using FortranGiven = Given<FortranRequest>;
using FortranHidden = Hidden<FortranRequest>;

MPI_Request in_c(const FortranRequest& request) { return request; }

FortranRequest null_request() noexcept {
#ifdef PERFIELD_F2C_FUNCTIONS
  static std::atomic<decltype(&::MPI_Request_c2f)> found{nullptr};
  auto to_fortran = found.load(std::memory_order_relaxed);
  if (!to_fortran) {
    to_fortran = reinterpret_cast<decltype(to_fortran)>(function_of_mpi("PMPI_Request_c2f"));
    found.store(to_fortran, std::memory_order_relaxed);
  }
  return {to_fortran(library.no_request)};
#else
  return {static_cast<MPI_Fint>(library.no_request)};
#endif
}

// --- starting ------------------------------------------------------------------------------------
PERFIELD_BODY start(Next next, FortranRequest* request, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_start, ierror);
  if (following()) receives.start(in_c(*request));
  next(request, ierror);
}

PERFIELD_BODY start_all(Next next, const MPI_Fint* count, FortranRequest* requests,
                        MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_start, ierror);
  if (following())
    for (int i = 0; i < *count; ++i) receives.start(in_c(requests[i]));
  next(count, requests, ierror);
}

PERFIELD_BODY request_free(Next next, FortranRequest* request, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_request_free, ierror);
  if (following()) receives.freed(in_c(*request));
  next(request, ierror);
}

// --- completing all ------------------------------------------------------------------------------
PERFIELD_BODY wait(Next next, FortranRequest* request, FortranStatus* status, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_wait, ierror);
  FortranGiven given(1, request);
  FortranStatus own;
  if (given.any()) status = own_if_ignored<binding>(status, &own);
  next(request, status, ierror);
  if (!given.any()) return;
  const uint64_t due_ns = *ierror == MPI_SUCCESS ? given.due(status) : 0;
  given.all_completed();
  hold_until(due_ns);
}

PERFIELD_BODY wait_all(Next next, const MPI_Fint* count, FortranRequest* requests,
                       FortranStatus* statuses, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_waitall, ierror);
  FortranGiven given(*count, requests);
  const void* ignored = meanings(binding).statuses_ignore;
  const bool ask = given.any() && statuses == ignored;
  Items<FortranStatus> own(ask ? *count : 0);
  if (ask && own.get()) statuses = own.get();
  next(count, requests, statuses, ierror);
  if (!given.any()) return;
  if (*ierror != MPI_SUCCESS || statuses == ignored) return given.some_completed(requests);
  const uint64_t due_ns = given.due(statuses);
  given.all_completed();
  hold_until(due_ns);
}

PERFIELD_BODY test(Next next, FortranRequest* request, FortranLogical* flag, FortranStatus* status,
                   MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_test, ierror);
  FortranGiven given(1, request);
  if (given.any_away()) {
    drive_progress();
    flag->value = 0;
    *ierror = MPI_SUCCESS;
    return;
  }
  next(request, flag, status, ierror);
  if (*ierror == MPI_SUCCESS && *flag) given.all_completed();
  if (*ierror != MPI_SUCCESS) given.some_completed(request);
}

PERFIELD_BODY test_all(Next next, const MPI_Fint* count, FortranRequest* requests,
                       FortranLogical* flag, FortranStatus* statuses, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_testall, ierror);
  FortranGiven given(*count, requests);
  if (given.any_away()) {
    drive_progress();
    flag->value = 0;
    *ierror = MPI_SUCCESS;
    return;
  }
  next(count, requests, flag, statuses, ierror);
  if (*ierror == MPI_SUCCESS && *flag) given.all_completed();
  if (*ierror != MPI_SUCCESS) given.some_completed(requests);
}

// --- completing some -----------------------------------------------------------------------------
template <Binding binding, typename Next>
void test_any_arrived(Next next, FortranGiven& given, const MPI_Fint* count,
                      FortranRequest* requests, MPI_Fint* index, FortranLogical* flag,
                      FortranStatus* status, MPI_Fint* ierror) {
  bool any_hidden;
  {
    FortranHidden hidden(*count, requests, null_request());
    any_hidden = hidden.any();
    if (any_hidden) drive_progress();
    next(count, requests, index, flag, status, ierror);
  }
  if (*ierror != MPI_SUCCESS) return given.some_completed(requests);
  // MPI_UNDEFINED; mpif.h of MPICH 4.0 adds 1 to it.
  if (any_hidden && *flag && *index < 0) flag->value = 0;
  if (*flag && *index >= 0) given.completed(*index - first_number(binding));
}

template <Binding binding, typename Next>
void test_some_arrived(Next next, FortranGiven& given, const MPI_Fint* count,
                       FortranRequest* requests, MPI_Fint* n_done, MPI_Fint* indices,
                       FortranStatus* statuses, MPI_Fint* ierror) {
  bool any_hidden;
  {
    FortranHidden hidden(*count, requests, null_request());
    any_hidden = hidden.any();
    if (any_hidden) drive_progress();
    next(count, requests, n_done, indices, statuses, ierror);
  }
  if (*ierror != MPI_SUCCESS) return given.some_completed(requests);
  if (any_hidden && *n_done == MPI_UNDEFINED) *n_done = 0;
  for (int k = 0; *n_done != MPI_UNDEFINED && k < *n_done; ++k)
    given.completed(indices[k] - first_number(binding));
}

template <Binding binding, typename Next, typename Test>
[[gnu::always_inline]] inline void wait_any(Next next, Test test, const MPI_Fint* count,
                                            FortranRequest* requests, MPI_Fint* index,
                                            FortranStatus* status, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_waitany, ierror);
  FortranGiven given(*count, requests);
  if (!given.any()) return next(count, requests, index, status, ierror);
  for (;; take_turn()) {
    FortranLogical flag{0};
    test_any_arrived<binding>(test, given, count, requests, index, &flag, status, ierror);
    if (*ierror != MPI_SUCCESS || flag) return;
  }
}

PERFIELD_BODY test_any(Next next, const MPI_Fint* count, FortranRequest* requests, MPI_Fint* index,
                       FortranLogical* flag, FortranStatus* status, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_testany, ierror);
  FortranGiven given(*count, requests);
  if (!given.any()) return next(count, requests, index, flag, status, ierror);
  test_any_arrived<binding>(next, given, count, requests, index, flag, status, ierror);
}

template <Binding binding, typename Next, typename Test>
[[gnu::always_inline]] inline void wait_some(Next next, Test test, const MPI_Fint* count,
                                             FortranRequest* requests, MPI_Fint* n_done,
                                             MPI_Fint* indices, FortranStatus* statuses,
                                             MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_waitsome, ierror);
  FortranGiven given(*count, requests);
  if (!given.any()) return next(count, requests, n_done, indices, statuses, ierror);
  for (;; take_turn()) {
    test_some_arrived<binding>(test, given, count, requests, n_done, indices, statuses, ierror);
    if (*ierror != MPI_SUCCESS || *n_done != 0) return;
  }
}

PERFIELD_BODY test_some(Next next, const MPI_Fint* count, FortranRequest* requests,
                        MPI_Fint* n_done, MPI_Fint* indices, FortranStatus* statuses,
                        MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_testsome, ierror);
  FortranGiven given(*count, requests);
  if (!given.any()) return next(count, requests, n_done, indices, statuses, ierror);
  test_some_arrived<binding>(next, given, count, requests, n_done, indices, statuses, ierror);
}

// --- asking --------------------------------------------------------------------------------------
PERFIELD_BODY get_status(Next next, const FortranRequest* request, FortranLogical* flag,
                         FortranStatus* status, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_test, ierror);
  next(request, flag, status, ierror);
  if (call.follows(*ierror) && *flag && is_away(in_c(*request))) flag->value = 0;
}

PERFIELD_BODY iprobe(Next next, const MPI_Fint* source, const MPI_Fint* tag,
                     const Fortran<MPI_Comm>* comm, FortranLogical* flag, FortranStatus* status,
                     MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_iprobe, ierror);
  FortranStatus own;
  status = own_if_ignored<binding>(status, &own);
  next(source, tag, comm, flag, status, ierror);
  if (call.follows(*ierror) && *flag && !has_come(due_of_probed(*status, *comm))) flag->value = 0;
}

template <Binding binding, typename Next, typename Ask>
[[gnu::always_inline]] inline void improbe(Next next, Ask ask, const MPI_Fint* source,
                                           const MPI_Fint* tag, const Fortran<MPI_Comm>* comm,
                                           FortranLogical* flag, Fortran<MPI_Message>* message,
                                           FortranStatus* status, MPI_Fint* ierror) {
  FortranCall call(PERFIELD_CALL_iprobe, ierror);
  if (!following()) return next(source, tag, comm, flag, message, status, ierror);
  FortranStatus own, found;
  status = own_if_ignored<binding>(status, &own);
  ask(source, tag, comm, flag, &found, ierror);
  if (*ierror != MPI_SUCCESS || !*flag) return;
  const MPI_Status in_c = found;
  if (!has_come(due_of_probed(in_c, *comm))) {
    flag->value = 0;
    return;
  }
  const bool is_message = in_c.MPI_SOURCE >= 0;
  const MPI_Fint from = is_message ? in_c.MPI_SOURCE : *source;
  const MPI_Fint with = is_message ? in_c.MPI_TAG : *tag;
  next(&from, &with, comm, flag, message, status, ierror);
  if (*ierror == MPI_SUCCESS && *flag) due_of_received(*status, *comm);
}

// --- startup -------------------------------------------------------------------------------------
PERFIELD_BODY init(Next next, MPI_Fint* ierror) {
  MPI_Fint own = MPI_SUCCESS;
  if (!ierror) ierror = &own;
  next(ierror);
  if (*ierror == MPI_SUCCESS) begin();
}

PERFIELD_BODY init_thread(Next next, const MPI_Fint* required, MPI_Fint* provided,
                          MPI_Fint* ierror) {
  MPI_Fint own = MPI_SUCCESS;
  if (!ierror) ierror = &own;
  next(required, provided, ierror);
  if (*ierror == MPI_SUCCESS) begin();
}

PERFIELD_BODY finalize(Next next, MPI_Fint* ierror) {
  const bool was_injecting = end();
  next(ierror);
  if (was_injecting) clean_up();
}

}  // namespace

// A wait for some of several requests polls by the test of the same binding.
#define PERFIELD_BINDINGS_BY(name, test, body, parameters, ...)                              \
  PERFIELD_FORTRAN name##_ parameters {                                                      \
    body<Binding::mpifh>(PERFIELD_NEXT(name##_), PERFIELD_NEXT(test##_), __VA_ARGS__);       \
  }                                                                                          \
  PERFIELD_ALIAS(name)                                                                       \
  PERFIELD_FORTRAN name##_f08_ parameters {                                                  \
    body<Binding::f08>(PERFIELD_NEXT(name##_f08_), PERFIELD_NEXT(test##_f08_), __VA_ARGS__); \
  }

PERFIELD_BINDINGS(mpi_start, start, (FortranRequest * request, MPI_Fint* ierror), request, ierror)
PERFIELD_BINDINGS(mpi_startall, start_all,
                  (const MPI_Fint* count, FortranRequest* requests, MPI_Fint* ierror), count,
                  requests, ierror)
PERFIELD_BINDINGS(mpi_request_free, request_free, (FortranRequest * request, MPI_Fint* ierror),
                  request, ierror)
PERFIELD_BINDINGS(mpi_wait, wait,
                  (FortranRequest * request, FortranStatus* status, MPI_Fint* ierror), request,
                  status, ierror)
PERFIELD_BINDINGS(mpi_waitall, wait_all,
                  (const MPI_Fint* count, FortranRequest* requests, FortranStatus* statuses,
                   MPI_Fint* ierror),
                  count, requests, statuses, ierror)
PERFIELD_BINDINGS(mpi_test, test,
                  (FortranRequest * request, FortranLogical* flag, FortranStatus* status,
                   MPI_Fint* ierror),
                  request, flag, status, ierror)
PERFIELD_BINDINGS(mpi_testall, test_all,
                  (const MPI_Fint* count, FortranRequest* requests, FortranLogical* flag,
                   FortranStatus* statuses, MPI_Fint* ierror),
                  count, requests, flag, statuses, ierror)
PERFIELD_BINDINGS(mpi_testany, test_any,
                  (const MPI_Fint* count, FortranRequest* requests, MPI_Fint* index,
                   FortranLogical* flag, FortranStatus* status, MPI_Fint* ierror),
                  count, requests, index, flag, status, ierror)
PERFIELD_BINDINGS_BY(mpi_waitany, mpi_testany, wait_any,
                     (const MPI_Fint* count, FortranRequest* requests, MPI_Fint* index,
                      FortranStatus* status, MPI_Fint* ierror),
                     count, requests, index, status, ierror)
PERFIELD_BINDINGS(mpi_testsome, test_some,
                  (const MPI_Fint* count, FortranRequest* requests, MPI_Fint* n_done,
                   MPI_Fint* indices, FortranStatus* statuses, MPI_Fint* ierror),
                  count, requests, n_done, indices, statuses, ierror)
PERFIELD_BINDINGS_BY(mpi_waitsome, mpi_testsome, wait_some,
                     (const MPI_Fint* count, FortranRequest* requests, MPI_Fint* n_done,
                      MPI_Fint* indices, FortranStatus* statuses, MPI_Fint* ierror),
                     count, requests, n_done, indices, statuses, ierror)
PERFIELD_BINDINGS(mpi_request_get_status, get_status,
                  (const FortranRequest* request, FortranLogical* flag, FortranStatus* status,
                   MPI_Fint* ierror),
                  request, flag, status, ierror)
PERFIELD_BINDINGS(mpi_iprobe, iprobe,
                  (const MPI_Fint* source, const MPI_Fint* tag, const Fortran<MPI_Comm>* comm,
                   FortranLogical* flag, FortranStatus* status, MPI_Fint* ierror),
                  source, tag, comm, flag, status, ierror)
PERFIELD_BINDINGS_BY(mpi_improbe, mpi_iprobe, improbe,
                     (const MPI_Fint* source, const MPI_Fint* tag, const Fortran<MPI_Comm>* comm,
                      FortranLogical* flag, Fortran<MPI_Message>* message, FortranStatus* status,
                      MPI_Fint* ierror),
                     source, tag, comm, flag, message, status, ierror)
PERFIELD_BINDINGS(mpi_init, init, (MPI_Fint * ierror), ierror)
PERFIELD_BINDINGS(mpi_init_thread, init_thread,
                  (const MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror), required,
                  provided, ierror)
PERFIELD_BINDINGS(mpi_finalize, finalize, (MPI_Fint * ierror), ierror)
