// SPDX-License-Identifier: BSD-3-Clause
//
// python_stack.cpp - a library for a Python's ctypes, which calls it without the interpreter's
// lock.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

// The interpreter claims to be another version.
static void* dlsym_or_version(void* handle, const char* name) {
  static const char* const said = getenv("VERSION");
  const char* (*const version)() = []() noexcept { return said; };
  if (said && !strcmp(name, "Py_GetVersion")) return reinterpret_cast<void*>(version);
  return dlsym(handle, name);
}
#define dlsym dlsym_or_version
#include <cinttypes>
#include <cstdio>

#include "platform/python_stack.cpp"

// Writes "hash of the chain\n", then "function line file\n" for each frame of the script.
extern "C" void stack(char* out, size_t size) {
  static perfield::PythonStack python;
  static const bool found = (python.find(), true);
  (void)found;
  int n = snprintf(out, size, "%016" PRIx64 "\n", python.chain());
  for (const char* f = python.innermost(); f; f = python.caller(f)) {
    perfield::PythonLine line;
    if (!python.read(f, &line)) continue;
    n += snprintf(out + n, size - size_t(n), "%s %d %s\n", line.function, line.line, line.file);
  }
}
