// SPDX-License-Identifier: BSD-3-Clause
//
// kokkos_host.h - a stand-in for Kokkos in tests: loads the tool that KOKKOS_TOOLS_LIBS names and
// calls its hooks with what Kokkos hands over. kokkos_start() goes before everything else.
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  char name[64];
} Space;
typedef struct {
  bool requires_global_fencing, others[255];
} Settings;

static struct {
  void (*init_library)(int, uint64_t, uint32_t, void*);
  void (*request_tool_settings)(uint32_t, Settings*);
  void (*begin_parallel_for)(const char*, uint32_t, uint64_t*);
  void (*end_parallel_for)(uint64_t);
  void (*begin_parallel_reduce)(const char*, uint32_t, uint64_t*);
  void (*end_parallel_reduce)(uint64_t);
  void (*begin_parallel_scan)(const char*, uint32_t, uint64_t*);
  void (*end_parallel_scan)(uint64_t);
  void (*begin_fence)(const char*, uint32_t, uint64_t*);
  void (*end_fence)(uint64_t);
  void (*push_profile_region)(const char*);
  void (*pop_profile_region)(void);
  void (*create_profile_section)(const char*, uint32_t*);
  void (*start_profile_section)(uint32_t);
  void (*stop_profile_section)(uint32_t);
  void (*destroy_profile_section)(uint32_t);
  void (*begin_deep_copy)(Space, const char*, const void*, Space, const char*, const void*,
                          uint64_t);
  void (*end_deep_copy)(void);
} tool;

static Settings kokkos_start(void) {
  Settings settings = {true, {false}};
  const char* path = getenv("KOKKOS_TOOLS_LIBS");
  void* library = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
  if (!library) {
    fprintf(stderr, "the tool cannot be loaded: %s\n", path ? dlerror() : "none is named");
    exit(3);
  }
#define FIND(hook) *(void**)&tool.hook = dlsym(library, "kokkosp_" #hook)
  FIND(init_library), FIND(request_tool_settings);
  FIND(begin_parallel_for), FIND(begin_parallel_reduce), FIND(begin_parallel_scan);
  FIND(end_parallel_for), FIND(end_parallel_reduce), FIND(end_parallel_scan);
  FIND(begin_fence), FIND(end_fence);
  FIND(push_profile_region), FIND(pop_profile_region);
  FIND(create_profile_section), FIND(start_profile_section);
  FIND(stop_profile_section), FIND(destroy_profile_section);
  FIND(begin_deep_copy), FIND(end_deep_copy);
#undef FIND
  tool.init_library(0, 20240906, 0, NULL);
  tool.request_tool_settings(1, &settings);
  return settings;
}

// A kernel of so many milliseconds.
static inline void parallel_for(const char* name, double ms) {
  uint64_t kernel = 0;
  tool.begin_parallel_for(name, 0, &kernel);
  work(ms);
  tool.end_parallel_for(kernel);
}

static inline void deep_copy(const char* to, const char* from, uint64_t bytes, double ms) {
  Space target = {""}, source = {""};
  strncpy(target.name, to, 63);
  strncpy(source.name, from, 63);
  tool.begin_deep_copy(target, "target", NULL, source, "source", NULL, bytes);
  work(ms);
  tool.end_deep_copy();
}
