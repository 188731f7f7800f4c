// SPDX-License-Identifier: BSD-3-Clause
//
// catalyst.cpp - see catalyst.hpp. The hooks are before libcatalyst, so they see every program
// that is linked with it, whatever implementation it names.
#include "sources/adaptors/catalyst.hpp"

#include <cstring>
#include <initializer_list>

#include "recorder/source.h"
#include "sources/adaptors/blueprint.hpp"
#include "sources/adaptors/call.hpp"
#include "sources/adaptors/conduit.hpp"
#include "sources/adaptors/passed_on.hpp"
#include "sources/adaptors/wanted.hpp"
#include "sources/next.hpp"
#include "sources/rows.hpp"

namespace perfield::adaptors {
namespace {

constexpr const char* kSource = "catalyst";

// Scripts: a file, or an object with a file and arguments.
void see_scripts(const Conduit& conduit, const conduit_node* params) noexcept {
  Words& words = wanted().words();
  conduit_node* const scripts = conduit.at(params, "catalyst/scripts");
  for (int64_t i = 0, n = conduit.children(scripts); i < n; ++i) {
    conduit_node* const script = conduit.child(scripts, i);
    const char* file = conduit.text(script);
    if (!file) file = conduit.text_at(script, "filename");
    if (file) wanted().add_file(file);
    conduit_node* const arguments = conduit.at(script, "args");
    for (int64_t a = 0, n_arguments = conduit.children(arguments); a < n_arguments; ++a)
      if (const char* text = conduit.text(conduit.child(arguments, a)))
        words.add_text(text, strlen(text), false);
  }
}

// The meshes of all channels.
void meshes_of(const Conduit& conduit, const conduit_node* params,
               Rows<conduit_node*>* domains) noexcept {
  conduit_node* const channels = conduit.at(params, "catalyst/channels");
  for (int64_t i = 0, n = conduit.children(channels); i < n; ++i) {
    conduit_node* const channel = conduit.child(channels, i);
    const char* const type = conduit.text_at(channel, "type");
    if (type && strcmp(type, "mesh") != 0 && strcmp(type, "multimesh") != 0) continue;
    domains_of(conduit, conduit.at(channel, "data"), domains);
  }
}

void show_step(const Conduit& conduit, const conduit_node* params, Call* call) noexcept {
  conduit_node* const state = conduit.at(params, "catalyst/state");
  for (const char* name : {"timestep", "cycle"}) {
    const auto number = conduit.numbers_at(state, name);
    if (!number.n) continue;
    return call->step(number.whole(0), conduit.number_at(state, "time", 0));
  }
}

Forever<PassedOn> passed_on;

}  // namespace
}  // namespace perfield::adaptors

using namespace perfield::adaptors;

int perfield_adaptor_initialize(const conduit_node* params, CatalystFunction* next,
                                const void* frame) {
  Call call(kSource, frame);
  const Conduit* const conduit =
      perfield_own_work() ? nullptr : Conduit::of_catalyst(reinterpret_cast<void*>(next));
  if (conduit) see_scripts(*conduit, params);
  if (call.counts()) call.begin();
  return next(params);
}

int perfield_adaptor_execute(const conduit_node* params, CatalystFunction* next,
                             const void* frame) {
  Call call(kSource, frame, true);
  if (!call.counts()) return next(params);
  const conduit_node* given = params;
  if (const Conduit* conduit = Conduit::of_catalyst(reinterpret_cast<void*>(next))) {
    show_step(*conduit, params, &call);
    const Excluded excluded;
    given = passed_on.it.next(*conduit, params, meshes_of);
  }
  call.begin();
  const int status = next(given);
  if (status != kCatalystOk)
    perfield_warn_once_per_node("adaptor-failed",
                                "Catalyst refused what the program gave it, or a pipeline failed "
                                "(catalyst_execute returned an error); the program continues");
  passed_on.it.settle();
  return status;
}

int perfield_adaptor_finalize(const conduit_node* params, CatalystFunction* next,
                              const void* frame) {
  Call call(kSource, frame);
  if (!call.counts()) return next(params);
  call.begin();
  const int status = next(params);
  passed_on.it.forget();
  return status;
}

// --- what the program calls instead of libcatalyst ----------------------------------------------
#define PERFIELD_CATALYST(name)                                                                \
  extern "C"                                                                                   \
      __attribute__((visibility("default"))) int catalyst_##name(const conduit_node* params) { \
    static perfield::Next<CatalystFunction> real{"catalyst_" #name};                           \
    CatalystFunction* const next = real.get();                                                 \
    if (!next) return kCatalystNoImplementation;                                               \
    return perfield_adaptor_##name(params, next, __builtin_frame_address(0));                  \
  }

PERFIELD_CATALYST(initialize)
PERFIELD_CATALYST(execute)
PERFIELD_CATALYST(finalize)
