// SPDX-License-Identifier: BSD-3-Clause
//
// openfoam.cpp - time steps and regions of an unmodified OpenFOAM solver. This library is
// preloaded. It replaces a few functions of libOpenFOAM.so, informs the recorder and calls the real
// function (next.hpp). meshes.cpp and scopes.cpp hold more such functions.
#include <cmath>
#include <cstdlib>

#define PERFIELD_BUILDING_LIBRARY  // calls libperfield.so itself, which this library needs
#include "include/perfield.h"
#include "recorder/source.h"
#include "sources/next.hpp"
#include "sources/openfoam/scopes.hpp"

namespace {

using perfield::Next;

constexpr const char* kSource = "openfoam";

// --- time steps ---------------------------------------------------------------------------------
// A Foam::word is a std::string of libstdc++: short texts are stored inside, longer ones on the
// heap.
struct Word {
  char* text;
  size_t length;
  char inside[16];

  Word(const Word&) = delete;  // returned in place, like any class without copies
  ~Word() {
    static Next<void(void*)> operator_delete{"_ZdlPv"};
    if (text != inside) operator_delete.get()(text);
  }
};

Next<Word(const void*)> real_time_name{"_ZNK4Foam4Time8timeNameEv"};

// Every solver's loop calls `runTime.run()` once before each step and once after the last. The call
// also executes the function objects of the step before it. So its return closes that step, and the
// first return ends the setup. (operator++ also counts sub-cycles.)
struct Steps {
  const void* clock;  // the Foam::Time object of the loop
  double last;        // its time at the last call
  int64_t count;

  // now: the object's time before the call.
  void returned(const void* time, double now) noexcept {
    perfield_source_hook_hit(kSource);
    perfield::openfoam::end_scopes();
    if (!clock) {
      clock = time;
      perfield_initialize();
    } else if (clock == time && now != last) {  // else: called twice in a step
      perfield_step(++count, now);
    }
    if (clock == time) last = now;
  }

  static double time_of(const void* time) noexcept {
    auto* const name = real_time_name.get();
    return name ? std::strtod(name(time).text, nullptr) : std::nan("");
  }
};

Steps steps;

// --- a loop of another kind ---------------------------------------------------------------------
// Tools for meshes advance the time a few times without a loop, and most tools never do.
constexpr int kFewAdvances = 8;
constexpr const char* kNeverHit =
    "this OpenFOAM program advanced its time without calling Foam::Time::run(), so it has no time "
    "steps; set step_region to one of its regions";

struct Advances {
  int before_run;

  void advanced() noexcept {
    if (steps.clock || ++before_run != kFewAdvances + 1) return;
    perfield_source_hook_expected(kSource, kNeverHit);
  }
};

Advances advances;

__attribute__((constructor)) void announce() { perfield_source_present(kSource); }

// A serial program without steps never wakes perfield, which then cannot warn at its own end.
__attribute__((destructor)) void tell_if_never_hit() {
  if (!steps.clock && advances.before_run > kFewAdvances)
    perfield_warn_once_per_node("hook-openfoam", kNeverHit);
}

// --- regions ------------------------------------------------------------------------------------
// A Foam::profilingTrigger lives while its piece of code runs, or until stop(). A stack per thread
// keeps the region of each object, because objects end in reverse order.
constexpr int kDeepest = 64;

struct OpenTriggers {
  struct {
    const void* trigger;
    perfield_region region;
  } stack[kDeepest];
  int depth;

  void begin(const void* trigger, const char* name) noexcept {
    if (depth == kDeepest) return;
    const perfield_region region = perfield_region_define(name, nullptr, 0);
    stack[depth++] = {trigger, region};
    perfield_region_begin(region);
  }

  // Ignores an object that has ended already: its destructor runs after stop().
  void end(const void* trigger) noexcept {
    for (int i = depth; i-- > 0;) {
      if (stack[i].trigger != trigger) continue;
      perfield_region_end(stack[i].region);
      for (--depth; i < depth; ++i) stack[i] = stack[i + 1];
      return;
    }
  }
};

thread_local OpenTriggers open_triggers;

}  // namespace

// --- what the program calls instead of libOpenFOAM.so -------------------------------------------
bool time_run(const void* time) PERFIELD_HOOK(_ZNK4Foam4Time3runEv);
bool time_run(const void* time) {
  static Next<bool(const void*)> real{"_ZNK4Foam4Time3runEv"};
  const double now = Steps::time_of(time);
  const bool runs = real.get()(time);
  steps.returned(time, now);
  return runs;
}

void* time_advance(void* time) PERFIELD_HOOK(_ZN4Foam4TimeppEv);
void* time_advance(void* time) {
  static Next<void*(void*)> real{"_ZN4Foam4TimeppEv"};
  advances.advanced();
  return real.get()(time);
}

// C1 and C2, D1 and D2: whole objects and base parts of objects; libOpenFOAM.so exports both.
// A std::string begins with the pointer to its text.
using Text = const char*;
#define PERFIELD_TRIGGER_BEGIN(function, Name, text, symbol)  \
  void function(void* self, Name name) PERFIELD_HOOK(symbol); \
  void function(void* self, Name name) {                      \
    static Next<void(void*, Name)> real{#symbol};             \
    real.get()(self, name);                                   \
    open_triggers.begin(self, text);                          \
  }
#define PERFIELD_TRIGGER_END(function, symbol)     \
  void function(void* self) PERFIELD_HOOK(symbol); \
  void function(void* self) {                      \
    static Next<void(void*)> real{#symbol};        \
    open_triggers.end(self);                       \
    real.get()(self);                              \
  }

PERFIELD_TRIGGER_BEGIN(begin_c1, Text, name, _ZN4Foam16profilingTriggerC1EPKc)
PERFIELD_TRIGGER_BEGIN(begin_c2, Text, name, _ZN4Foam16profilingTriggerC2EPKc)
PERFIELD_TRIGGER_BEGIN(begin_string_c1, const Text*, *name,
                       _ZN4Foam16profilingTriggerC1ERKNS_6stringE)
PERFIELD_TRIGGER_BEGIN(begin_string_c2, const Text*, *name,
                       _ZN4Foam16profilingTriggerC2ERKNS_6stringE)
PERFIELD_TRIGGER_END(stop, _ZN4Foam16profilingTrigger4stopEv)
PERFIELD_TRIGGER_END(end_d1, _ZN4Foam16profilingTriggerD1Ev)
PERFIELD_TRIGGER_END(end_d2, _ZN4Foam16profilingTriggerD2Ev)
