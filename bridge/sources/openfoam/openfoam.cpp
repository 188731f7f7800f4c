// SPDX-License-Identifier: BSD-3-Clause
//
// openfoam.cpp - time steps and regions of an unmodified OpenFOAM solver. This library is
// preloaded. It replaces a few functions of libOpenFOAM.so, informs the recorder and calls the real
// function (next.hpp). meshes.cpp and scopes.cpp hold more such functions.
#include <dlfcn.h>

#include <cmath>
#include <cstdlib>

#define PERFIELD_BUILDING_LIBRARY  // calls libperfield.so itself, which this library needs
#include "include/perfield.h"
#include "recorder/source.h"
#include "sources/next.hpp"
#include "sources/openfoam/interpose.hpp"
#include "sources/openfoam/scopes.hpp"

namespace {

using perfield::Next;

constexpr const char* kSource = "openfoam";

// --- time steps ---------------------------------------------------------------------------------
// The name of the current time, as the solver prints it. A Foam::Time is a Foam::TimeState, which
// is a Foam::dimensionedScalar, which begins with its name; versions differ in the functions that
// return it. Where a base lies in an object is in the description of a class that C++ keeps for
// itself (Itanium C++ ABI, 2.9.5).
struct Class {
  const void* kind;  // the table of virtual functions of this description
  const char* name;
  union {
    const Class* only_base;  // of one base, at the beginning
    struct {
      unsigned flags, n_bases;
    } of_several;
  };
  struct {
    const Class* type;
    long offset_and_flags;
  } bases[];

  // Where that base lies, or the first one, of whatever type (nullptr); -1 if nowhere known.
  long offset_of(const Class* base) const noexcept {
    const auto is = [this](const char* symbol) {
      auto* const functions = static_cast<void* const*>(data_of_any(symbol));
      return functions && kind == functions + 2;
    };
    if (is("_ZTVN10__cxxabiv120__si_class_type_infoE")) return !base || only_base == base ? 0 : -1;
    if (!is("_ZTVN10__cxxabiv121__vmi_class_type_infoE")) return -1;
    for (unsigned i = 0; i < of_several.n_bases; ++i)
      if ((!base || bases[i].type == base) && !(bases[i].offset_and_flags & 1))  // virtual
        return bases[i].offset_and_flags >> 8;
    return -1;
  }

  static const Class* find(const char* symbol) noexcept {
    return static_cast<const Class*>(data_of_any(symbol));
  }

 private:
  // The program may hold the data of a library (copy relocations); its own goes first.
  static void* data_of_any(const char* symbol) noexcept {
    void* const found = dlsym(RTLD_DEFAULT, symbol);
    return found ? found : perfield::in_any_library(symbol);
  }
};

// A std::string of libstdc++: short texts lie inside.
struct Text {
  const char* text;
  size_t length;
  char inside[16];

  bool is_sound() const noexcept {
    return length < sizeof inside ? text == inside : length < 64 && text && text != inside;
  }
};

// Where the name lies in a Foam::Time, or -1.
long offset_of_name() noexcept {
  const Class* const time = Class::find("_ZTIN4Foam4TimeE");
  const Class* const state = Class::find("_ZTIN4Foam9TimeStateE");
  if (!time || !state) return -1;
  const long of_state = time->offset_of(state), of_name = state->offset_of(nullptr);
  return of_state < 0 || of_name < 0 ? -1 : of_state + of_name;
}

// NaN if this OpenFOAM is unlike all that is known.
double time_of(const void* time) noexcept {
  static long offset = -2;  // not asked for yet
  if (offset == -2) offset = offset_of_name();
  if (offset < 0) return std::nan("");
  const auto* name = reinterpret_cast<const Text*>(static_cast<const char*>(time) + offset);
  return name->is_sound() ? std::strtod(name->text, nullptr) : std::nan("");
}

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
    perfield::openfoam::interpose();  // in front of libraries that the program has loaded meanwhile
    if (!clock) {
      clock = time;
      perfield_initialize();
    } else if (clock == time && now != last) {  // else: called twice in a step
      perfield_step(++count, now);
    }
    if (clock == time) last = now;
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

__attribute__((constructor)) void announce() {
  perfield_source_present(kSource);
  perfield::openfoam::interpose();
}

// A serial program without steps never starts perfield, which then cannot warn at its own end.
__attribute__((destructor)) void warn_if_never_hit() {
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
  const double now = time_of(time);
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

PERFIELD_TRIGGER_BEGIN(begin_c1, const char*, name, _ZN4Foam16profilingTriggerC1EPKc)
PERFIELD_TRIGGER_BEGIN(begin_c2, const char*, name, _ZN4Foam16profilingTriggerC2EPKc)
// with a Foam::string, to v2212
PERFIELD_TRIGGER_BEGIN(begin_string_c1, const char* const*, *name,
                       _ZN4Foam16profilingTriggerC1ERKNS_6stringE)
PERFIELD_TRIGGER_BEGIN(begin_string_c2, const char* const*, *name,
                       _ZN4Foam16profilingTriggerC2ERKNS_6stringE)
// with a std::string, to v2312; from v2406 on the constructor is compiled into its callers
PERFIELD_TRIGGER_BEGIN(
    begin_std_string_c1, const char* const*, *name,
    _ZN4Foam16profilingTriggerC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE)
PERFIELD_TRIGGER_BEGIN(
    begin_std_string_c2, const char* const*, *name,
    _ZN4Foam16profilingTriggerC2ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE)
PERFIELD_TRIGGER_BEGIN(
    enter, const char* const*, *name,
    _ZN4Foam16profilingTrigger5enterERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE)
PERFIELD_TRIGGER_END(stop, _ZN4Foam16profilingTrigger4stopEv)
PERFIELD_TRIGGER_END(end_d1, _ZN4Foam16profilingTriggerD1Ev)
PERFIELD_TRIGGER_END(end_d2, _ZN4Foam16profilingTriggerD2Ev)

// From v2406 on a trigger asks first whether anyone wants its name.
bool possible() PERFIELD_HOOK(_ZN4Foam16profilingTrigger8possibleEv);
bool possible() { return true; }
