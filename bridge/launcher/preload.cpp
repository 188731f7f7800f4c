// SPDX-License-Identifier: BSD-3-Clause
//
// preload.cpp - see preload.hpp. Libraries are looked for where an installation, a virtual
// environment or a build tree puts them, seen from this executable.
#include "launcher/preload.hpp"

#include <glob.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "launcher/elf_program.hpp"

namespace perfield {
namespace {

std::string own_directory() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string self(path, length > 0 ? static_cast<size_t>(length) : 0);
  return self.substr(0, self.rfind('/'));
}

// The whole path of one of our libraries; "" if it is nowhere.
std::string find_library(const std::string& name) {
  for (const char* place :
       {"/../" PERFIELD_LIBDIR "/", "/../lib*/", "/../lib/python3*/site-packages/perfield/lib/",
        "/../lib/python3*/dist-packages/perfield/lib/", "/../session/", "/../sources/",
        "/../sources/*/"}) {
    glob_t found{};
    const std::string pattern = own_directory() + place + name;
    std::string path;
    char whole[PATH_MAX];
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0 && realpath(found.gl_pathv[0], whole))
      path = whole;
    globfree(&found);
    if (!path.empty()) return path;
  }
  return "";
}

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

// "openmpi" or "mpich": by the libraries the program brings, else by the launcher.
std::string mpi_of(const std::vector<std::string>& needed) {
  for (const std::string& name : needed) {
    if (starts_with(name, "libmpich.so") || name == "libmpi.so.12") return "mpich";
    if (starts_with(name, "libmpi.so")) return "openmpi";
  }
  const bool by_hydra = std::getenv("HYDI_CONTROL_FD") || std::getenv("MPI_LOCALRANKID");
  return by_hydra && !std::getenv("OMPI_COMM_WORLD_RANK") ? "mpich" : "openmpi";
}

}  // namespace

Preload choose_preload(const std::string& program) {
  const ElfFile elf = read_elf(program);
  Preload preload;
  const auto refuse = [&](const std::string& reason) {
    preload.libraries.clear();
    preload.refusal = program + " runs unmeasured: " + reason;
    return preload;
  };
  if (gains_rights(program))
    return refuse(
        "it runs with other rights than its user (set-user-id), and the loader then "
        "ignores LD_PRELOAD; measure a copy without these rights");
  if (elf.other_machine)
    return refuse("it is built for another word length or processor than perfield");
  if (elf.is_elf && !elf.asks_for_loader)
    return refuse("it is linked statically, so nothing can be preloaded; link it dynamically");

  const std::vector<std::string> needed = needed_libraries(program);
  const std::string mpi = mpi_of(needed);
  std::vector<std::string> wanted = {"libperfield_" + mpi + ".so"};
  for (const std::string& name : needed)
    if (name == "libOpenFOAM.so") wanted.push_back("libperfield_openfoam.so");
  for (const std::string& name : wanted) {
    const std::string path = find_library(name);
    if (path.empty() && mpi == "mpich")
      return refuse(
          "it uses MPICH, and this perfield is built for Open MPI only; build the "
          "program with Open MPI's mpicc");
    if (path.empty())
      return refuse(name + " is not where it belongs, near " + own_directory() +
                    "; install perfield again");
    if (path.find_first_of(" :") != std::string::npos)
      return refuse("LD_PRELOAD cannot name " + path +
                    ", which has a blank or a colon in it; install perfield elsewhere");
    preload.libraries.push_back(path);
  }
  return preload;
}

std::string preload_list(const Preload& preload, std::string* added) {
  added->clear();
  for (const std::string& path : preload.libraries) *added += (added->empty() ? "" : ":") + path;
  const char* before = std::getenv("LD_PRELOAD");
  const char* earlier = std::getenv("PERFIELD_PRELOADED");
  std::string kept = before ? before : "";
  if (earlier && *earlier && starts_with(kept, earlier)) kept.erase(0, std::string(earlier).size());
  while (!kept.empty() && (kept[0] == ':' || kept[0] == ' ')) kept.erase(0, 1);
  return kept.empty() ? *added : *added + ":" + kept;
}

}  // namespace perfield
