// SPDX-License-Identifier: BSD-3-Clause
//
// implementation.cpp - libcatalyst-perfield.so: an implementation of Catalyst 2 that passes
// everything on to another one. For programs whose calls of libcatalyst the hooks do not see, as
// those that hold libcatalyst themselves: CATALYST_IMPLEMENTATION_NAME=perfield chooses it.
#include <dlfcn.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "recorder/source.h"
#include "sources/adaptors/catalyst.hpp"
#include "sources/adaptors/conduit.hpp"

namespace {

using perfield::adaptors::CatalystFunction;
using perfield::adaptors::Conduit;
using perfield::adaptors::kCatalystIncomplete;
using perfield::adaptors::kCatalystNoImplementation;
using perfield::adaptors::kCatalystNotCatalyst;
using perfield::adaptors::kCatalystNotFound;
using perfield::adaptors::kCatalystOk;
using perfield::adaptors::kCatalystUnsupportedVersion;

// struct catalyst_impl of libcatalyst.
struct Implementation {
  int version;
  CatalystFunction *initialize, *execute, *finalize;
  int (*about)(conduit_node*);
  int (*results)(conduit_node*);
};

constexpr int kVersion = 1;

// --- the implementation that everything is passed on to -----------------------------------------
const Implementation* wanted;  // nullptr: not loaded

// libcatalyst's own, which does nothing or writes what it gets to files.
const Implementation* stub() noexcept {
  static Implementation found{kVersion, nullptr, nullptr, nullptr, nullptr, nullptr};
  const auto find = [](auto* to, const char* symbol) {
    void* const function = dlsym(RTLD_DEFAULT, symbol);
    memcpy(to, &function, sizeof function);
  };
  find(&found.initialize, "catalyst_stub_initialize");
  find(&found.execute, "catalyst_stub_execute");
  find(&found.finalize, "catalyst_stub_finalize");
  find(&found.about, "catalyst_stub_about");
  find(&found.results, "catalyst_stub_results");
  return &found;
}

void* open_in(const char* folder, const char* name) noexcept {
  char path[PATH_MAX];
  if (!folder || !*folder ||
      snprintf(path, sizeof path, "%s/libcatalyst-%s.so", folder, name) >= int(sizeof path))
    return nullptr;
  return dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
}

// Where libcatalyst looks, in its order: the program's own paths, the environment's, and the folder
// `catalyst` beside libcatalyst.
void* find_library(const conduit_node* params, const char* name) noexcept {
  void* const near = dlsym(RTLD_DEFAULT, "catalyst_conduit_node_create");
  if (const Conduit* conduit = Conduit::of_catalyst(near)) {
    conduit_node* const paths = conduit->at(params, "catalyst_load/search_paths");
    for (int64_t i = 0, n = conduit->children(paths); i < n; ++i)
      if (void* library = open_in(conduit->text(conduit->child(paths, i)), name)) return library;
  }
  char folders[8192];
  const char* const listed = getenv("CATALYST_IMPLEMENTATION_PATHS");
  snprintf(folders, sizeof folders, "%s", listed ? listed : "");
  char* rest = nullptr;
  for (char* folder = strtok_r(folders, ":", &rest); folder; folder = strtok_r(nullptr, ":", &rest))
    if (void* library = open_in(folder, name)) return library;
  Dl_info place;
  if (!near || !dladdr(near, &place) || !place.dli_fname) return nullptr;
  const char* const end = strrchr(place.dli_fname, '/');
  snprintf(folders, sizeof folders, "%.*s/catalyst", end ? int(end - place.dli_fname) : 1,
           end ? place.dli_fname : ".");
  return open_in(folders, name);
}

// Loads it once. Returns a status of libcatalyst.
int load(const conduit_node* params) noexcept {
  if (wanted) return kCatalystOk;
  char name[128];
  perfield_source_setting("catalyst_implementation", name, sizeof name);
  const char* const variable = getenv("PERFIELD_CATALYST_IMPLEMENTATION");
  if (!*name && variable) snprintf(name, sizeof name, "%s", variable);  // perfield is not awake
  if (!*name || !strcmp(name, "perfield")) {
    wanted = stub();
    return kCatalystOk;
  }
  void* const library = find_library(params, name);
  auto* const found =
      library ? static_cast<const Implementation*>(dlsym(library, "catalyst_api_impl")) : nullptr;
  if (!found) {
    char sentence[512];
    snprintf(sentence, sizeof sentence,
             "catalyst_implementation = %s: libcatalyst-%s.so is not found, or is not a Catalyst "
             "library; name its folder in CATALYST_IMPLEMENTATION_PATHS",
             name, name);
    perfield_warn_once_per_node("adaptor-implementation", sentence);
    return library ? kCatalystNotCatalyst : kCatalystNotFound;
  }
  if (found->version != kVersion) return kCatalystUnsupportedVersion;
  if (!found->initialize || !found->execute || !found->finalize) return kCatalystIncomplete;
  wanted = found;
  return kCatalystOk;
}

// --- what libcatalyst calls ---------------------------------------------------------------------
int nothing(const conduit_node*) { return kCatalystOk; }

int initialize(const conduit_node* params) {
  const int status = load(params);
  if (status != kCatalystOk) return status;
  CatalystFunction* const next = wanted->initialize ? wanted->initialize : nothing;
  return perfield_adaptor_initialize(params, next, __builtin_frame_address(0));
}

int execute(const conduit_node* params) {
  if (!wanted) return kCatalystNoImplementation;
  CatalystFunction* const next = wanted->execute ? wanted->execute : nothing;
  return perfield_adaptor_execute(params, next, __builtin_frame_address(0));
}

int finalize(const conduit_node* params) {
  if (!wanted) return kCatalystNoImplementation;
  CatalystFunction* const next = wanted->finalize ? wanted->finalize : nothing;
  return perfield_adaptor_finalize(params, next, __builtin_frame_address(0));
}

int about(conduit_node* params) {
  return wanted && wanted->about ? wanted->about(params) : kCatalystOk;
}

int results(conduit_node* params) {
  return wanted && wanted->results ? wanted->results(params) : kCatalystOk;
}

}  // namespace

extern "C" __attribute__((visibility("default")))
const Implementation catalyst_api_impl = {kVersion, initialize, execute, finalize, about, results};
