// SPDX-License-Identifier: BSD-3-Clause
//
// energy.cpp - libperfield_energy.so: reads the energy of a node's packages (sockets) from the
// kernel's powercap counters (RAPL on Intel and AMD processors). The counters cover the whole node,
// so one rank reads them: the first that closes a step, or its setup.
#include <dirent.h>
#include <errno.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "platform/kept_file.hpp"
#include "recorder/source.h"
#include "sources/now.hpp"

namespace {

constexpr const char* kSource = "energy";
constexpr uint64_t kReadEvery_ns = 10'000'000;
constexpr int kMostPackages = 32;

struct Package {
  char counter[PATH_MAX];  // a file
  perfield::KeptFile file;
  uint64_t range;  // the counter wraps after this much energy
  uint64_t last;
  perfield_quantity quantity;
};
Package packages[kMostPackages];
int n_packages = 0;

// The text of a file that is read only once; false, with errno set, if it cannot be read.
bool read_once(const char* path, char* text, size_t room) noexcept {
  perfield::KeptFile file;
  const bool good = file.read(path, text, room);
  const int error = errno;
  file.close();
  errno = error;
  return good;
}

bool read_number(perfield::KeptFile* file, const char* path, uint64_t* number) noexcept {
  char text[32], *end = nullptr;
  if (!file->read(path, text, sizeof text)) return false;
  *number = strtoull(text, &end, 10);
  return end != text;
}

// Adds a zone of the folder if it is a package.
void add_zone(const char* folder, const char* zone) noexcept {
  char path[PATH_MAX + 300], name[64], number[32];
  snprintf(path, sizeof path, "%s/%s/name", folder, zone);
  if (n_packages >= kMostPackages || !read_once(path, name, sizeof name)) return;
  name[strcspn(name, "\n")] = 0;
  if (strncmp(name, "package-", 8) != 0) return;
  Package& package = packages[n_packages];
  snprintf(path, sizeof path, "%s/%s/max_energy_range_uj", folder, zone);
  package.range = read_once(path, number, sizeof number) ? strtoull(number, nullptr, 10) : 0;
  if (snprintf(package.counter, sizeof package.counter, "%s/%s/energy_uj", folder, zone) >=
      int(sizeof package.counter))
    return;
  if (!read_number(&package.file, package.counter, &package.last)) {
    char sentence[PATH_MAX + 400];
    snprintf(sentence, sizeof sentence,
             "the energy of this node is not measured: %s cannot be read (%s); let its "
             "administrator allow it, or leave out `energy`",
             package.counter, strerror(errno));
    perfield_warn_once_per_node(kSource, sentence);
    package.file.close();  // the next zone is to open its own
    return;
  }
  char quantity[80];
  snprintf(quantity, sizeof quantity, "energy_%s", name);
  for (char* at = quantity; *at; ++at)
    if (*at == '-') *at = '_';
  package.quantity = perfield_quantity_define(
      quantity, "uJ", PERFIELD_PER_RANK, PERFIELD_STEPS_SUM, PERFIELD_THREADS_SUM,
      "energy that the package (socket) used; reported by one rank of its node");
  ++n_packages;
}

void find_packages() noexcept {
  char folder[PATH_MAX];
  perfield_source_setting("energy", folder, sizeof folder);
  if (!folder[0] || !perfield_source_first_on_node(kSource)) return;
  DIR* directory = opendir(folder);
  bool any = false;
  while (const dirent* zone = directory ? readdir(directory) : nullptr) {
    // intel-rapl:0 is a package; intel-rapl:0:0 is a part of it.
    const char* colon = strchr(zone->d_name, ':');
    if (!colon || strchr(colon + 1, ':')) continue;
    any = true;
    add_zone(folder, zone->d_name);
  }
  if (directory) closedir(directory);
  if (any) return;
  char sentence[PATH_MAX + 300];
  snprintf(sentence, sizeof sentence,
           "the energy of this node is not measured: its kernel has no counters in %s, as on "
           "most virtual machines; leave out `energy` there",
           folder);
  perfield_warn_once_per_node(kSource, sentence);
}

void read_packages() noexcept {
  for (int i = 0; i < n_packages; ++i) {
    Package& package = packages[i];
    uint64_t now = 0;
    if (!read_number(&package.file, package.counter, &now)) continue;
    uint64_t used = now - package.last;
    if (now < package.last) used = package.range > package.last ? used + package.range : 0;
    package.last = now;
    perfield_own_end();
    perfield_quantity_add(package.quantity, used);
    perfield_own_begin();
  }
}

void before_close() {
  static bool is_known = false;
  static uint64_t read_ns = 0;
  const uint64_t now = perfield::now_ns();
  if (is_known && (!n_packages || now - read_ns < kReadEvery_ns)) return;
  read_ns = now;
  perfield_own_begin();  // keeps this read out of the program's I/O
  if (is_known)
    read_packages();
  else
    find_packages();
  perfield_own_end();
  is_known = true;
}

__attribute__((constructor)) void announce() {
  perfield_source_present(kSource);
  perfield_source_before_close(before_close);
}

}  // namespace
