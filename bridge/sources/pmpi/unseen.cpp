// SPDX-License-Identifier: BSD-3-Clause
//
// unseen.cpp - see unseen.hpp. When a process ends that has used MPI although the wrappers never
// saw MPI_Init, says why.
#include "unseen.hpp"

#include <dlfcn.h>
#include <link.h>
#include <strings.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "library.hpp"
#include "platform/imports.hpp"
#include "recorder/source.h"

namespace perfield::pmpi {

bool saw_mpi_init = false;

namespace {

const char* base_of(const char* path) noexcept {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

bool is_mpi(const char* path) noexcept { return !strncmp(base_of(path), "libmpi", 6); }

struct Bound {
  char path[4096];
};

// Stores the name of an object whose call of MPI_Init goes straight to MPI.
int note_bound(dl_phdr_info* object, size_t, void* data) noexcept {
  auto* const bound = static_cast<Bound*>(data);
  if (is_mpi(object->dlpi_name)) return 0;
  return look_at_imports(*object, [&](const Import& import) {
    const char* const name = import.name;
    constexpr const char* kStarts[] = {"MPI_Init", "MPI_Init_thread", "mpi_init_",
                                       "mpi_init_thread_", "mpi_init_f08_"};
    if (std::none_of(std::begin(kStarts), std::end(kStarts),
                     [&](const char* start) { return strcmp(name, start) == 0; }))
      return false;
    if (!is_in_mpi(*import.slot)) return false;
    snprintf(bound->path, sizeof bound->path, "%s",
             *object->dlpi_name ? object->dlpi_name : "the program");
    return true;
  });
}

// A few names of functions.
struct Names {
  static constexpr int kMost = 256, kNamed = 3;
  char names[kMost][64];
  int n = 0;

  void add(const char* name) noexcept {
    for (int i = 0; i < n; ++i)
      if (!strcmp(names[i], name)) return;
    if (n < kMost) snprintf(names[n++], sizeof names[0], "%.63s", name);
  }
  // Those that wrappers of ours or of another tool do not replace. Wrappers are global; an MPI that
  // the program has opened for itself is not.
  void keep_those_of_mpi() noexcept {
    int kept = 0;
    for (int i = 0; i < n; ++i) {
      const void* const found = dlsym(RTLD_DEFAULT, names[i]);
      if (!found || is_in_mpi(found)) memmove(names[kept++], names[i], sizeof names[0]);
    }
    n = kept;
  }
  // format: with a %s for the names.
  void list(char* text, size_t bytes, const char* format) const noexcept {
    char words[kNamed * sizeof names[0] + 64] = "";
    for (int i = 0; i < n && i < kNamed; ++i)
      snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s", i ? ", " : "",
               names[i]);
    if (n > kNamed)
      snprintf(words + strlen(words), sizeof words - strlen(words), " and %d more", n - kNamed);
    snprintf(text, bytes, format, words);
  }
};

// Whether this library leaves out the wrapper of a function, by its name in C or in a binding of
// Fortran: not every MPI has it.
bool is_left_out(const char* name) noexcept {
  if (kWrapsMpi4) return false;
  const char* end = strstr(name, "_f08");
  size_t length = end ? size_t(end - name) : strlen(name);
  while (length && name[length - 1] == '_') --length;
#define PERFIELD_COMPARE(in_c) \
  if (sizeof #in_c - 1 == length && !strncasecmp(name, #in_c, length)) return true;
  PERFIELD_NEW_FUNCTIONS(PERFIELD_COMPARE)
#undef PERFIELD_COMPARE
  return false;
}

// Functions without wrappers: those left out, and extensions of an MPI that have none anywhere.
struct Unwrapped {
  Names left_out, unknown;
};

// Notes those that an object calls, but for extensions that only ask.
int note_unwrapped(dl_phdr_info* object, size_t, void* data) noexcept {
  auto* const unwrapped = static_cast<Unwrapped*>(data);
  if (is_mpi(object->dlpi_name)) return 0;
  look_at_imports(*object, [&](const Import& import) {
    const char* const name = import.name;
    const bool is_extension = !strncmp(name, "MPIX_", 5) || !strncmp(name, "mpix_", 5);
    if (!is_extension && strncmp(name, "MPI_", 4) != 0 && strncmp(name, "mpi_", 4) != 0)
      return false;
    if (is_left_out(name))
      unwrapped->left_out.add(name);
    else if (is_extension && !strstr(name, "Query") && !strstr(name, "query"))
      unwrapped->unknown.add(name);
    return false;
  });
  return 0;
}

// Whether an MPI that is loaded has been started.
bool mpi_was_used() noexcept {
  struct Found {
    char path[4096];
  } found{};
  const auto note = [](dl_phdr_info* object, size_t, void* data) {
    if (!is_mpi(object->dlpi_name)) return 0;
    const int length =
        snprintf(static_cast<Found*>(data)->path, sizeof(Found), "%s", object->dlpi_name);
    void* const handle = length > 0 ? dlopen(object->dlpi_name, RTLD_NOLOAD | RTLD_LAZY) : nullptr;
    if (!handle) return 0;
    const bool has = dlsym(handle, "PMPI_Initialized") != nullptr;
    dlclose(handle);
    return int{has};
  };
  if (!dl_iterate_phdr(note, &found)) return false;
  void* const handle = dlopen(found.path, RTLD_NOLOAD | RTLD_LAZY);
  if (!handle) return false;
  const auto initialized = reinterpret_cast<int (*)(int*)>(dlsym(handle, "PMPI_Initialized"));
  int was = 0;
  if (initialized) initialized(&was);
  dlclose(handle);
  return was;
}

// Where this process ends, and it is one that perfield-exec has started.
__attribute__((destructor)) void look_why_nothing_was_seen() {
  const char* enabled = getenv("PERFIELD_ENABLED");
  if (saw_mpi_init || !getenv("PERFIELD_RUN") || (enabled && !strcmp(enabled, "false"))) return;
  if (!mpi_was_used()) return;
  Bound bound{};
  char sentence[5000];
  if (program_defines("MPI_Init") || program_defines("MPI_Init_thread"))
    snprintf(sentence, sizeof sentence,
             "this program has an MPI_Init of its own, as a PMPI tool that is linked into it, so "
             "perfield saw none of its MPI calls; link it without that tool to measure it");
  else if (dl_iterate_phdr(note_bound, &bound))
    snprintf(sentence, sizeof sentence,
             "the MPI calls of %s go straight to its MPI, as of a library that is opened with "
             "RTLD_DEEPBIND, so perfield saw none of them; open it without RTLD_DEEPBIND, or link "
             "it with perfield's wrappers (`perfield setup paths --libs --mpi`), to measure them",
             bound.path);
  else
    snprintf(sentence, sizeof sentence,
             "this program has called MPI by pointers that it did not get from dlsym, or in a "
             "namespace of its own (dlmopen), so perfield saw none of its MPI calls; link it with "
             "perfield's wrappers (`perfield setup paths --libs --mpi`) to measure them");
  perfield_warn_once_per_node("unseen", sentence);
}

}  // namespace

bool is_in_mpi(const void* address) noexcept {
  Dl_info place;
  return address && dladdr(address, &place) && is_mpi(place.dli_fname);
}

void warn_of_unseen_functions() noexcept {
  Names own;
  Unwrapped unwrapped;
#define PERFIELD_LOOK(place, name) \
  if (program_defines(#name)) own.add(#name);
  PERFIELD_NEXT_FUNCTIONS(PERFIELD_LOOK)
#undef PERFIELD_LOOK
  dl_iterate_phdr(note_unwrapped, &unwrapped);
  unwrapped.left_out.keep_those_of_mpi();
  unwrapped.unknown.keep_those_of_mpi();
  dlerror();  // hides failed look-ups from the program
  char sentence[1000];
  if (own.n) {
    own.list(sentence, sizeof sentence,
             "this program has %s of its own, as a PMPI tool that is linked into it, so perfield "
             "does not see these calls; link the program without that tool to count them");
    perfield_warn_once_per_node("own wrappers", sentence);
  }
  if (unwrapped.left_out.n) {
    unwrapped.left_out.list(
        sentence, sizeof sentence,
        "this program may call %s, and perfield does not count these calls, as it could not know "
        "the program's MPI when it started; set PERFIELD_MPI to openmpi, mpich or mpi_abi to count "
        "them");
    perfield_warn_once_per_node("functions of MPI 4", sentence);
  } else if (!kWrapsMpi4 && function_of_mpi("PMPI_Send_c")) {  // what is opened later may use them
    perfield_warn_once_per_node(
        "functions of MPI 4",
        "calls that are new in MPI 4 (MPI_Send_c, ...) are not measured, because "
        "perfield could not know in advance which MPI this program loads. Set "
        "PERFIELD_MPI to openmpi, mpich or mpi_abi");
  }
  if (unwrapped.unknown.n) {
    unwrapped.unknown.list(
        sentence, sizeof sentence,
        "this program uses %s, for which perfield has no wrappers: their time counts as "
        "computing, and what they send is not counted");
    perfield_warn_once_per_node("unknown functions", sentence);
  }
}

}  // namespace perfield::pmpi
