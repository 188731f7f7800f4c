// SPDX-License-Identifier: BSD-3-Clause
//
// environment.cpp - see environment.hpp.
#include "session/environment.hpp"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "platform/devices.hpp"
#include "platform/memory_limit.hpp"
#include "platform/preload_list.hpp"
#include "run_directory/run_directory.hpp"
#include "session/warnings.hpp"

namespace perfield {
namespace {

const char* const kDeviceVariables[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                        "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
                                        "UCX_NET_DEVICES"};

void forget_preload() {
  const char* added = getenv("PERFIELD_PRELOADED");
  const char* preload = getenv("LD_PRELOAD");
  if (!added || !preload) return;
  const std::string rest = without_ours(preload, added);
  if (rest.empty())
    unsetenv("LD_PRELOAD");
  else
    setenv("LD_PRELOAD", rest.c_str(), 1);
}

// perfield-exec preloads a sanitizer's runtime for the one program that needs it. Clang's runtime
// starts llvm-symbolizer when it finds an error, maybe before MPI_Init. With the runtime preloaded
// that hangs when it exits (Debian 12), and holds the program's stderr open.
__attribute__((constructor)) void keep_sanitizers_to_ourselves() {
  const char* added = getenv("PERFIELD_PRELOADED");
  if (!added) return;
  const std::string first(added, strcspn(added, ":"));
  if (first.find("/libperfield", first.rfind('/')) == std::string::npos) forget_preload();
}

// A script may set a limit after perfield-exec has looked. Where perfield's libraries alone could
// keep the program from running, it starts again without them, before any of it has run. Where
// ld.so was started by name, there is no loader in AT_BASE, and /proc/self/exe is ld.so.
__attribute__((constructor)) void leave_program_with_small_limit(int, char** arguments, char**) {
  if (!getenv("PERFIELD_PRELOADED") || !getauxval(AT_BASE)) return;
  const std::string sentence = no_room_in_words();
  char program[PATH_MAX];
  const ssize_t length = sentence.empty() ? 0 : readlink("/proc/self/exe", program, PATH_MAX - 1);
  if (length <= 0) return;
  program[length] = 0;
  warn_once_per_node("memory-room", sentence);
  forget_preload_in_environment();
  execv(program, arguments);
}

}  // namespace

void forget_preload_in_environment() {
  forget_preload();
  for (const char* name : {"PERFIELD_PRELOADED", "PERFIELD_RUN", "PERFIELD_RUN_ID"}) unsetenv(name);
  // A child with its own perfield (linked, or under perfield-exec) would otherwise inherit the
  // launcher's numbers of this rank and act as this rank.
  setenv("PERFIELD_ENABLED", "false", 1);
}

bool mpi_init_will_start() noexcept {
  // Only the MPI library defines PMPI_Init. Wrappers behind it are never called.
  static const bool will = [] {
    const void* of_mpi = dlsym(RTLD_DEFAULT, "PMPI_Init");
    const void* first = dlsym(RTLD_DEFAULT, "MPI_Init");
    Dl_info mpi{}, called{};
    const bool wrapped = of_mpi && dladdr(of_mpi, &mpi) && dladdr(first, &called) &&
                         mpi.dli_fbase != called.dli_fbase &&
                         (dlsym(RTLD_DEFAULT, "perfield_behind_openmpi") ||
                          dlsym(RTLD_DEFAULT, "perfield_behind_mpich"));
    dlerror();  // hides failed look-ups from the program
    return wrapped;
  }();
  return will;
}

std::string lone_world(int size, const std::string& mpi) {
  int rank = 0, started = 1;
  if (mpi.empty() || size != 1 || !rank_from_environment(&rank, &started) || started < 2) return "";
  return "the launcher started " + std::to_string(started) + " ranks, but to " + mpi +
         ", which this program uses, each is a world of 1 rank: the launcher is that of another "
         "MPI. They compute apart from each other, and the run shows one of them as rank 0; start "
         "the program with the mpirun, mpiexec or srun --mpi=... that belongs to " +
         mpi;
}

bool python_lacks_perfield() {
  const bool is_python = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
  dlerror();  // hides a failed look-up from the program
  if (!is_python) return false;
  const int found = dl_iterate_phdr(
      [](dl_phdr_info* file, size_t, void*) {
        return int(file->dlpi_name && strstr(file->dlpi_name, "/perfield/_recorder."));
      },
      nullptr);
  return !found;
}

void add_devices(JsonObject* entry) {
  std::string devices;
  for (const OpenDevice& device : open_devices()) {
    JsonObject one;
    one.text("file", device.file);
    if (!device.pci.empty()) one.text("pci", device.pci);
    devices += (devices.empty() ? "" : ",") + one.str();
  }
  if (!devices.empty()) entry->raw("devices", "[" + devices + "]");
  JsonObject choice;
  bool chosen = false;
  for (const char* name : kDeviceVariables) {
    const char* value = getenv(name);
    if (!value) continue;
    choice.text(name, value);  // an empty list hides all devices
    chosen = true;
  }
  if (chosen) entry->raw("device_choice", choice.str());
}

}  // namespace perfield
