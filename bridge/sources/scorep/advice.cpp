// SPDX-License-Identifier: BSD-3-Clause
//
// advice.cpp - see advice.hpp.
#include "sources/scorep/advice.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "platform/elf_symbols.hpp"
#include "recorder/source.h"

namespace perfield::scorep {
namespace {

constexpr size_t kLongest = 5000;  // bytes of a sentence with a path

// Path of the wrappers for the program's MPI, beside this library: the value for LD_PRELOAD.
void path_of_wrappers(char* path, size_t bytes) noexcept {
  Dl_info self{};
  dladdr(reinterpret_cast<const void*>(&path_of_wrappers), &self);
  const char* own = self.dli_fname ? self.dli_fname : "";
  const char* slash = strrchr(own, '/');
  const bool is_openmpi = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
  snprintf(path, bytes, "%.*slibperfield_%s.so", slash ? int(slash - own + 1) : 0, own,
           is_openmpi ? "openmpi" : "mpich");
}

void warn_with_lines(const char* topic, const char* sentence) noexcept {
  char path[4096], text[kLongest];
  path_of_wrappers(path, sizeof path);
  snprintf(text, sizeof text,
           "%s link the program with `perfield setup paths --libs --mpi`, start it by perfield "
           "run, or with\n"
           "export LD_PRELOAD=%s\n"
           "export SCOREP_SUBSTRATE_PLUGINS=perfield",
           sentence, path);
  perfield_warn_once_per_node(topic, text);
}

// Whether the program's file has undefined symbols of perfield.
bool program_calls_perfield() noexcept {
  const MappedFile program("/proc/self/exe");
  const ElfSymbols symbols(program, SHT_DYNSYM);
  ElfW(Sym) symbol{};
  for (uint64_t i = 0; i < symbols.count && symbols.read(i, &symbol); ++i)
    if (symbol.st_shndx == SHN_UNDEF && strncmp(symbols.name(symbol), "perfield_", 9) == 0)
      return true;
  return false;
}

}  // namespace

void advise_wrappers() noexcept {
  static std::atomic<bool> warned{false};
  if (warned.load(std::memory_order_relaxed) || warned.exchange(true)) return;
  warn_with_lines("scorep-peers",
                  "Score-P does not say who belongs to a communicator or window, so the peers of "
                  "messages outside MPI_COMM_WORLD are not known; they are counted, and drawn as a "
                  "stub below their rank. With perfield's MPI wrappers above those of Score-P all "
                  "peers are known:");
}

void look_for_calls_in_vain() noexcept {
  void* program = dlopen(nullptr, RTLD_LAZY);  // with the libraries loaded with it
  const bool is_seen = program && dlsym(program, "perfield_step");
  if (program) dlclose(program);
  if (!is_seen && program_calls_perfield())
    warn_with_lines("scorep-calls",
                    "this program calls functions of perfield.h, which it cannot find: Score-P "
                    "keeps its plugins to itself. For these calls to be heard,");
}

}  // namespace perfield::scorep
