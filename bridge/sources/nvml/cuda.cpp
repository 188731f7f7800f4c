// SPDX-License-Identifier: BSD-3-Clause
//
// cuda.cpp - see cuda.hpp. The functions are those of CUDA's driver API, declared as in cuda.h.
#include "sources/nvml/cuda.hpp"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>

#include <cstdio>
#include <cstring>

#include "sources/find_symbol.hpp"

namespace perfield {
namespace {

constexpr const char* kDriver = "libcuda.so";

struct Cuda {
  int (*device_count)(int* count);
  int (*device_at)(int* device, int ordinal);
  int (*primary_context)(int device, unsigned* flags, int* is_active);
  int (*device_of_thread)(int* device);  // of the context of this thread
  int (*pci_address)(char* text, int room, int device);
  int (*uuid)(unsigned char bytes[16], int device);  // of the part, if the device is divided
};

struct Search {
  unsigned long long loaded, before;  // how many objects have been loaded, now and the last time
  char path[PATH_MAX];                // of the driver; "" if it is not among them
};

int look_at(dl_phdr_info* object, size_t, void* data) noexcept {
  auto* search = static_cast<Search*>(data);
  search->loaded = object->dlpi_adds;
  if (search->loaded == search->before) return 1;  // nothing new
  const char* slash = strrchr(object->dlpi_name, '/');
  const char* name = slash ? slash + 1 : object->dlpi_name;
  if (strncmp(name, kDriver, strlen(kDriver)) != 0) return 0;
  snprintf(search->path, sizeof search->path, "%s", object->dlpi_name);
  return 1;
}

// The driver, once the program has loaded it. nullptr: not yet, or it is too old.
const Cuda* driver() noexcept {
  static Cuda cuda;
  static Search search;
  static bool is_found = false;
  if (is_found) return &cuda;
  search.path[0] = 0;
  dl_iterate_phdr(look_at, &search);
  search.before = search.loaded;
  if (!search.path[0]) return nullptr;
  // dl_iterate_phdr locks the list of objects, so the library is opened afterwards.
  void* library = dlopen(search.path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (!library) return nullptr;
  is_found = find_symbol(library, "cuDeviceGetCount", &cuda.device_count) &&
             find_symbol(library, "cuDeviceGet", &cuda.device_at) &&
             find_symbol(library, "cuDevicePrimaryCtxGetState", &cuda.primary_context) &&
             find_symbol(library, "cuCtxGetDevice", &cuda.device_of_thread) &&
             find_symbol(library, "cuDeviceGetPCIBusId", &cuda.pci_address);
  find_symbol(library, "cuDeviceGetUuid_v2", &cuda.uuid);  // of CUDA 11.4 and newer
  return is_found ? &cuda : nullptr;
}

void name_instance(const Cuda& cuda, int device, char* text, size_t room) noexcept {
  unsigned char id[16];
  text[0] = 0;
  if (!cuda.uuid || cuda.uuid(id, device) != 0) return;
  size_t length = size_t(snprintf(text, room, "MIG"));
  for (int n = 0; n < 16; ++n) {
    const bool begins_group = n == 0 || n == 4 || n == 6 || n == 8 || n == 10;
    length += size_t(
        snprintf(text + length, room - length, "%s%02x", begins_group ? "-" : "", unsigned(id[n])));
  }
}

}  // namespace

int cuda_devices(CudaDevice* devices, int room) noexcept {
  const Cuda* cuda = driver();
  int count = 0, found = 0, of_thread = -1;
  // Fails if the program has not started CUDA, or has ended it.
  if (!cuda || cuda->device_count(&count) != 0) return 0;
  if (cuda->device_of_thread(&of_thread) != 0) of_thread = -1;
  for (int n = 0; n < count && found < room; ++n) {
    int device = 0, is_active = 0;
    unsigned flags = 0;
    if (cuda->device_at(&device, n) != 0) continue;
    if (device != of_thread &&
        (cuda->primary_context(device, &flags, &is_active) != 0 || !is_active))
      continue;
    CudaDevice& one = devices[found];
    if (cuda->pci_address(one.pci, sizeof one.pci, device) != 0) continue;
    name_instance(*cuda, device, one.instance, sizeof one.instance);
    ++found;
  }
  return found;
}

}  // namespace perfield
