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
Directory run, stage;

bool is_below(const Directory& directory, const char* path) noexcept {
  return directory.length && !strncmp(path, directory.path, directory.length) &&
         path[directory.length] == '/';
}

void set(Directory* directory, const std::string& path, uid_t owner) noexcept {
  const bool fits = path.size() < sizeof directory->path;
  directory->length = fits ? path.size() : 0;
  memcpy(directory->path, path.data(), directory->length);
  directory->path[directory->length] = '\0';
  directory->owner = owner;
}

void close_quietly(int file) noexcept {
  const int reason = errno;
  close(file);
  errno = reason;
}

int open_it(const Directory& guarded, bool* owners_alone) noexcept {
  const int directory = open(guarded.path, O_PATH | kDirectory);
  if (directory < 0) return directory;
  struct stat facts;
  if (fstat(directory, &facts) == 0) {
    *owners_alone = !(facts.st_mode & 077);
    if (facts.st_uid == guarded.owner) return directory;
    errno = EPERM;  // another directory has taken its name
  }
  close_quietly(directory);
  return -1;
}

}  // namespace

void guard_directory(const std::string& directory, uid_t owner) noexcept {
  set(&run, directory, owner);
}

void guard_stage(const std::string& directory, uid_t owner) noexcept {
  set(&stage, directory, owner);
}

GuardedParent::GuardedParent(const char* path) noexcept
    : path_(path), name_(path), descriptor_(AT_FDCWD) {
  const Directory* const guarded = is_below(run, path)     ? &run
                                   : is_below(stage, path) ? &stage
                                                           : nullptr;
  if (!guarded) return;
  owner_ = guarded->owner;
  name_ = path + guarded->length + 1;
  descriptor_ = open_it(*guarded, &owners_alone_);
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

bool GuardedParent::may_own(uid_t user) const noexcept {
  return !guarded() || user == owner_ || user == geteuid();
}

GuardedParent::~GuardedParent() {
  if (descriptor_ >= 0) close_quietly(descriptor_);
}

int open_guarded(const std::string& path, int flags, mode_t mode) noexcept {
  const GuardedParent parent(path.c_str());
  if (!parent.found()) return -1;
  flags |= O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  if (parent.owners_alone()) mode &= 0700;
  const int file = openat(parent.descriptor(), parent.name(), flags, mode);
  if (file < 0) return file;
  struct stat facts;
  if (fstat(file, &facts) == 0) {
    const bool regular = S_ISREG(facts.st_mode);
    if (regular && parent.may_own(facts.st_uid)) return file;
    errno = regular ? EPERM : EINVAL;
  }
  close_quietly(file);
  return -1;
}

void unlink_guarded(const std::string& path) noexcept {
  const GuardedParent parent(path.c_str());
  if (parent.found()) unlinkat(parent.descriptor(), parent.name(), 0);
}

}  // namespace perfield
