// SPDX-License-Identifier: BSD-3-Clause
//
// rules.hpp - the rules of table/*.table: before_ rules run before the call, after_ rules once it
// has succeeded. All run on the thread that makes the call; arguments are those of the call.
#pragma once

#include "call.hpp"
#include "communicators.hpp"
#include "injection.hpp"
#include "receives.hpp"

namespace perfield::pmpi {

inline void before_stamp(const Call&, int dest, int tag, MPI_Count count, MPI_Datatype type,
                         MPI_Comm comm) {
  if (following()) injector::leave_stamp(dest, tag, bytes_of(count, type), comm);
}

inline void after_receive(const Call&, const MPI_Status* status, MPI_Comm comm) {
  injector::hold_until(injector::due_of_received(*status, comm));
}

inline void after_probe(const Call&, const MPI_Status* status, MPI_Comm comm) {
  injector::hold_until(injector::due_of_probed(*status, comm));
}

// The matched message is received later, without a name, so its stamp is taken here. Its bytes are
// known.
inline void after_match(const Call& call, const MPI_Status* status, MPI_Comm comm) {
  after_receive(call, status, comm);
}

inline void remember(int source, int tag, MPI_Comm comm, MPI_Request request, bool kept) {
  if (source < 0 && source != MPI_ANY_SOURCE) return;  // MPI_PROC_NULL
  injector::Receive receive;
  receive.handle = request;
  receive.communicator = name_of(comm);
  receive.any = source == MPI_ANY_SOURCE ? peers_of(comm) : nullptr;
  receive.peer = source == MPI_ANY_SOURCE ? -1 : world_rank(comm, source);
  receive.tag = tag;
  receive.kept = kept;
  if (receive.any) receive.any->keep();
  if (injector::receives.add(receive)) return;
  if (receive.any) receive.any->let_go();
  injector::lose_track(receive.peer);
}

inline void after_post(const Call&, int source, int tag, MPI_Comm comm,
                       const MPI_Request* request) {
  remember(source, tag, comm, *request, false);
}

inline void after_keep_receive(const Call&, int source, int tag, MPI_Comm comm,
                               const MPI_Request* request) {
  remember(source, tag, comm, *request, true);
}

inline void after_keep_send(const Call&, int dest, int tag, MPI_Count count, MPI_Datatype type,
                            MPI_Comm comm, const MPI_Request* request) {
  if (dest < 0) return;
  injector::Receive send;
  send.handle = *request;
  send.sends = send.kept = true;
  send.peer = world_rank(comm, dest);
  send.communicator = name_of(comm);
  send.tag = tag;
  send.bytes = bytes_of(count, type);
  injector::receives.add(send);
}

inline void after_child(const Call&, MPI_Comm parent, const MPI_Comm* child) {
  name_child(parent, *child);
}

}  // namespace perfield::pmpi
