// SPDX-License-Identifier: BSD-3-Clause
//
// library.cpp - finds the program's MPI. Programs that are linked with it have it behind us in the
// search order (RTLD_NEXT); Python and hosts of plug-ins load it out of everyone's sight, so there
// it is looked for among the loaded objects and asked by its own handle.
#include "library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <cstdio>
#include <cstring>

namespace perfield::pmpi {

Library library;
NextFunctions next_functions;
std::atomic<bool> resolved{false};

namespace {

void* mpi_handle = nullptr;

// Remembers the name of the first loaded object that looks like an MPI library.
int note_mpi(dl_phdr_info* object, size_t, void* found) {
  const char* slash = strrchr(object->dlpi_name, '/');
  const char* base = slash ? slash + 1 : object->dlpi_name;
  if (strncmp(base, "libmpi.so", 9) != 0 && strncmp(base, "libmpich", 8) != 0) return 0;
  snprintf(static_cast<char*>(found), 4096, "%s", object->dlpi_name);
  return 1;
}

void open_hidden_mpi() {
  char path[4096] = "";
  // The list is locked while it is walked: the library is opened afterwards.
  if (dl_iterate_phdr(note_mpi, path))
    mpi_handle = dlopen(path, RTLD_NOLOAD | RTLD_NOW | RTLD_GLOBAL);
}

void* find(const char* name) {
  void* address = dlsym(RTLD_NEXT, name);
  if (!address && mpi_handle) address = dlsym(mpi_handle, name);
  return address;
}

template <typename T>
void find(T& place, const char* name) {
  place = reinterpret_cast<T>(find(name));
}

// Objects are looked for from the program on, not behind us: the linker may have given a program
// its own copy of one (a copy relocation), and then that is the one which the MPI uses too.
template <typename T>
void find_object(T& place, const char* name) {
  void* address = dlsym(RTLD_DEFAULT, name);
  place = reinterpret_cast<T>(address ? address : find(name));
}

void resolve_all() {
  if (!dlsym(RTLD_NEXT, "MPI_Init")) open_hidden_mpi();
#define PERFIELD_FIND(name) find(next_functions.name, "MPI_" #name);
  PERFIELD_NEXT_FUNCTIONS(PERFIELD_FIND)
#undef PERFIELD_FIND
#define PERFIELD_FIND(name) find(library.name, "PMPI_" #name);
  PERFIELD_USED_FUNCTIONS(PERFIELD_FIND)
#undef PERFIELD_FIND
  // The objects behind the names of Open MPI's mpi.h.
  find_object(library.comm_world, "ompi_mpi_comm_world");
  find_object(library.byte, "ompi_mpi_byte");
  find_object(library.no_op, "ompi_mpi_op_no_op");
  find_object(library.no_request, "ompi_request_null");
  find_object(library.no_message, "ompi_message_no_proc");
  resolved.store(true, std::memory_order_release);
}

}  // namespace

void resolve() noexcept {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, resolve_all);
}

void name_of_library(char* text, int bytes) noexcept {
  // "Open MPI v4.1.4, package: ..." becomes "Open MPI 4.1.4".
  char version[MPI_MAX_LIBRARY_VERSION_STRING + 8192] = "an MPI without MPI_Get_library_version";
  int length = 0;
  if (library.Get_library_version) library.Get_library_version(version, &length);
  version[strcspn(version, ",\n")] = '\0';
  char* v = strstr(version, " v");
  if (v) memmove(v + 1, v + 2, strlen(v + 2) + 1);
  snprintf(text, bytes, "%s", version);
}

bool fits() noexcept {
  bool all = library.comm_world && library.byte && library.no_op && library.no_request &&
             library.no_message;
#define PERFIELD_CHECK(name) all = all && library.name;
  PERFIELD_USED_FUNCTIONS(PERFIELD_CHECK)
#undef PERFIELD_CHECK
  char name[256];
  name_of_library(name, sizeof name);
  return all && strncmp(name, "Open MPI", 8) == 0;
}

}  // namespace perfield::pmpi
