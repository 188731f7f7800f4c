// SPDX-License-Identifier: BSD-3-Clause
//
// machine_file.cpp - see machine_file.hpp. The rank that creates machine/.<stem>.xml with O_EXCL
// fills and renames it; other ranks skip it. Both writers get the open file, not its name. hwloc
// itself handles HWLOC_XMLFILE and the like.
#include "run_directory/machine_file.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <exception>

#include "platform/child.hpp"
#include "platform/devices.hpp"
#include "run_directory/draft.hpp"
#include "run_directory/run_directory.hpp"

namespace perfield {
namespace {

constexpr int kPatienceMs = 20000;  // lstopo takes long on a large or busy node

// hwloc's plug-ins for GPUs would start drivers and open displays; what the kernel knows is enough.
const char kNoPlugins[] = "-gl,-opencl,-cuda,-nvml,-rsmi,-levelzero";

// hwloc passes over what these say where HWLOC_COMPONENTS is set.
const char* const kOtherMachines[] = {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT",
                                      "HWLOC_CPUID_PATH"};

// Runs lstopo with its output into the file; true if it wrote something. Looking for GPUs and
// network cards takes longer than all else, so it is done only on nodes that have some.
bool lstopo_writes(const char* program, int file) {
  bool is_other = false;
  for (const char* name : kOtherMachines) is_other = is_other || getenv(name);
  const char* const all[] = {program, "--of", "xml", "-", nullptr};
  const char* const without_devices[] = {program, "--no-io", "--of", "xml", "-", nullptr};
  Child lstopo(is_other || has_devices() ? all : without_devices, file, UINT64_MAX,
               is_other ? nullptr : "HWLOC_COMPONENTS", kNoPlugins);
  struct stat facts {};
  return lstopo.end(kPatienceMs) == 0 && fstat(file, &facts) == 0 && facts.st_size > 0;
}

template <class Function>
bool find_in(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool libhwloc_writes(int file) {
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  int (*init)(void**) = nullptr;
  int (*load)(void*) = nullptr;
  int (*export_xml)(void*, const char*, unsigned long) = nullptr;  // hwloc 1 has no third argument
  void (*destroy)(void*) = nullptr;
  for (const char* name : {"libhwloc.so.15", "libhwloc.so.5", "libhwloc.so"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) continue;
    bool good = find_in(library, "hwloc_topology_init", &init) &&
                find_in(library, "hwloc_topology_load", &load) &&
                find_in(library, "hwloc_topology_export_xml", &export_xml) &&
                find_in(library, "hwloc_topology_destroy", &destroy);
    void* topology = nullptr;
    good = good && init(&topology) == 0;
    if (good) {
      good = load(topology) == 0 && export_xml(topology, path.c_str(), 0) == 0;
      destroy(topology);
    }
    dlclose(library);
    if (good) return true;
  }
  return false;
}

std::string write_once(const std::string& run_directory, bool may_run_lstopo) {
  Draft draft(run_directory + "/machine/" + stream_stem() + ".xml");
  if (draft.file() < 0) return draft.trouble() == EEXIST ? "" : draft.refusal();
  if (draft.is_there()) return "";  // another rank finished before we made the draft
  const int file = draft.file();
  const bool written = (may_run_lstopo && (lstopo_writes("lstopo-no-graphics", file) ||
                                           lstopo_writes("lstopo", file))) ||
                       libhwloc_writes(file);
  if (written && draft.publish()) return "";
  return "found no lstopo or libhwloc that can describe " + host_name() +
         ", so topology pictures will lack this machine; install the package hwloc";
}

}  // namespace

std::string write_machine_file(const std::string& run_directory, bool may_run_lstopo) {
  try {
    return write_once(run_directory, may_run_lstopo);
  } catch (const std::exception& error) {
    return std::string("cannot describe this machine: ") + error.what();
  }
}

}  // namespace perfield
