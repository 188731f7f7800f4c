// SPDX-License-Identifier: BSD-3-Clause
//
// legacy.cpp - the Catalyst of ParaView 5 before Catalyst 2: an adaptor of the program gives VTK
// grids to vtkCPProcessor::CoProcess. The hook adds perfield's arrays to these grids, calls the
// real function, and takes them away again, since adaptors keep grids over steps and count their
// arrays. Tables of virtual functions are bound by name, so the hooks see calls from C, C++,
// Fortran and Python.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define PERFIELD_BUILDING_LIBRARY  // calls libperfield.so itself, which this library needs
#include "include/perfield.h"
#include "include/perfield_constant.hpp"
#include "recorder/source.h"
#include "sources/adaptors/call.hpp"
#include "sources/adaptors/vtk.hpp"
#include "sources/adaptors/wanted.hpp"
#include "sources/next.hpp"
#include "sources/rows.hpp"

namespace perfield::adaptors {

struct Processor;    // vtkCPProcessor
struct Description;  // vtkCPDataDescription
struct Input;        // vtkCPInputDataDescription

namespace {

constexpr const char* kSource = "catalyst";

// --- the time and the grids of a description ----------------------------------------------------
struct {
  const Description* of;
  double time;
  long long step;
} newest_time;

void show_step(Call* call, const Description* description) noexcept {
  if (newest_time.of == description) call->step(newest_time.step, newest_time.time);
}

// Nobody outside ParaView can ask an input for its grid: that function is inline. Where the pointer
// lies in the object is seen once, when the adaptor sets it: there the object changes.
struct PlaceOfGrid {
  // An input has 13 words at the least: those of vtkObject, its own pointers, and six of int.
  static constexpr size_t kLeast = 13, kWords = 32, kPage = 4096;

  size_t place;  // in words; 0: not seen yet, as the first word is the object's table of functions
  uintptr_t before[kWords];
  size_t n_before;

  // Other objects may follow an input; behind its page there may be nothing.
  void look(const Input* input) noexcept {
    if (place) return;
    const auto* words = reinterpret_cast<const volatile uintptr_t*>(input);
    const size_t in_page = (kPage - reinterpret_cast<uintptr_t>(input) % kPage) / sizeof *words;
    n_before = std::clamp(in_page, kLeast, kWords);
    for (size_t i = 0; i < n_before; ++i) before[i] = words[i];
  }

  void find(const Input* input, const VtkDataObject* grid) noexcept {
    if (place || !grid) return;
    const auto* words = reinterpret_cast<const volatile uintptr_t*>(input);
    const auto wanted_word = reinterpret_cast<uintptr_t>(grid);
    size_t n_found = 0, at = 0;
    for (size_t i = 1; i < n_before; ++i)
      if (words[i] == wanted_word && before[i] != wanted_word) at = i, ++n_found;
    if (n_found == 1) place = at;
  }
};

PlaceOfGrid place_of_grid;

VtkDataObject* grid_of(Input* input) noexcept {
  if (!place_of_grid.place || !input) return nullptr;
  return reinterpret_cast<VtkDataObject**>(input)[place_of_grid.place];
}

// A pipeline may ask for arrays by name.
void see_fields(Input* input) noexcept {
  static Next<unsigned(Input*)> count{"_ZN25vtkCPInputDataDescription17GetNumberOfFieldsEv"};
  static Next<const char*(Input*, unsigned)> name{"_ZN25vtkCPInputDataDescription12GetFieldNameEj"};
  const unsigned n = input && count.get() && name.get() ? count.get()(input) : 0;
  for (unsigned i = 0; i < n; ++i)
    if (const char* wanted_name = name.get()(input, i))
      wanted().words().add(wanted_name, strlen(wanted_name));
}

// --- arrays for the time of one call ------------------------------------------------------------
constexpr size_t kMostArrays = 50000;  // some 50 ms
constexpr int64_t kFew = 4096;         // values; up to so many, an array gets memory of its own

struct Added {
  VtkFieldData* data;
  const char* name;
};

struct Grids {
  Rows<VtkDataSet*> sets;
  Rows<perfield_value> values;
  Rows<Added> added;
  bool replaces = false;

  void collect(const Vtk& vtk, Description* description) noexcept;
  void set_size(const Vtk& vtk) noexcept;
  void attach(const Vtk& vtk) noexcept;
  void detach(const Vtk& vtk) noexcept;

