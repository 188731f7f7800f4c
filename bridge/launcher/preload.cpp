// SPDX-License-Identifier: BSD-3-Clause
//
// preload.cpp - see preload.hpp. Looks for libraries where an installation, a virtual environment
// or a build tree puts them, relative to this executable.
#include "launcher/preload.hpp"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <sstream>

#include "configuration/selection.hpp"
#include "launcher/elf_program.hpp"
#include "launcher/sanitizers.hpp"
#include "launcher/score_p.hpp"
#include "platform/devices.hpp"
#include "platform/preload_list.hpp"

namespace perfield {
namespace {

std::string own_directory() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string self(path, length > 0 ? static_cast<size_t>(length) : 0);
  return self.substr(0, self.rfind('/'));
}

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

const char* const kMpichs[] = {"libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12"};

// "openmpi", "mpich", "mpi_abi" or "", by the libraries that the program loads.
std::string mpi_of(const std::vector<std::string>& needed) {
  for (const std::string& name : needed) {
    if (starts_with(name, "libmpi_abi.so")) return "mpi_abi";
    for (const char* mpich : kMpichs)
      if (name == mpich) return "mpich";
    // Cray names them after the compiler, too: libmpi_gnu_91.so.12.
    const size_t version = name.find(".so.12");
    if (starts_with(name, "libmpich.so") ||
        (starts_with(name, "libmpi_") && version != std::string::npos &&
         version + 6 == name.size()))
      return "mpich";
    if (starts_with(name, "libmpi.so")) return "openmpi";
  }
  return "";
}

// The same, by the launcher.
std::string mpi_of_launcher() {
  if (std::getenv("OMPI_COMM_WORLD_RANK")) return "openmpi";
  for (const char* name :
       {"HYDI_CONTROL_FD", "MPI_LOCALRANKID", "MV2_COMM_WORLD_RANK", "PALS_RANKID"})
    if (std::getenv(name)) return "mpich";
  return "";
}

// The same, if only one MPI can be loaded.
std::string only_mpi_for(const std::string& program) {
  const bool openmpi = finds_library(program, "libmpi.so.40");
  bool mpich = false;
  for (const char* name : kMpichs) mpich = mpich || finds_library(program, name);
  return openmpi == mpich ? "" : openmpi ? "openmpi" : "mpich";
}

// The wrappers for the program's MPI. If it is unknown, those for both: the wrappers of the absent
// MPI sleep. These leave out functions that not every MPI has.
std::vector<std::string> choose_wrappers(const std::string& program,
                                         const std::vector<std::string>& needed, std::string mpi) {
  const std::string brought = mpi_of(needed);
  if (!brought.empty()) mpi = brought;
  if (mpi == "auto") mpi = mpi_of_launcher();
  if (mpi.empty()) mpi = only_mpi_for(program);
  if (!mpi.empty()) return {"libperfield_" + mpi + ".so"};
  std::vector<std::string> both;
  for (const char* name : {"libperfield_openmpi_mpi3.so", "libperfield_mpich_mpi3.so"})
    if (!find_library(name).empty()) both.push_back(name);
  if (both.empty()) both.push_back("libperfield_openmpi.so");
  return both;
}

// "libperfield_openmpi.so" -> "libperfield_inject_openmpi.so"
std::string injector_beside(std::string wrappers) {
  return wrappers.insert(sizeof "libperfield_" - 1, "inject_");
}

// What is known of the program, and how it is to be measured.
struct Program {
  std::vector<std::string> needed;  // libraries
  Hooks hooks;
  bool score_p;
  const Config& config;

