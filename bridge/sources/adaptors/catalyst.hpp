// SPDX-License-Identifier: BSD-3-Clause
//
// catalyst.hpp - calls of Catalyst 2, between the program and the implementation that it has
// chosen.
#pragma once

struct conduit_node;

namespace perfield::adaptors {

// enum catalyst_status of libcatalyst.
enum CatalystStatus {
  kCatalystOk = 0,
  kCatalystNoImplementation = 1,
  kCatalystNotFound = 3,
  kCatalystNotCatalyst = 4,
  kCatalystIncomplete = 5,
  kCatalystUnsupportedVersion = 6
};

using CatalystFunction = int(const conduit_node*);

}  // namespace perfield::adaptors

// Call `next` with what the program passes: the implementation or libcatalyst. frame: of the
// caller. Exported for libcatalyst-perfield.so.
#pragma GCC visibility push(default)
extern "C" {
int perfield_adaptor_initialize(const conduit_node* params,
                                perfield::adaptors::CatalystFunction* next, const void* frame);
int perfield_adaptor_execute(const conduit_node* params, perfield::adaptors::CatalystFunction* next,
                             const void* frame);
int perfield_adaptor_finalize(const conduit_node* params,
                              perfield::adaptors::CatalystFunction* next, const void* frame);
}
#pragma GCC visibility pop
