/* A stand-in for Score-P in a program compiled with -finstrument-functions: hands its functions to
 * a substrate plugin as Score-P's compiler adapter does.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A library that the program is linked with, as it is with Score-P: perfield's MPI wrappers are
 * called before the mpi_init_ here. Functions are named by the symbols that the program exports
 * (-rdynamic); those of Fortran modules are demangled as module::procedure. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plugin_info.h"

enum { REGIONS = 1000, CALLBACKS = 53, ENTER = 4, EXIT = 5 };

static struct info plugin;
static function* events;
static char location; /* of the one thread that runs here */
static struct region {
  void* address;
  const char* symbol;
  char name[200];
} regions[REGIONS]; /* a region's handle is its place, from 1 */

static int get_rank(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
static int get_size(void) {
  int size;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}
static const char* name_of(uint32_t region) { return regions[region].name; }
static const char* symbol_of(uint32_t region) { return regions[region].symbol; }
static const char* file_of(uint32_t region) {
  (void)region;
  return "multigrid.F90";
}
static uint32_t line_of(uint32_t region) { return region; }

static uint64_t ticks(void) {
#ifdef __x86_64__
  return __builtin_ia32_rdtsc();
#else
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
#endif
}

static uint32_t region_of(void* address) {
  uint32_t region = 1;
  while (region < REGIONS && regions[region].address && regions[region].address != address)
    ++region;
  if (region == REGIONS) abort();
  struct region* found = &regions[region];
  if (found->address) return region;
  Dl_info known;
  found->address = address;
  found->symbol = dladdr(address, &known) && known.dli_sname ? known.dli_sname : "UNKNOWN";
  const char* module_end = strstr(found->symbol, "_MOD_");
  if (module_end)
    snprintf(found->name, sizeof found->name, "%.*s::%s", (int)(module_end - found->symbol - 2),
             found->symbol + 2, module_end + 5);
  else
    snprintf(found->name, sizeof found->name, "%s", found->symbol);
  return region;
}

static void hand_on(int event, void* address) {
  if (!events || !events[event]) return;
  ((void (*)(void*, uint64_t, uint32_t, uint64_t*))events[event])(&location, ticks(),
                                                                  region_of(address), NULL);
}

void __cyg_profile_func_enter(void* address, void* caller) {
  (void)caller;
  hand_on(ENTER, address);
}
void __cyg_profile_func_exit(void* address, void* caller) {
  (void)caller;
  hand_on(EXIT, address);
}

void pmpi_init_(int* error);
void mpi_init_(int* error) {
  pmpi_init_(error);
  plugin.init_mpp();
}

static void end(void) {
  if (plugin.delete_location) plugin.delete_location(&location);
  plugin.finalize();
}

__attribute__((constructor)) static void load(void) {
  void* library = dlopen("libscorep_substrate_perfield.so", RTLD_NOW);
  if (!library) {
    fprintf(stderr, "stand-in for Score-P: %s\n", dlerror());
    abort();
  }
  plugin = ((struct info(*)(void))dlsym(library, "SCOREP_SubstratePlugin_perfield_get_info"))();
  plugin.init();
  function callbacks[CALLBACKS] = {0};
  callbacks[1] = (function)get_size;
  callbacks[2] = (function)get_rank;
  callbacks[33] = (function)name_of;
  callbacks[34] = (function)symbol_of;
  callbacks[35] = (function)file_of;
  callbacks[36] = (function)line_of;
  plugin.set_callbacks(callbacks, sizeof callbacks);
  plugin.get_event_functions(0, &events);
  if (plugin.assign_id) plugin.assign_id(0);
  if (plugin.create_location) plugin.create_location(&location, NULL);
  atexit(end);
}
