// SPDX-License-Identifier: BSD-3-Clause
//
// vtk.cpp - see vtk.hpp. Functions are called by name, which passes over what a subclass overrides;
// only functions are used that no subclass of what is passed here overrides, or that call virtual
// functions themselves.
#include "sources/adaptors/vtk.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "recorder/source.h"
#include "sources/next.hpp"

namespace perfield::adaptors {

const Vtk* Vtk::of(void* near) noexcept {
  static Vtk vtk;
  static int state = 0;  // 1: usable, 2: not
  if (!state) {
    state = vtk.find_all(near) && vtk.works() ? 1 : 2;
    if (state == 2)
      perfield_warn_once_per_node(
          "adaptor-vtk",
          "perfield does not know this VTK, so the program's Catalyst pipelines "
          "get none of its fields; everything else is measured");
  }
  return state == 1 ? &vtk : nullptr;
}

bool Vtk::find_all(void* near) noexcept {
  void* const library = library_of(near);
  if (!library) return false;
  bool all = true;
  const auto find = [&](auto* to, const char* symbol) {
    void* const found = dlsym(library, symbol);
    memcpy(to, &found, sizeof found);
    all = all && found;
  };
  find(&cast_, "__dynamic_cast");
  find(&type_object_, "_ZTI13vtkDataObject");
  find(&type_set_, "_ZTI10vtkDataSet");
  find(&type_tree_, "_ZTI17vtkDataObjectTree");
  find(&type_composite_, "_ZTI19vtkCompositeDataSet");
  find(&number_of_children_, "_ZN17vtkDataObjectTree19GetNumberOfChildrenEv");
  find(&child_, "_ZN17vtkDataObjectTree8GetChildEj");
  find(&elements_, "_ZN10vtkDataSet19GetNumberOfElementsEi");
  find(&attributes_, "_ZN10vtkDataSet24GetAttributesAsFieldDataEi");
  find(&array_, "_ZN12vtkFieldData16GetAbstractArrayEPKcRi");
  find(&add_, "_ZN12vtkFieldData8AddArrayEP16vtkAbstractArray");
  find(&remove_, "_ZN12vtkFieldData11RemoveArrayEPKc");
  find(&new_data_, "_ZN12vtkFieldData3NewEv");
  find(&new_array_, "_ZN14vtkDoubleArray3NewEv");
  find(&set_array_, "_ZN23vtkAOSDataArrayTemplateIdE8SetArrayEPdxii");
  find(&set_free_, "_ZN23vtkAOSDataArrayTemplateIdE20SetArrayFreeFunctionEPFvPvE");
  find(&register_, "_ZN13vtkObjectBase8RegisterEPS_");
  find(&unregister_, "_ZN13vtkObjectBase10UnRegisterEPS_");
  all = all && find_naming(library);
  const bool found = all;
  find(&cell_ghosts_, "_ZN10vtkDataSet17GetCellGhostArrayEv");
  find(&point_ghosts_, "_ZN10vtkDataSet18GetPointGhostArrayEv");
  find(&bytes_, "_ZN23vtkAOSDataArrayTemplateIhE14GetVoidPointerEx");
  dlclose(library);
  return found;
}

// vtkAbstractArray::SetName is inline and mostly hidden. Since VTK 6 it is two places behind
// ExportToVoidPointer in the table of virtual functions, between two that the class does not
// implement.
bool Vtk::find_naming(void* library) noexcept {
  void* const direct = dlsym(library, "_ZN16vtkAbstractArray7SetNameEPKc");
  memcpy(&set_name_, &direct, sizeof direct);
  if (set_name_) return true;
  void* const before = dlsym(library, "_ZN16vtkAbstractArray19ExportToVoidPointerEPv");
  auto* const symbol = static_cast<void**>(dlsym(library, "_ZTV16vtkAbstractArray"));
  Dl_info place;
  const ElfW(Sym)* entry = nullptr;
  if (!before || !symbol ||
      !dladdr1(symbol, &place, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&entry)),
               RTLD_DL_SYMENT) ||
      !entry)
    return false;
  void** const table = symbol + 2;  // behind the offset and the type
  const auto n = static_cast<int>(entry->st_size / sizeof(void*)) - 2;
  for (int at = 0; at + 5 < n; ++at) {
    if (table[at] != before) continue;
    void* const missing = table[at + 1];  // GetActualMemorySize
    const bool fits = missing == table[at + 5] /* IsNumeric */ && table[at + 2] != missing &&
                      table[at + 3] != missing && table[at + 4] != missing &&
                      table[at + 2] != table[at + 3];
    place_of_set_name_ = at + 2;
    return fits;
  }
  return false;
}

// Names an array of its own and asks VTK for it by that name.
bool Vtk::works() const noexcept {
  static double number = 1;
  VtkFieldData* const data = new_data_();
  VtkArray* const array = data ? make("perfield", &number, 1, [](void*) {}) : nullptr;
  if (!array) return false;
  add_(data, array);
  const bool found = has(data, "perfield");
  remove_(data, "perfield");
  const bool removed = !has(data, "perfield");
  release(array);
  release(data);
  return found && removed;
}

VtkArray* Vtk::make(const char* name, double* numbers, int64_t n,
                    void (*free)(void*)) const noexcept {
  VtkArray* const array = new_array_();
  if (!array) return nullptr;
  set_array_(array, numbers, n, 0, 0);
  set_free_(array, free);
  if (set_name_) {
    set_name_(array, name);
  } else {
    void** const table = *reinterpret_cast<void***>(array);
    reinterpret_cast<void (*)(VtkArray*, const char*)>(table[place_of_set_name_])(array, name);
  }
  return array;
}

VtkDataSet* Vtk::data_set(VtkDataObject* object) const noexcept {
  return static_cast<VtkDataSet*>(cast_(object, type_object_, type_set_, 0));
}

void* Vtk::as_tree(VtkDataObject* object) const noexcept {
  return cast_(object, type_object_, type_tree_, 0);
}

bool Vtk::is_composite(VtkDataObject* object) const noexcept {
  return cast_(object, type_object_, type_composite_, 0) != nullptr;
}

int64_t Vtk::tuples(VtkDataSet* grid, Association where) const noexcept {
  return where == field ? 1 : elements_(grid, where);
}

int64_t Vtk::ghosts(VtkDataSet* grid, Association where) const noexcept {
  constexpr unsigned char kDuplicate = 1;
  auto* const find = where == cells ? cell_ghosts_ : point_ghosts_;
  if (!find) return -1;
  VtkArray* const marks = find(grid);
  if (!marks) return 0;
  const auto* bytes = bytes_ ? static_cast<const unsigned char*>(bytes_(marks, 0)) : nullptr;
  int64_t n = 0, all = bytes ? tuples(grid, where) : 0;
  for (int64_t i = 0; i < all; ++i) n += bytes[i] & kDuplicate;
  return bytes ? n : -1;
}

}  // namespace perfield::adaptors
