// SPDX-License-Identifier: BSD-3-Clause
//
// devices.cpp - see devices.hpp. Files of /proc and /sys only: no driver is asked.
#include "platform/devices.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

namespace perfield {
namespace {

constexpr int kMostDescriptors = 65536;  // looked at
constexpr size_t kMostDevices = 256;     // kept

// Files whose names begin so, with a number behind it.
const char* const kNumbered[] = {"/dev/nvidia", "/dev/dri/renderD", "/dev/infiniband/uverbs",
                                 "/dev/hfi1_", "/dev/cxi"};
const char kAmd[] = "/dev/kfd";  // stands for all of AMD's GPUs
const char kNvidiaCards[] = "/proc/driver/nvidia/gpus";

bool is_device(const char* file) {
  for (const char* beginning : kNumbered) {
    const size_t length = strlen(beginning);
    if (strncmp(file, beginning, length) == 0 && isdigit(static_cast<unsigned char>(file[length])))
      return file[length + strspn(file + length, "0123456789")] == 0;
  }
  return strcmp(file, kAmd) == 0;
}

// "" if the text is not a PCI address, as 0000:3b:00.0.
std::string pci_address(const char* text) {
  unsigned domain, bus, device, function;
  int end = 0;
  const int found = sscanf(text, "%x:%x:%x.%x%n", &domain, &bus, &device, &function, &end);
  if (found != 4 || text[end] != 0) return "";
  char address[64];
  snprintf(address, sizeof address, "%04x:%02x:%02x.%x", domain, bus, device, function);
  return address;
}

std::string link_end(const std::string& link) {
  char target[PATH_MAX];
  const ssize_t length = readlink(link.c_str(), target, sizeof target - 1);
  if (length <= 0) return "";
  target[length] = 0;
  const char* slash = strrchr(target, '/');
  return pci_address(slash ? slash + 1 : target);
}

// NVIDIA's driver has no files in /sys; it says the number of each card in a text.
std::string nvidia_card(unsigned number) {
  std::string found;
  DIR* cards = opendir(kNvidiaCards);
  if (!cards) return "";
  while (const dirent* card = readdir(cards)) {
    const std::string path = std::string(kNvidiaCards) + "/" + card->d_name + "/information";
    FILE* information = card->d_name[0] == '.' ? nullptr : fopen(path.c_str(), "re");
    if (!information) continue;
    char line[256];
    unsigned minor = 0;
    while (fgets(line, sizeof line, information))
      if (sscanf(line, "Device Minor: %u", &minor) == 1 && minor == number)
        found = pci_address(card->d_name);
    fclose(information);
  }
  closedir(cards);
  return found;
}

std::string pci_of(const char* file, dev_t device) {
  if (strncmp(file, kNumbered[0], strlen(kNumbered[0])) == 0)
    return nvidia_card(unsigned(atoi(file + strlen(kNumbered[0]))));
  const std::string number = std::to_string(major(device)) + ":" + std::to_string(minor(device));
  const std::string address = link_end("/sys/dev/char/" + number + "/device");
  if (!address.empty()) return address;
  return link_end("/sys/class/infiniband" + std::string(strrchr(file, '/')) + "/device");
}

}  // namespace

bool has_devices() {
  for (const char* file : {"/dev/dri", kAmd, "/dev/infiniband", "/dev/hfi1_0", "/dev/cxi0"})
    if (access(file, F_OK) == 0) return true;
  return has_nvidia_driver();
}

// The first program that uses a device may make its file.
bool has_nvidia_driver() {
  return access("/dev/nvidiactl", F_OK) == 0 || access("/proc/driver/nvidia/version", F_OK) == 0;
}

std::vector<OpenDevice> open_devices() {
  std::map<std::string, std::string> found;
  DIR* descriptors = opendir("/proc/self/fd");
  if (!descriptors) return {};
  for (int n = 0; n < kMostDescriptors && found.size() < kMostDevices; ++n) {
    const dirent* descriptor = readdir(descriptors);
    if (!descriptor) break;
    char file[256];
    const int folder = dirfd(descriptors);
    const ssize_t length = readlinkat(folder, descriptor->d_name, file, sizeof file - 1);
    if (length <= 0) continue;
    file[length] = 0;
    struct stat facts {};
    if (!is_device(file) || found.count(file)) continue;
    if (fstatat(folder, descriptor->d_name, &facts, 0) != 0 || !S_ISCHR(facts.st_mode)) continue;
    found[file] = pci_of(file, facts.st_rdev);
  }
  closedir(descriptors);
  std::vector<OpenDevice> devices;
  for (const auto& [file, pci] : found) devices.push_back({file, pci});
  return devices;
}

}  // namespace perfield
