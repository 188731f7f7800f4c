// SPDX-License-Identifier: BSD-3-Clause
//
// scopes.cpp - regions for what a solver spends its time in, beside the regions that OpenFOAM marks
// itself: assembly, linear solvers, changes of the mesh, models. Each function of scopes.def is
// replaced by one that enters a region and calls the real one. That also holds for virtual
// functions, because tables of virtual functions are bound by name.
#include "sources/openfoam/scopes.hpp"

#include <cstdint>

#define PERFIELD_BUILDING_LIBRARY  // calls libperfield.so itself, which this library needs
#include "include/perfield.h"
#include "sources/next.hpp"

namespace {

using perfield::Next;

// Of each scope: its region, defined at the first call, and the real function.
template <class Function>
struct Scope {
  const char* name;
  Next<Function> real;
  std::atomic<perfield_region> region{0};

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

// --- how the functions are called ---------------------------------------------------------------
// Most of them take `this` and at most four references or small numbers, which are passed like
// pointers. Passing on more of them than a function has is harmless. An object is returned in
// memory that the caller provides; a class with a destructor, whatever its size, has the compiler
// pass that on.
namespace perfield::openfoam {

using Word = const void*;
struct Object {
  Object(const Object&) = delete;
  ~Object();
};

using ReturnsWord = Word(Word, Word, Word, Word, Word);
using TakesWords = Word(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);
using ReturnsObject = Object(Word, Word, Word, Word, Word);
using ReturnsNumber = double(Word, Word, double);  // its number is passed like no pointer

#define PERFIELD_REPLACES(Returned, Function, function, region, symbol)               \
  Returned function(Word self, Word a, Word b, Word c, Word d) PERFIELD_HOOK(symbol); \
  Returned function(Word self, Word a, Word b, Word c, Word d) {                      \
    static Scope<Function> scope{region, {#symbol}};                                  \
    const Inside inside(scope.get_region());                                          \
    return scope.real.get()(self, a, b, c, d);                                        \
  }
#define PERFIELD_REPLACES_WORD(function, region, symbol) \
  PERFIELD_REPLACES(Word, ReturnsWord, function, region, symbol)
#define PERFIELD_REPLACES_OBJECT(function, region, symbol) \
  PERFIELD_REPLACES(Object, ReturnsObject, function, region, symbol)
#define PERFIELD_REPLACES_WORDS(function, region, symbol)                                         \
  Word function(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j)   \
      PERFIELD_HOOK(symbol);                                                                      \
  Word function(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j) { \
    static Scope<TakesWords> scope{region, {#symbol}};                                            \
    const Inside inside(scope.get_region());                                                      \
    return scope.real.get()(a, b, c, d, e, f, g, h, i, j);                                        \
  }
#define PERFIELD_REPLACES_NUMBER(function, region, symbol)            \
  double function(Word self, Word a, double b) PERFIELD_HOOK(symbol); \
  double function(Word self, Word a, double b) {                      \
    static Scope<ReturnsNumber> scope{region, {#symbol}};             \
    const Inside inside(scope.get_region());                          \
    return scope.real.get()(self, a, b);                              \
  }
#define PERFIELD_NAME_2(line) replacement_##line
#define PERFIELD_NAME(line) PERFIELD_NAME_2(line)
#define PERFIELD_SCOPE(returns, region, symbol) \
  PERFIELD_REPLACES_##returns(PERFIELD_NAME(__COUNTER__), region, symbol)

#include "sources/openfoam/scopes.def"

}  // namespace perfield::openfoam
