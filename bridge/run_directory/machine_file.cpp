// SPDX-License-Identifier: BSD-3-Clause
//
// machine_file.cpp - see machine_file.hpp. The rank that creates machine/.<stem>.xml with O_EXCL
// fills and renames it; other ranks skip it. Both writers get the open file, not its name. hwloc
// itself handles HWLOC_XMLFILE and the like.
#include "run_directory/machine_file.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>

#include "platform/guarded.hpp"
#include "run_directory/run_directory.hpp"

namespace perfield {
namespace {

constexpr int kPatienceMs = 20000;  // lstopo takes long on a large or busy node

// Runs `program --no-io --of xml -` with its output into the file; true if it wrote something.
bool lstopo_writes(const char* program, int file) {
  if (ftruncate(file, 0) != 0) return false;
  lseek(file, 0, SEEK_SET);
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    const int nothing = open("/dev/null", O_RDWR);
    if (nothing < 0) _exit(127);
    dup2(nothing, STDIN_FILENO);
    dup2(file, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    execlp(program, program, "--no-io", "--of", "xml", "-", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  for (int waited_ms = 0; waitpid(child, &status, WNOHANG) == 0; ++waited_ms) {
    if (waited_ms >= kPatienceMs) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return false;
    }
    usleep(1000);
  }
  struct stat facts {};
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 && fstat(file, &facts) == 0 &&
         facts.st_size > 0;
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

bool exists(const GuardedParent& parent, const std::string& name) {
  struct stat facts {};
  return fstatat(parent.descriptor(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
}

std::string write_once(const std::string& run_directory, bool may_run_lstopo) {
  const std::string wanted = run_directory + "/machine/" + stream_stem() + ".xml";
  const GuardedParent parent(wanted.c_str());
  const auto refusal = [&wanted] { return "cannot write " + wanted + ": " + std::strerror(errno); };
  if (!parent.found()) return refusal();
  if (exists(parent, parent.name())) return "";
  std::string path = wanted;
  path.insert(wanted.rfind('/') + 1, ".");
  const std::string draft = path.substr(size_t(parent.name() - wanted.c_str()));
  const int file = open_guarded(path, O_RDWR | O_CREAT | O_EXCL);
  if (file < 0 && errno == EEXIST) return "";
  if (file < 0) return refusal();
  const bool late =
      exists(parent, parent.name());  // another rank finished before we made the draft
  const bool written = !late && ((may_run_lstopo && (lstopo_writes("lstopo-no-graphics", file) ||
                                                     lstopo_writes("lstopo", file))) ||
                                 libhwloc_writes(file));
  close(file);
  if (written &&
      renameat(parent.descriptor(), draft.c_str(), parent.descriptor(), parent.name()) == 0)
    return "";
  unlinkat(parent.descriptor(), draft.c_str(), 0);
  if (late) return "";
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
