// SPDX-License-Identifier: BSD-3-Clause
//
// library.cpp - finds the program's MPI. In programs linked with MPI it comes after us in the
// search order (RTLD_NEXT). Python and hosts of plug-ins load MPI locally, so there we search the
// loaded objects and use the MPI's own handle.
#include "library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "recorder/source.h"

namespace perfield::pmpi {

Library library;
NextFunctions next_functions;
std::atomic<bool> resolved{false};

namespace {

void* mpi_handle = nullptr;
void* (*behind_others)(const char*) = nullptr;  // set to skip the other MPI's wrappers

struct Candidate {
  int to_skip;
  char path[4096];
};

// Stores the name of the next loaded object that may be an MPI library.
int note_candidate(dl_phdr_info* object, size_t, void* found) {
  auto* candidate = static_cast<Candidate*>(found);
  const char* slash = strrchr(object->dlpi_name, '/');
  if (strncmp(slash ? slash + 1 : object->dlpi_name, "libmpi", 6) != 0) return 0;
  if (candidate->to_skip-- > 0) return 0;
  snprintf(candidate->path, sizeof candidate->path, "%s", object->dlpi_name);
  return 1;
}

void open_hidden_mpi() {
  for (int n = 0; !mpi_handle; ++n) {
    Candidate candidate{n, ""};
    // dl_iterate_phdr locks the list of objects, so we open the library afterwards.
    if (!dl_iterate_phdr(note_candidate, &candidate)) return;
    void* handle = dlopen(candidate.path, RTLD_NOLOAD | RTLD_LAZY);
    if (handle && dlsym(handle, "PMPI_Init"))
      mpi_handle = handle;
    else if (handle)
      dlclose(handle);
  }
}

void* find(const char* name) {
  void* address = dlsym(RTLD_NEXT, name);
  return !address && mpi_handle ? dlsym(mpi_handle, name) : address;
}

bool in_one_object(const void* one, const void* other) {
  Dl_info of_one, of_other;
  return dladdr(one, &of_one) && dladdr(other, &of_other) && of_one.dli_fbase == of_other.dli_fbase;
}

// A program may be linked with the wrappers. If it names MPI first, its calls never come here.
__attribute__((constructor)) void look_who_is_called() {
  const char* enabled = getenv("PERFIELD_ENABLED");
  if (enabled && strcmp(enabled, "false") == 0) return;
  const void* of_mpi = dlsym(RTLD_DEFAULT, "PMPI_Init");
  dlerror();  // hides a failed look-up from the program
  if (of_mpi && in_one_object(of_mpi, dlsym(RTLD_DEFAULT, "MPI_Init")))
    perfield_warn_once_per_node(
        "linked behind MPI",
        "this program is linked with perfield's MPI wrappers behind its MPI, so "
        "they see none of its calls. Put the words of `perfield setup paths --libs "
        "--mpi` before those of MPI on the link line, or start the program with "
        "perfield-exec");
}

int absent() noexcept { return MPI_ERR_UNSUPPORTED_OPERATION; }

// The function behind a wrapper. If a program finds one of our functions by its name although its
// MPI has none, and calls it, it gets an error and no crash.
template <typename T>
void find_next(T& place, const char* name) {
  void* address = find(name);
  if (address && behind_others && in_one_object(address, (void*)behind_others)) {
    address = behind_others(name);
    if (!address && mpi_handle) address = dlsym(mpi_handle, name);
  }
  place = reinterpret_cast<T>(address ? address : (void*)absent);
}

// Searches for objects from the program on, not after us: the linker may have given the program its
// own copy of one (a copy relocation), which the MPI then uses too.
struct FindObject {
  template <typename T>
  void operator()(T& place, const char* name) const {
    void* address = dlsym(RTLD_DEFAULT, name);
    place = reinterpret_cast<T>(address ? address : find(name));
  }
};

Family family_of(const char* version) {
  // An MPI may have the binary interface of the MPI standard instead of its own.
  int major = 0, minor = 0;
  const auto abi_version = reinterpret_cast<int (*)(int*, int*)>(find("PMPI_Abi_get_version"));
  if (abi_version && abi_version(&major, &minor) == MPI_SUCCESS && major > 0)
    return Family::standard;
  if (strncmp(version, "Open MPI", 8) == 0) return Family::openmpi;
  for (const char* name : {"MPICH", "MVAPICH", "Intel(R) MPI"})
    if (strstr(version, name)) return Family::mpich;
  return Family::other;
}

void resolve_all() {
  if (!dlsym(RTLD_NEXT, "PMPI_Init")) open_hidden_mpi();
#define PERFIELD_FIND(name) \
  library.name = reinterpret_cast<decltype(library.name)>(find("PMPI_" #name));
  PERFIELD_USED_FUNCTIONS(PERFIELD_FIND)
#undef PERFIELD_FIND
  find_objects(library, FindObject{});
  char name[256];
  name_of_library(name, sizeof name);
  library.family = family_of(name);
  if (library.family != kOthers)
    behind_others = reinterpret_cast<void* (*)(const char*)>(dlsym(RTLD_DEFAULT, kBehindOthers));
#define PERFIELD_FIND(place, name) find_next(next_functions.place, #name);
  PERFIELD_NEXT_FUNCTIONS(PERFIELD_FIND)
#undef PERFIELD_FIND
  dlerror();  // hides failed look-ups from the program
  resolved.store(true, std::memory_order_release);
}

}  // namespace

void resolve() noexcept {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, resolve_all);
}

void name_of_library(char* text, int bytes) noexcept {
  char version[MPI_MAX_LIBRARY_VERSION_STRING + 8192] = "an MPI without MPI_Get_library_version";
  int length = 0;
  if (library.Get_library_version) library.Get_library_version(version, &length);
  version[strcspn(version, ",\n")] = '\0';
  // "Open MPI v4.1.4, package: ..." becomes "Open MPI 4.1.4", "MPICH Version:\t4.0.2"
  // "MPICH 4.0.2", "MPI VERSION    : CRAY MPICH version 8.1.25" "CRAY MPICH version 8.1.25".
  char* v = strstr(version, " v");
  if (v && v[2] >= '0' && v[2] <= '9') memmove(v + 1, v + 2, strlen(v + 2) + 1);
  if (char* colon = strchr(version, ':')) {
    char* number = colon + 1 + strspn(colon + 1, " \t");
    char* word = strstr(version, " Version");
    char* start = word && word < colon ? word + 1 : version;
    memmove(start, number, strlen(number) + 1);
  }
  snprintf(text, bytes, "%s", version);
}

void* function_of_mpi(const char* name) noexcept { return find(name); }

bool others_measure() noexcept {
  return library.family == kOthers && dlsym(RTLD_DEFAULT, kBehindOthers);
}

bool fits() noexcept {
  bool all = has_objects(library);
#define PERFIELD_CHECK(name) all = all && library.name;
  PERFIELD_USED_FUNCTIONS(PERFIELD_CHECK)
#undef PERFIELD_CHECK
  return all && library.family == kOurs;
}

}  // namespace perfield::pmpi

// The function behind this library with that name. The wrappers for another MPI call this to get
// past these wrappers, in a process where these sleep.
extern "C" __attribute__((visibility("default"))) void* PERFIELD_BEHIND(const char* name) {
  return dlsym(RTLD_NEXT, name);
}
