// SPDX-License-Identifier: BSD-3-Clause
//
// fortran.cpp - finds the Fortran side of the program's MPI: its functions come after ours in the
// search order or, if a plug-in has loaded the MPI, among the loaded objects. Also finds the
// addresses that stand for MPI_IN_PLACE and ignored statuses in Fortran: variables of the MPI.
#include "fortran.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <cstdio>

#include "peers.hpp"
#include "recorder/source.h"
#include "sizes.hpp"

namespace perfield::pmpi {

std::atomic<const FortranLibrary*> fortran_found{nullptr};
#ifdef PERFIELD_F2C_FUNCTIONS
ToC to_c;
__thread LastInC<MPI_Comm> last_comms_in_c[kLastInC];
__thread LastInC<MPI_Datatype> last_types_in_c[kLastInC];

MPI_Comm find_in_c(MPI_Fint number, LastInC<MPI_Comm>& last) noexcept {
  const uint64_t age = library.freed_age.load(std::memory_order_acquire);
  MPI_Comm comm = to_c.Comm(number);
  if (find_new_peers(comm)) last = {number, comm, age};  // whose end will be noticed
  return comm;
}

MPI_Datatype find_in_c(MPI_Fint number, LastInC<MPI_Datatype>& last) noexcept {
  MPI_Datatype type = to_c.Type(number);
  if (is_predefined(type)) last = {number, type, library.freed_age.load(std::memory_order_acquire)};
  return type;
}
#endif

namespace {

FortranLibrary found;
void* fortran_handle = nullptr;

// Libraries with Fortran functions. Cray names them after the compiler, too
// (libmpifort_gnu_91.so.12). Those of mpi_f08 load the others.
constexpr const char* kLibraries[] = {"libmpi_usempif08", "libmpi_mpifh", "libmpichfort",
                                      "libmpifort"};
constexpr int kNone = sizeof kLibraries / sizeof *kLibraries;
struct Best {
  int number = kNone;
  char path[4096] = "";
};

int note_fortran(dl_phdr_info* object, size_t, void* place) {
  auto* best = static_cast<Best*>(place);
  const char* slash = strrchr(object->dlpi_name, '/');
  const char* base = slash ? slash + 1 : object->dlpi_name;
  for (int i = 0; i < best->number; ++i) {
    if (strncmp(base, kLibraries[i], strlen(kLibraries[i])) != 0) continue;
    best->number = i;
    snprintf(best->path, sizeof best->path, "%s", object->dlpi_name);
  }
  return 0;
}

void open_hidden_fortran() {
  Best best;
  // dl_iterate_phdr locks the list of objects, so we open the library afterwards.
  dl_iterate_phdr(note_fortran, &best);
  if (best.number != kNone) fortran_handle = dlopen(best.path, RTLD_NOLOAD | RTLD_NOW);
}

// Called if a program finds one of our functions by its name although its MPI has none.
void absent() noexcept {
  perfield_warn_once_per_node(
      "absent fortran",
      "the program calls a Fortran function that its MPI does not have; the call "
      "does nothing.");
}

void* find(void* where, const char* name) {
  void* address = dlsym(where, name);
  if (!address && fortran_handle) address = dlsym(fortran_handle, name);
  return address;
}

// Search from the program on, because the linker may have given it its own copy of a variable.
const void* variable(const char* name) { return find(RTLD_DEFAULT, name); }
#ifndef PERFIELD_F2C_FUNCTIONS
const void* pointed_by(const char* name) {
  auto* pointer = static_cast<const void* const*>(variable(name));
  return pointer ? *pointer : nullptr;
}
#endif

void find_all() {
  resolve();  // finds the MPI functions used for counting, as C wrappers do
  // Not mpi_init_: another tool that was preloaded may wrap that.
  if (!dlsym(RTLD_NEXT, "pmpi_init_")) open_hidden_fortran();
  int n = 0;
#define PERFIELD_FIND(name) found.functions[n++] = find(RTLD_NEXT, #name);
  PERFIELD_FORTRAN_NAMES(PERFIELD_FIND)
#undef PERFIELD_FIND
  for (void*& function : found.functions)
    if (!function) function = reinterpret_cast<void*>(absent);
#ifdef PERFIELD_F2C_FUNCTIONS
#define PERFIELD_FIND(type, name) \
  to_c.name = reinterpret_cast<decltype(to_c.name)>(find(RTLD_NEXT, "PMPI_" #name "_f2c"));
  PERFIELD_F2C_FUNCTIONS(PERFIELD_FIND)
#undef PERFIELD_FIND
  found.mpifh =
      found.f08 = {variable("mpi_fortran_in_place_"), variable("mpi_fortran_status_ignore_"),
                   variable("mpi_fortran_statuses_ignore_")};
#else
  // The MPI learns its addresses of mpif.h at the first Fortran call of any kind.
  void* initialized = find(RTLD_NEXT, "mpi_initialized_");
  MPI_Fint flag, ierror;
  if (initialized) reinterpret_cast<void (*)(MPI_Fint*, MPI_Fint*)>(initialized)(&flag, &ierror);
  found.mpifh = {pointed_by("MPIR_F_MPI_IN_PLACE"), pointed_by("MPI_F_STATUS_IGNORE"),
                 pointed_by("MPI_F_STATUSES_IGNORE")};
  found.f08 = {variable("MPIR_F08_MPI_IN_PLACE"), pointed_by("MPI_F08_STATUS_IGNORE"),
               pointed_by("MPI_F08_STATUSES_IGNORE")};
#endif
  fortran_found.store(&found, std::memory_order_release);
}

#ifndef PERFIELD_F2C_FUNCTIONS
// Asks the MPI itself: which of two requests is complete, if only the second is a real one?
int first_number_of_f08() {
  const auto isend = reinterpret_cast<decltype(&::MPI_Isend)>(find(RTLD_NEXT, "PMPI_Isend"));
  MPI_Request sent = library.no_request;
  if (!isend || isend(nullptr, 0, library.byte, MPI_PROC_NULL, 0, library.comm_world, &sent))
    return 1;
  FortranRequest requests[2] = {{library.no_request}, {sent}};
  FortranStatus status;
  MPI_Fint two = 2, number = 2, ierror;
  next_fortran<void(MPI_Fint*, FortranRequest*, MPI_Fint*, FortranStatus*, MPI_Fint*)>(
      FortranName::mpi_waitany_f08_)(&two, requests, &number, &status, &ierror);
  return number == 1 ? 0 : 1;
}
#endif

}  // namespace

int first_number(Binding binding) noexcept {
#ifndef PERFIELD_F2C_FUNCTIONS
  static std::atomic<int> of_f08{-1};
  if (binding != Binding::mpifh) {
    if (of_f08.load(std::memory_order_relaxed) < 0) of_f08.store(first_number_of_f08());
    return of_f08.load(std::memory_order_relaxed);
  }
#endif
  (void)binding;
  return 1;
}

const FortranLibrary& find_fortran() noexcept {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_all);
  return found;
}

}  // namespace perfield::pmpi