 private:
  void attach(const Vtk& vtk, const perfield_value& value, Vtk::Association where,
              int64_t most) noexcept;
};

Forever<Grids> grids;

void Grids::collect(const Vtk& vtk, Description* description) noexcept {
  static Next<unsigned(Description*)> count{
      "_ZN20vtkCPDataDescription28GetNumberOfInputDescriptionsEv"};
  static Next<Input*(Description*, unsigned)> input{
      "_ZN20vtkCPDataDescription19GetInputDescriptionEj"};
  sets.clear();
  if (!count.get() || !input.get()) return;
  bool all = true;
  const unsigned n = count.get()(description);
  for (unsigned i = 0; i < n; ++i) {
    Input* const one = input.get()(description, i);
    see_fields(one);
    VtkDataObject* const object = grid_of(one);
    all = vtk.each_grid(object, [this](VtkDataSet* grid) { sets.push(grid); }) && all;
  }
  if (!all)
    perfield_warn_once_per_node(
        "adaptor-composite",
        "the program gives Catalyst a kind of composite grid that perfield does "
        "not know (as AMR); its fields are not added there");
}

void Grids::set_size(const Vtk& vtk) noexcept {
  constexpr size_t kMostGrids = 4096;  // perfield keeps the sizes of so many
  if (sets.size() > kMostGrids) return;
  for (VtkDataSet* grid : sets) {
    const int64_t ghost_cells = vtk.ghosts(grid, Vtk::cells);
    const int64_t ghost_points = vtk.ghosts(grid, Vtk::points);
    if (ghost_cells < 0 || ghost_points < 0) return;
    perfield_mesh_size(grid, vtk.tuples(grid, Vtk::cells) - ghost_cells,
                       vtk.tuples(grid, Vtk::points) - ghost_points, ghost_cells);
  }
}

void Grids::attach(const Vtk& vtk) noexcept {
  wanted().read(&values);
  const Where chosen = wanted().where();
  const Vtk::Association where = chosen == Where::points  ? Vtk::points
                                 : chosen == Where::cells ? Vtk::cells
                                                          : Vtk::field;
  int64_t most = 0;
  for (VtkDataSet* grid : sets) {
    const int64_t n = vtk.tuples(grid, where);
    if (n > most) most = n;
  }
  for (const perfield_value& value : values) {
    if (added.size() + sets.size() > kMostArrays) {
      perfield_warn_once_per_node(
          "adaptor-arrays",
          "the program gives Catalyst so many grids that adding all fields would "
          "take long; some fields are left out (name fewer)");
      break;
    }
    attach(vtk, value, where, most);
  }
}

// Some pages hold a long array for all grids; perfield_constant.hpp repeats them.
void Grids::attach(const Vtk& vtk, const perfield_value& value, Vtk::Association where,
                   int64_t most) noexcept {
  double* const shared = most > kFew ? constant_numbers(value.value, size_t(most)) : nullptr;
  for (VtkDataSet* grid : sets) {
    VtkFieldData* const data = vtk.arrays(grid, where);
    if (!data) continue;
    if (vtk.has(data, value.name)) {
      if (!replaces) continue;  // the program's own
      vtk.remove(data, value.name);
    }
    const int64_t n = vtk.tuples(grid, where);
    double* numbers = shared;
    if (!shared) {
      numbers = static_cast<double*>(malloc(size_t(n ? n : 1) * sizeof *numbers));
      if (!numbers) continue;
      for (int64_t i = 0; i < n; ++i) numbers[i] = value.value;
    }
    VtkArray* const array = vtk.make(value.name, numbers, n, shared ? &release_constant : &free);
    if (!array) {
      if (!shared) free(numbers);
      continue;
    }
    if (shared) share_constant(numbers);
    if (added.push({data, value.name})) {
      vtk.add(data, array);
      vtk.keep(data);  // a pipeline may be the last to need the grid
    }
    vtk.release(array);
  }
  if (shared) release_constant(shared);
}

void Grids::detach(const Vtk& vtk) noexcept {
  for (const Added& one : added) {
    vtk.remove(one.data, one.name);
    vtk.release(one.data);
  }
  added.clear();
}

Next<int(Processor*, Description*)> real_co_process{
    "_ZN14vtkCPProcessor9CoProcessEP20vtkCPDataDescription"};

void attach_to(Description* description, bool replaces) noexcept {
  const Excluded excluded;
  const Vtk* const vtk = Vtk::of(reinterpret_cast<void*>(real_co_process.get()));
  if (!vtk) return;
  grids.it.replaces = grids.it.replaces || replaces;
  grids.it.added.clear();  // of a call that never returned
  grids.it.collect(*vtk, description);
  grids.it.set_size(*vtk);
  grids.it.attach(*vtk);
}

void detach() noexcept {
  if (!grids.it.added.size()) return;
  const Excluded excluded;
  grids.it.detach(*Vtk::of(nullptr));
}

}  // namespace

// --- what the program calls instead of ParaView -------------------------------------------------
int co_process(Processor* self, Description* description)
    PERFIELD_HOOK(_ZN14vtkCPProcessor9CoProcessEP20vtkCPDataDescription);
int co_process(Processor* self, Description* description) {
  auto* const real = real_co_process.get();
  if (!real) return 0;
  Call call(kSource, __builtin_frame_address(0), true);
  if (!call.counts() || !description) return real(self, description);
  show_step(&call, description);
  if (!wanted().is_off()) attach_to(description, call.follows_a_left_one());
  call.begin();
  const int good = real(self, description);
  if (!good)
    perfield_warn_once_per_node(
        "adaptor-failed",
        "a Catalyst pipeline of the program failed (CoProcess returned 0); the "
        "program continues");
  detach();
  return good;
}

int request_data_description(Processor* self, Description* description)
    PERFIELD_HOOK(_ZN14vtkCPProcessor22RequestDataDescriptionEP20vtkCPDataDescription);
int request_data_description(Processor* self, Description* description) {
  static Next<int(Processor*, Description*)> real{
      "_ZN14vtkCPProcessor22RequestDataDescriptionEP20vtkCPDataDescription"};
  if (!real.get()) return 0;
  Call call(kSource, __builtin_frame_address(0));
  if (call.counts()) {
    show_step(&call, description);
    call.begin();
  }
  return real.get()(self, description);
}

// ParaView starts and ends in these.
int initialize(Processor* self, const char* folder)
    PERFIELD_HOOK(_ZN14vtkCPProcessor10InitializeEPKc);
int initialize(Processor* self, const char* folder) {
  static Next<int(Processor*, const char*)> real{"_ZN14vtkCPProcessor10InitializeEPKc"};
  if (!real.get()) return 0;
  Call call(kSource, __builtin_frame_address(0));
  if (call.counts()) call.begin();
  return real.get()(self, folder);
}

int finalize(Processor* self) PERFIELD_HOOK(_ZN14vtkCPProcessor8FinalizeEv);
int finalize(Processor* self) {
  static Next<int(Processor*)> real{"_ZN14vtkCPProcessor8FinalizeEv"};
  if (!real.get()) return 0;
  Call call(kSource, __builtin_frame_address(0));
  if (call.counts()) call.begin();
  return real.get()(self);
}

void set_time(Description* self, double time, long long step)
    PERFIELD_HOOK(_ZN20vtkCPDataDescription11SetTimeDataEdx);
void set_time(Description* self, double time, long long step) {
  static Next<void(Description*, double, long long)> real{
      "_ZN20vtkCPDataDescription11SetTimeDataEdx"};
  newest_time = {self, time, step};
  if (real.get()) real.get()(self, time, step);
}

void set_grid(Input* self, VtkDataObject* grid)
    PERFIELD_HOOK(_ZN25vtkCPInputDataDescription7SetGridEP13vtkDataObject);
void set_grid(Input* self, VtkDataObject* grid) {
  static Next<void(Input*, VtkDataObject*)> real{
      "_ZN25vtkCPInputDataDescription7SetGridEP13vtkDataObject"};
  if (!real.get()) return;
  place_of_grid.look(self);
  real.get()(self, grid);
  place_of_grid.find(self, grid);
}

// Scripts: what they name is added.
#define PERFIELD_SCRIPT(function, symbol, is_file)                    \
  int function(void* self, const char* script) PERFIELD_HOOK(symbol); \
  int function(void* self, const char* script) {                      \
    static Next<int(void*, const char*)> real{#symbol};               \
    if (!real.get()) return 0;                                        \
    see_script(script, is_file);                                      \
    return real.get()(self, script);                                  \
  }

namespace {

void see_script(const char* script, bool is_file) noexcept {
  if (!script || perfield_own_work()) return;
  if (is_file)
    wanted().add_file(script);
  else
    wanted().words().add_text(script, strlen(script), true);
}

}  // namespace

PERFIELD_SCRIPT(script_1, _ZN25vtkCPPythonScriptPipeline10InitializeEPKc, true)
PERFIELD_SCRIPT(script_2, _ZN27vtkCPPythonScriptV2Pipeline10InitializeEPKc, true)
PERFIELD_SCRIPT(script_text, _ZN25vtkCPPythonStringPipeline10InitializeEPKc, false)

}  // namespace perfield::adaptors
