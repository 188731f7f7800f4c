// SPDX-License-Identifier: BSD-3-Clause
//
// guarded.cpp - see guarded.hpp.
#include "platform/guarded.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

namespace perfield {
namespace {

constexpr int kDirectory = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct Directory {
  char path[PATH_MAX] = "";
  size_t length = 0;
  uid_t owner = 0;
};
Directory run;

bool is_guarded(const char* path) noexcept {
  return run.length && !strncmp(path, run.path, run.length) && path[run.length] == '/';
}

void close_quietly(int file) noexcept {
  const int reason = errno;
  close(file);
  errno = reason;
}

int open_run(bool* owners_alone) noexcept {
  const int directory = open(run.path, O_PATH | kDirectory);
  if (directory < 0) return directory;
  struct stat facts;
  if (fstat(directory, &facts) == 0) {
    *owners_alone = !(facts.st_mode & 077);
    if (facts.st_uid == run.owner) return directory;
    errno = EPERM;  // another directory has taken its name
  }
  close_quietly(directory);
  return -1;
}

}  // namespace

void guard_directory(const std::string& directory, uid_t owner) noexcept {
  const bool fits = directory.size() < sizeof run.path;
  run.length = fits ? directory.size() : 0;
  memcpy(run.path, directory.data(), run.length);
  run.path[run.length] = '\0';
  run.owner = owner;
}

GuardedParent::GuardedParent(const char* path) noexcept
    : path_(path), name_(path), descriptor_(AT_FDCWD) {
  if (!is_guarded(path)) return;
  name_ = path + run.length + 1;
  descriptor_ = open_run(&owners_alone_);
  while (descriptor_ >= 0) {
    const char* slash = strchr(name_, '/');
    if (!slash) return;
    char room[NAME_MAX + 1] = "";
    const size_t length = size_t(slash - name_);
    const bool fits = length < sizeof room;
    if (fits) memcpy(room, name_, length);
    const int inner = fits ? openat(descriptor_, room, O_PATH | kDirectory) : -1;
    if (!fits) errno = ENAMETOOLONG;
    close_quietly(descriptor_);
    descriptor_ = inner;
    name_ = slash + 1;
  }
  descriptor_ = kNone;
}

GuardedParent::~GuardedParent() {
  if (descriptor_ >= 0) close_quietly(descriptor_);
}

int open_guarded(const std::string& path, int flags, mode_t mode) noexcept {
  const GuardedParent parent(path.c_str());
  if (!parent.found()) return -1;
  flags |= O_CLOEXEC | O_NOFOLLOW;
  if (!parent.guarded()) return open(path.c_str(), flags, mode);
  if (parent.owners_alone()) mode &= 0700;
  const int file = openat(parent.descriptor(), parent.name(), flags | O_NONBLOCK | O_NOCTTY, mode);
  if (file < 0) return file;
  struct stat facts;
  if (fstat(file, &facts) == 0) {
    if (S_ISREG(facts.st_mode)) return file;
    errno = EINVAL;
  }
  close_quietly(file);
  return -1;
}

}  // namespace perfield
