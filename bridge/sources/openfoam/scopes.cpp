// SPDX-License-Identifier: BSD-3-Clause
//
// scopes.cpp - regions for what a solver spends its time in, beside the regions that OpenFOAM marks
// itself: assembly, linear solvers, changes of the mesh, models. Each function of scopes.def is
// replaced (interpose.hpp) by one that enters a region and calls the real one.
#include "sources/openfoam/scopes.hpp"

#include <atomic>
#include <cstddef>
#include <utility>

#define PERFIELD_BUILDING_LIBRARY  // calls libperfield.so itself, which this library needs
#include "include/perfield.h"
#include "recorder/source.h"
#include "sources/openfoam/interpose.hpp"

namespace {

// A function that is measured: its region, defined at the first call, and the real function.
struct Scope {
  const char* name;
  std::atomic<void*> real;
  std::atomic<perfield_region> region;

  perfield_region get_region() noexcept {
    perfield_region known = region.load(std::memory_order_relaxed);
    if (!known) {
      known = perfield_region_define(name, nullptr, 0);
      region.store(known, std::memory_order_relaxed);
    }
    return known;
  }
};

// The scopes that this thread is in. An exception leaves some of them open: they end with the next
// one around them, or with the step.
struct OpenScopes {
  static constexpr int kDeepest = 64;

  perfield_region stack[kDeepest];
  int depth;

  // A scope that calls another one of the same region (a scheme that limits what its base computes)
  // counts once.
  bool wants(perfield_region region) const noexcept {
    return depth < kDeepest && (!depth || stack[depth - 1] != region);
  }
  void begin(perfield_region region) noexcept {
    stack[depth++] = region;
    perfield_region_begin(region);
  }
  void end_down_to(int outer) noexcept {
    while (depth > outer) perfield_region_end(stack[--depth]);
  }
};

thread_local OpenScopes open_scopes;

class Inside {
 public:
  explicit Inside(perfield_region region) noexcept
      : open_(&open_scopes), outer_(open_->depth), begun_(open_->wants(region)) {
    if (begun_) open_->begin(region);
  }
  ~Inside() {
    if (begun_) open_->end_down_to(outer_);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  OpenScopes* const open_;
  const int outer_;
  const bool begun_;
};

}  // namespace

void perfield::openfoam::end_scopes() noexcept { open_scopes.end_down_to(0); }

// --- the replacements ---------------------------------------------------------------------------
// A function takes `this`, references and numbers. All arguments that are passed in registers go
// on, and ten words of the stack (eight on 64-bit ARM), so that scope_names.cpp leaves out what
// takes more; passing on more than a function has is harmless. What it returns goes back: an object
// lies in memory that the caller provides, whose address is passed like another word (x86-64), or
// in a register of its own, so that the replacement must know that it returns one (64-bit ARM).
namespace perfield::openfoam {

namespace {

using Word = const void*;

#if defined(__x86_64__)
struct Registers {  // all that a function may return: rax and xmm0
  Word word;
  double number;
};
using WordReturned = Registers;
using ObjectReturned = Registers;
using NumberReturned = Registers;
#else
struct ObjectReturned {
  ObjectReturned(const ObjectReturned&) = delete;
  ~ObjectReturned();
};
using WordReturned = Word;
using NumberReturned = double;
#endif

template <class Returned>
using Function = Returned(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word,
                          Word, Word, Word, Word, double, double, double, double, double, double,
                          double, double);

constexpr int kMost = 2048;
Scope scopes[kMost];
int n_scopes = 0;

template <class Returned, size_t kScope>
Returned replacement(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j,
                     Word k, Word l, Word m, Word n, Word o, Word p, double s, double t, double u,
                     double v, double w, double x, double y, double z) {
  Scope& scope = scopes[kScope];
  const Inside inside(scope.get_region());
  return reinterpret_cast<Function<Returned>*>(scope.real.load(std::memory_order_relaxed))(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, s, t, u, v, w, x, y, z);
}

template <class Returned, size_t... kScopes>
void* replacement_of(int scope, std::index_sequence<kScopes...>) noexcept {
  static constexpr Function<Returned>* kAll[] = {replacement<Returned, kScopes>...};
  return reinterpret_cast<void*>(kAll[scope]);
}

}  // namespace

Replacement make_replacement(char* region, Returns returns) noexcept {
  if (n_scopes == kMost) {
    perfield_warn_once_per_node(
        "openfoam scopes",
        "perfield measures 2048 functions of OpenFOAM as regions; this program "
        "uses more, and the rest is not measured");
    return {};
  }
  const int i = n_scopes++;
  scopes[i].name = region;
  constexpr std::make_index_sequence<kMost> all;
  void* const function = returns == Returns::OBJECT   ? replacement_of<ObjectReturned>(i, all)
                         : returns == Returns::NUMBER ? replacement_of<NumberReturned>(i, all)
                                                      : replacement_of<WordReturned>(i, all);
  return {function, &scopes[i].real};
}

}  // namespace perfield::openfoam
