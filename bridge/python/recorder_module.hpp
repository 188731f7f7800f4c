// SPDX-License-Identifier: BSD-3-Clause
//
// recorder_module.hpp - what the parts of perfield._recorder share. The module runs inside measured
// programs, so it uses the plain CPython API, no exceptions, no NumPy, and the one libperfield.so
// of the process.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

#include "perfield.h"

// Declared in source.h. Weak like perfield.h, because perfield-exec may have preloaded the
// libperfield.so of another installation.
extern "C" int perfield_source_is_started() __attribute__((weak));
extern "C" void perfield_source_present(const char* name) __attribute__((weak));
extern "C" void perfield_source_function_passed(const char* name) __attribute__((weak));
extern "C" void perfield_warn_once_per_node(const char* topic, const char* sentence)
    __attribute__((weak));

namespace perfield::python {

// The number of regions that this thread entered from Python since perfield woke. Earlier entries
// were not recorded; counting distinguishes their ends from ends without a beginning.
extern thread_local int32_t open_regions __attribute__((tls_model("initial-exec")));

inline void enter(perfield_region region, int block) noexcept {
  if (!perfield_source_is_started || !perfield_source_is_started()) return;
  ++open_regions;
  perfield_region_begin_on(region, block);  // negative: no block
}

inline void leave(perfield_region region) noexcept {
  if (open_regions <= 0) return;
  --open_regions;
  perfield_region_end(region);
}

// Releases the arrays of all fields. perfield must have forgotten them before.
void forget_fields();

// Adds the types and functions of each part to the module; false with a Python exception set.
bool add_regions(PyObject* module);    // recorder_regions.cpp
bool add_functions(PyObject* module);  // recorder_functions.cpp
bool add_mesh(PyObject* module);       // recorder_mesh.cpp

}  // namespace perfield::python
