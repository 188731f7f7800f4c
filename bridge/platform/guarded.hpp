// SPDX-License-Identifier: BSD-3-Clause
//
// guarded.hpp - opens files of the run directory, and of the stage, where other users can write
// beside it or in it. Each component is opened relative to the one before and may not be a symbolic
// link, and the directory must still belong to the owner seen when it was claimed. It keeps no
// descriptor, which the program might close. Never throws or allocates; errno says why it failed.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <string>

namespace perfield {

// From now on paths below `directory` (absolute) are opened with these checks. One directory per
// process; a later call replaces the one before.
void guard_directory(const std::string& directory, uid_t owner) noexcept;
// The same for the directory of this node's staged files.
void guard_stage(const std::string& directory, uid_t owner) noexcept;

// The open directory in which a path lies, and the path's last name, for openat, linkat and the
// like. For a path that is not guarded: AT_FDCWD and the whole path.
class GuardedParent {
 public:
  explicit GuardedParent(const char* path) noexcept;  // path must outlive this
  ~GuardedParent();
  GuardedParent(const GuardedParent&) = delete;
  GuardedParent& operator=(const GuardedParent&) = delete;

  bool found() const noexcept { return descriptor_ != kNone; }  // if not, errno says why
  bool guarded() const noexcept { return name_ != path_; }
  bool may_own(uid_t user) const noexcept;  // a file in it: its owner and this user
  bool owners_alone() const noexcept { return owners_alone_; }  // nobody else may enter the run
  int descriptor() const noexcept { return descriptor_; }
  const char* name() const noexcept { return name_; }

 private:
  static constexpr int kNone = -1;
  const char* path_;
  const char* name_;
  int descriptor_;
  uid_t owner_ = 0;
  bool owners_alone_ = false;
};

// open(2) of a regular file, with O_CLOEXEC | O_NOFOLLOW: EINVAL for a pipe or a device, which
// might hold up the program. Below a guarded directory, EPERM for a file of another user: never
// pass O_TRUNC, which acts before that is known. What it makes below a directory of its owner alone
// (mode 700) is the owner's alone, too.
int open_guarded(const std::string& path, int flags, mode_t mode = 0666) noexcept;

// unlink(2); follows no link on the way.
void unlink_guarded(const std::string& path) noexcept;

}  // namespace perfield
