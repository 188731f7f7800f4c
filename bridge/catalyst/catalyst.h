// SPDX-License-Identifier: BSD-3-Clause
//
// catalyst.h - the functions of libperfield_catalyst.so that libperfield.so calls. libperfield.so
// loads it with the first step to be shown in process. Plain C, so that neither library needs the
// other's C++ library. One thread at a time calls them, with perfield's own work begun. They keep
// no pointers after they return.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "include/perfield.h"

#pragma GCC visibility push(default)
extern "C" {

// Bytes of an entry's body; see docs/stream.md.
struct perfield_catalyst_body {
  const void* data;
  size_t size;
};

struct perfield_catalyst_entry {
  uint64_t index;  // of its last step
  perfield_catalyst_body body;
};

struct perfield_catalyst_field {
  int32_t block;
  int32_t association;  // enum perfield_association
  const char* name;
  perfield_array values;
};

// What this rank measured up to a step, and its mesh. Lists hold what is new since the last call;
// fields holds all fields.
struct perfield_catalyst_step {
  int32_t measuring;  // 0: measuring has ended here, and all below is unset
  uint64_t index;     // of the step
  int64_t label;
  double time;
  uint32_t mesh_version;
  const perfield_catalyst_entry* entries;  // of steps; none where several steps share the next
  size_t n_entries;
  // Definitions are of regions and of quantities.
  const perfield_catalyst_body *definitions, *blocks;
  size_t n_definitions, n_blocks;
  const perfield_catalyst_field* fields;
  size_t n_fields;
};

// Starts Python in this process, or joins the one that runs, and prepares the pictures. python: the
// Python to start; "" for the one that perfield is installed in. settings: a JSON object, see
// in_process.cpp. Collective. 0 if this fails; with a warning.
int perfield_catalyst_start(const char* python, const char* settings) noexcept;
// Shows a step. Collective. 0 if the pictures in process have ended; with a warning.
int perfield_catalyst_show(const struct perfield_catalyst_step* step) noexcept;
// Ends the pictures, before MPI_Finalize. Collective.
void perfield_catalyst_finish() noexcept;

}  // extern "C"
#pragma GCC visibility pop
