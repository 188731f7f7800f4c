// SPDX-License-Identifier: BSD-3-Clause
//
// interpreter.cpp - see interpreter.hpp. It leaves the program's signal handlers, locale and output
// buffering unchanged.
#include <Python.h>
// Python.h comes first

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>

#include "catalyst/interpreter.hpp"

namespace perfield::catalyst {
namespace {

const std::string kVersion =
    std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION);

// The folder of this library: .../site-packages/perfield/lib in a Python installation.
std::string own_folder() {
  Dl_info info{};
  char path[PATH_MAX];
  if (!dladdr(reinterpret_cast<void*>(&start_python), &info) || !realpath(info.dli_fname, path))
    return "";
  return std::string(path).substr(0, std::string(path).rfind('/'));
}

// Makes Python's symbols global: extension modules look for them there, but dlopen loaded our
// library and its libpython locally.
void show_python_to_modules() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&Py_IsInitialized), &info))
    dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

// Finds the Python with the packages; returns what is wrong with it, or "".
std::string find_executable(const std::string& wanted, std::string* executable) {
  *executable = wanted.empty() ? own_folder() + "/../../../../../bin/python3" : wanted;
  if (access(executable->c_str(), X_OK) != 0) {
    if (!wanted.empty())
      return "catalyst_python = " + wanted + " cannot be started; name the Python " + kVersion +
             " that has perfield, numpy, mpi4py and paraview";
    executable->clear();  // not installed in a Python: use the system's
    return "";
  }
  char path[PATH_MAX];
  const std::string whole = realpath(executable->c_str(), path) ? path : *executable;
  const std::string name = whole.substr(whole.rfind('/') + 1);
  const bool other = name.compare(0, 6, "python") == 0 && name.find('.') != std::string::npos &&
                     name.compare(6, std::string::npos, kVersion) != 0;
  if (other)
    return *executable + " is " + name +
           ", but perfield's library for pictures inside the program was built for Python " +
           kVersion + "; set catalyst_python to such a Python, or install perfield there";
  return "";
}

std::string words_of(const PyStatus& status) {
  return std::string("Python ") + kVersion + " does not start (" +
         (status.err_msg ? status.err_msg : "it gave no reason") + ")";
}

std::string initialize(const std::string& executable) {
  PyPreConfig before;
  PyPreConfig_InitPythonConfig(&before);
  before.parse_argv = before.configure_locale = before.coerce_c_locale = 0;
  before.utf8_mode = 1;
  PyStatus status = Py_PreInitialize(&before);
  if (PyStatus_Exception(status)) return words_of(status);
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = config.parse_argv = config.configure_c_stdio = 0;
  if (!executable.empty())
    status = PyConfig_SetBytesString(&config, &config.executable, executable.c_str());
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  return PyStatus_Exception(status) ? words_of(status) : "";
}

// Appends to the end of Python's path, so that another perfield found earlier stays first.
void add_own_packages() {
  PyObject* path = PySys_GetObject("path");
  const std::string folder = own_folder() + "/../..";
  char whole[PATH_MAX];
  PyObject* text = PyUnicode_FromString(realpath(folder.c_str(), whole) ? whole : folder.c_str());
  if (path && text && PySequence_Contains(path, text) == 0) PyList_Append(path, text);
  Py_XDECREF(text);
  PyErr_Clear();
}

}  // namespace

std::string start_python(const std::string& executable, bool* started) {
  // Looked up by name: if another Python runs the program, its symbols come before ours.
  auto* const version = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "Py_GetVersion"));
  if (version && strncmp(version(), (kVersion + ".").c_str(), kVersion.size() + 1) != 0)
    return "the program runs in Python " + std::string(version()).substr(0, 6) +
           ", but perfield's library for pictures inside the program was built for Python " +
           kVersion + "; install perfield for the Python that runs the program";
  show_python_to_modules();
  *started = !Py_IsInitialized();
  if (*started) {
    std::string program;
    std::string wrong = find_executable(executable, &program);
    if (wrong.empty()) wrong = initialize(program);
    if (!wrong.empty()) return wrong;
  }
  PyGILState_STATE state = *started ? PyGILState_LOCKED : PyGILState_Ensure();
  add_own_packages();
  if (*started)
    PyEval_SaveThread();  // each thread that comes takes the lock itself
  else
    PyGILState_Release(state);
  return "";
}

bool python_runs() noexcept {
#if PY_VERSION_HEX >= 0x030d0000  // public since 3.13, under another name before
  return Py_IsInitialized() && !Py_IsFinalizing();
#else
  return Py_IsInitialized() && !_Py_IsFinalizing();
#endif
}

}  // namespace perfield::catalyst