  bool needs(const char* library) const {
    return std::find(needed.begin(), needed.end(), library) != needed.end();
  }
};

// Which source goes into which programs, beside the wrappers of MPI: a row for each.
struct Source {
  const char* library;
  bool (*is_wanted)(const Program& program);
};
constexpr Source kSources[] = {
    {"libperfield_openfoam.so", [](const Program& p) { return p.needs("libOpenFOAM.so"); }},
    {"libperfield_functions.so",
     [](const Program& p) {
       if (p.score_p) return false;  // it has the hooks, and calls us
       if (p.hooks == Hooks::asked) return true;
       // What the program loads later may call them, too: as far as a function is chosen by name.
       return p.hooks == Hooks::none &&
              Selection(p.config.regions, p.config.step_region).any_function();
     }},
    {"libperfield_nvml.so", [](const Program& p) { return p.config.nvml && has_nvidia_driver(); }},
    {"libperfield_io.so", [](const Program& p) { return p.config.io; }},
    {"libperfield_memory.so", [](const Program&) { return true; }},
    {"libperfield_adaptors.so", [](const Program&) { return true; }},
    {"libperfield_energy.so", [](const Program& p) { return !p.config.energy.empty(); }},
    {"libperfield_sampling.so", [](const Program& p) { return p.config.sample > 0; }},
    {"libperfield_ompt.so",
     [](const Program& p) {
       if (p.score_p) return false;  // it follows OpenMP itself
       return p.needs("libomp.so.5") || p.needs("libiomp5.so") || p.needs("libgomp.so.1");
     }},
};

// What LD_PRELOAD names beside the list of an earlier perfield-exec.
std::vector<std::string> preloaded_before() {
  const char* list = std::getenv("LD_PRELOAD");
  const char* ours = std::getenv("PERFIELD_PRELOADED");
  std::istringstream kept(without_ours(list ? list : "", ours ? ours : ""));
  std::vector<std::string> paths;
  for (std::string path; std::getline(kept, path, ':');) paths.push_back(path);
  return paths;
}

bool can_be_preloaded(const std::string& path) {
  return !path.empty() && path.find_first_of(" :") == std::string::npos;
}

}  // namespace

