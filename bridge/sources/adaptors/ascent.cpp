// SPDX-License-Identifier: BSD-3-Clause
//
// ascent.cpp - Ascent gets the program's mesh by publish and then executes actions. The hooks are
// before its C++ interface and before its C interface, which calls the former.
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>

#include "recorder/source.h"
#include "sources/adaptors/blueprint.hpp"
#include "sources/adaptors/call.hpp"
#include "sources/adaptors/conduit.hpp"
#include "sources/adaptors/passed_on.hpp"
#include "sources/adaptors/wanted.hpp"
#include "sources/next.hpp"
#include "sources/rows.hpp"

namespace perfield::adaptors {

struct Ascent;  // ascent::Ascent

namespace {

constexpr const char* kSource = "ascent";

using Function = void(Ascent*, const conduit_node*);
using Close = void(Ascent*);

// --- what actions name --------------------------------------------------------------------------
void see_actions(const Conduit& conduit, const conduit_node* node, int depth = 0) noexcept {
  constexpr int kDeepest = 32;
  if (const char* text = conduit.text(node)) wanted().words().add_text(text, strlen(text), false);
  if (depth == kDeepest) return;
  for (int64_t i = 0, n = conduit.children(node); i < n; ++i)
    see_actions(conduit, conduit.child(node, i), depth + 1);
}

// Files whose actions take the place of the program's.
void see_files() noexcept {
  static bool seen = false;
  if (seen) return;
  seen = true;
  for (const char* file : {"ascent_actions.yaml", "ascent_actions.json"}) wanted().add_file(file);
}

// --- what each Ascent has been given ------------------------------------------------------------
struct Instance {
  Ascent* ascent;
  PassedOn passed_on;
  Instance* next;
};

Instance* instances;

// nullptr without memory.
Instance* instance_of(Ascent* ascent) noexcept {
  for (Instance* one = instances; one; one = one->next)
    if (one->ascent == ascent) return one;
  void* const memory = malloc(sizeof(Instance));
  return memory ? instances = new (memory) Instance{ascent, {}, instances} : nullptr;
}

void domains_in(const Conduit& conduit, const conduit_node* tree,
                Rows<conduit_node*>* domains) noexcept {
  domains_of(conduit, const_cast<conduit_node*>(tree), domains);
}

// The first domain that knows its step.
void show_step(const Conduit& conduit, const conduit_node* data, Call* call) noexcept {
  Rows<conduit_node*> domains;
  domains_in(conduit, data, &domains);
  for (conduit_node* domain : domains) {
    const auto cycle = conduit.numbers_at(domain, "state/cycle");
    if (cycle.n) return call->step(cycle.whole(0), conduit.number_at(domain, "state/time", 0));
  }
}

// --- the hooks ----------------------------------------------------------------------------------
void open(Ascent* self, const conduit_node* options, Function* real, const void* frame) noexcept {
  if (!real) return;
  Call call(kSource, frame);
  if (const Conduit* conduit = Conduit::of_ascent(reinterpret_cast<void*>(real)))
    if (const char* file = conduit->text_at(options, "actions_file")) wanted().add_file(file);
  if (call.counts()) call.begin();
  real(self, options);
}

void publish(Ascent* self, const conduit_node* data, Function* real, const void* frame) noexcept {
  if (!real) return;
  Call call(kSource, frame, true);
  if (!call.counts()) return real(self, data);
  const Conduit* const conduit = Conduit::of_ascent(reinterpret_cast<void*>(real));
  Instance* const instance = conduit ? instance_of(self) : nullptr;
  const conduit_node* given = data;
  if (instance) {
    show_step(*conduit, data, &call);
    const Excluded excluded;
    see_files();
    given = instance->passed_on.next(*conduit, data, domains_in);
  }
  call.begin();
  real(self, given);
  if (instance) instance->passed_on.settle();
}

void execute(Ascent* self, const conduit_node* actions, Function* real,
             const void* frame) noexcept {
  if (!real) return;
  Call call(kSource, frame);
  if (call.counts()) {
    perfield_own_begin();  // what they name is there from the next publish on
    if (const Conduit* conduit = Conduit::of_ascent(reinterpret_cast<void*>(real)))
      see_actions(*conduit, actions);
    perfield_own_end();
    call.begin();
  }
  real(self, actions);
}

void close(Ascent* self, Close* real, const void* frame) noexcept {
  if (!real) return;
  Call call(kSource, frame);
  if (call.counts()) call.begin();
  real(self);
  if (!call.counts()) return;
  for (Instance* one = instances; one; one = one->next)
    if (one->ascent == self) one->passed_on.forget();
}

}  // namespace

// --- what the program calls instead of Ascent ---------------------------------------------------
#define PERFIELD_ASCENT(function, name, symbol)                            \
  void name(Ascent* self, const conduit_node* node) PERFIELD_HOOK(symbol); \
  void name(Ascent* self, const conduit_node* node) {                      \
    static Next<Function> real{#symbol};                                   \
    function(self, node, real.get(), __builtin_frame_address(0));          \
  }
#define PERFIELD_ASCENT_CLOSE(name, symbol)              \
  void name(Ascent* self) PERFIELD_HOOK(symbol);         \
  void name(Ascent* self) {                              \
    static Next<Close> real{#symbol};                    \
    close(self, real.get(), __builtin_frame_address(0)); \
  }

PERFIELD_ASCENT(open, open_in_cpp, _ZN6ascent6Ascent4openERKN7conduit4NodeE)
PERFIELD_ASCENT(open, open_in_c, ascent_open)
PERFIELD_ASCENT(publish, publish_in_cpp, _ZN6ascent6Ascent7publishERKN7conduit4NodeE)
PERFIELD_ASCENT(publish, publish_in_c, ascent_publish)
PERFIELD_ASCENT(execute, execute_in_cpp, _ZN6ascent6Ascent7executeERKN7conduit4NodeE)
PERFIELD_ASCENT(execute, execute_in_c, ascent_execute)
PERFIELD_ASCENT_CLOSE(close_in_cpp, _ZN6ascent6Ascent5closeEv)
PERFIELD_ASCENT_CLOSE(close_in_c, ascent_close)

}  // namespace perfield::adaptors
