// SPDX-License-Identifier: BSD-3-Clause
//
// errors_returned.hpp - while it lives, an error of MPI on that communicator returns, and does not
// reach the program's error handler. For calls that may fail for reasons of the program's; other
// calls of perfield's own cannot fail, as tests/faults/README.md says of each. Not while other
// threads call MPI: one may set a handler meanwhile, or have an error of its own.
#pragma once

#include <optional>

#include "library.hpp"

namespace perfield::pmpi {

class ErrorsReturned {
 public:
  explicit ErrorsReturned(MPI_Comm comm) noexcept
      : comm_(comm),
        changed_(library.Comm_get_errhandler(comm, &before_) == MPI_SUCCESS &&
                 library.Comm_set_errhandler(comm, library.errors_return) == MPI_SUCCESS) {}
  // `before_` is not freed: it may be one of MPI's own, which not every MPI lets us free.
  ~ErrorsReturned() {
    if (changed_) library.Comm_set_errhandler(comm_, before_);
  }
  ErrorsReturned(const ErrorsReturned&) = delete;
  ErrorsReturned& operator=(const ErrorsReturned&) = delete;
  bool changed() const noexcept { return changed_; }

 private:
  MPI_Errhandler before_;
  const MPI_Comm comm_;
  const bool changed_;
};

// Whether the request is complete, with its status; -1: MPI does not say. If its receive has
// failed, MPICH calls an error handler.
inline int is_done(MPI_Request request, MPI_Status& status) noexcept {
  std::optional<ErrorsReturned> of_world, of_self;
  if (!library.concurrent) {
    of_world.emplace(library.comm_world);
    of_self.emplace(library.comm_self);
  }
  int done = 0;
  return library.Request_get_status(request, &done, &status) == MPI_SUCCESS ? done : -1;
}

}  // namespace perfield::pmpi