std::string find_library(const std::string& name) {
  for (const char* place :
       {"/../" PERFIELD_LIBDIR "/", "/../lib*/", "/../lib*/python3*/site-packages/perfield/lib/",
        "/../lib*/python3*/dist-packages/perfield/lib/", "/../session/", "/../sources/",
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

Preload choose_preload(const std::string& program, const Config& config) {
  const ElfFile elf = read_elf(program);
  Preload preload;
  const auto refuse = [&](const std::string& reason) {
    preload.libraries.clear();
    preload.refusal = program + " runs unmeasured: " + reason;
    return preload;
  };
  if (gains_rights(program))
    return refuse(
        "it runs with other rights than its user (set-user-id), so the loader "
        "ignores LD_PRELOAD; measure a copy without these rights");
  if (elf.other_machine)
    return refuse(
        "it was built for another word length or processor than perfield; build it for that of "
        "perfield, or install perfield for its own");
  if (elf.is_elf && elf.loader.empty())
    return refuse("it is linked statically, so nothing can be preloaded; link it dynamically");
  if (elf.loader.find("/ld-musl-") != std::string::npos)
    return refuse(
        "it was built for the C library musl, whose loader cannot preload libraries of glibc; "
        "build it with glibc, or perfield with musl (make recorder)");

  const Needed needed = needed_libraries(program);
  Program found{needed.names, needed.hooks, false, config};
  const std::vector<std::string> before = preloaded_before();
  const bool is_first = std::any_of(before.begin(), before.end(), is_sanitizer);
  for (size_t i = 0; i < needed.names.size(); ++i) {
    if (is_first || !is_sanitizer(needed.names[i])) continue;
    const std::string& runtime = needed.files[i];
    if (!can_be_preloaded(runtime))
      return refuse("it needs a sanitizer's runtime, " + needed.names[i] +
                    ", which must come before perfield's libraries, and " +
                    (runtime.empty() ? "it was not found"
                                     : "LD_PRELOAD cannot name " + runtime +
                                           ", which contains a blank or a colon") +
                    "; name the file yourself: LD_PRELOAD=/path/to/" + needed.names[i] +
                    " perfield-exec ...");
    preload.sanitizers.push_back(runtime);
  }
  preload.score_p = found.score_p = brings_score_p(found.needed);
  std::vector<std::string> wanted = choose_wrappers(program, found.needed, config.mpi);
  preload.n_wrappers = wanted.size();
  for (const Source& source : kSources)
    if (source.is_wanted(found)) wanted.push_back(source.library);
  if (!config.inject.empty()) {
    // Behind the wrappers, which then measure the delay as waiting.
    const std::string name = injector_beside(wanted[0]);
    preload.injects = preload.n_wrappers == 1 && !find_library(name).empty();
    if (preload.injects)
      wanted.push_back(name);
    else
      preload.notice =
          preload.n_wrappers == 1
              ? "no latencies are injected: perfield has no injector for this program's MPI"
              : "no latencies are injected: it is not known which MPI this program loads; set "
                "PERFIELD_MPI to openmpi or mpich";
  }
  for (const std::string& name : wanted) {
    const std::string path = find_library(name);
    if (path.empty() && name == "libperfield_mpi_abi.so")
      return refuse(
          "it uses the binary interface of the MPI standard (libmpi_abi.so), for which this "
          "perfield has no wrappers; install a wheel of perfield, or build it with MPICH 5's "
          "compiler, or link the program with an MPI's own library (mpicc)");
    const bool mpich = name == "libperfield_mpich.so";
    if (path.empty() && (mpich || name == "libperfield_openmpi.so") &&
        !find_library(mpich ? "libperfield_openmpi.so" : "libperfield_mpich.so").empty())
      return refuse(std::string("it uses ") + (mpich ? "MPICH" : "Open MPI") +
                    ", but this perfield is built for " + (mpich ? "Open MPI" : "MPICH") +
                    " only; install perfield again with that MPI's compiler on the PATH, or "
                    "name it (make recorder MPICC=...)");
    if (path.empty())
      return refuse(name + " is missing near " + own_directory() + "; install perfield again");
    if (!can_be_preloaded(path))
      return refuse("LD_PRELOAD cannot name " + path +
                    ", which contains a blank or a colon; install perfield elsewhere");
    preload.libraries.push_back(path);
  }
  return preload;
}

std::vector<std::pair<std::string, std::string>> tool_variables() {
  struct Tool {
    const char *variable, *earlier_name, *library;
  };
  // Always set, as other programs ignore them. Kokkos ends a program that sets both of its
  // variables to different values.
  constexpr Tool kTools[] = {
      {"KOKKOS_TOOLS_LIBS", "KOKKOS_PROFILE_LIBRARY", "libperfield_kokkos.so"},
      {"CUDA_INJECTION64_PATH", nullptr, "libperfield_cupti.so"},  // built if CUPTI is installed
      {"OMP_TOOL_LIBRARIES", nullptr, "libperfield_ompt.so"},      // runtimes that are loaded late
  };
  std::vector<std::pair<std::string, std::string>> variables;
  for (const Tool& tool : kTools) {
    if (std::getenv(tool.variable) || (tool.earlier_name && std::getenv(tool.earlier_name)))
      continue;
    const std::string path = find_library(tool.library);
    if (!path.empty()) variables.emplace_back(tool.variable, path);
  }
  return variables;
}

std::string preload_list(const Preload& preload, std::string* added) {
  added->clear();
  const auto add = [](std::string* list, const std::string& path) {
    *list += (list->empty() ? "" : ":") + path;
  };
  for (const auto& libraries : {preload.sanitizers, preload.libraries})
    for (const std::string& path : libraries) add(added, path);
  std::string first, last;
  for (const std::string& path : preloaded_before()) add(is_sanitizer(path) ? &first : &last, path);
  std::string list;
  for (const std::string& part : {first, *added, last})
    if (!part.empty()) add(&list, part);
  return list;
}

}  // namespace perfield
