// SPDX-License-Identifier: BSD-3-Clause
//
// regular_file.cpp - see regular_file.hpp. It looks at a file before it opens it, since opening a
// device may already change it, and again at what it has opened.
#include "platform/regular_file.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace perfield {
namespace {

int closed_for_error(int file) noexcept {
  const int reason = errno;
  close(file);
  errno = reason;
  return -1;
}

bool is_regular(const struct stat& facts) noexcept {
  if (S_ISREG(facts.st_mode)) return true;
  errno = S_ISDIR(facts.st_mode) ? EISDIR : EINVAL;
  return false;
}

// Whether a group is that of this user alone, as many systems give one to each user.
bool is_own_group(gid_t gid) {
  char of_user[4096], of_group[4096];
  passwd user{}, *user_found = nullptr;
  group members{}, *group_found = nullptr;
  if (getpwuid_r(geteuid(), &user, of_user, sizeof of_user, &user_found) != 0 || !user_found ||
      user.pw_gid != gid ||
      getgrgid_r(gid, &members, of_group, sizeof of_group, &group_found) != 0 || !group_found ||
      strcmp(user.pw_name, members.gr_name) != 0)
    return false;
  for (char** name = members.gr_mem; *name; ++name)
    if (strcmp(*name, user.pw_name) != 0) return false;
  return true;
}

// Beside the group of its mode, a list of access rights may name others.
bool has_access_list(const std::string& path) noexcept {
  return getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

std::string who_else_writes(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return std::string("cannot be seen: ") + strerror(errno);
  if (facts.st_uid != geteuid() && facts.st_uid != 0)
    return "belongs to another user (number " + std::to_string(facts.st_uid) + ")";
  if (S_ISDIR(facts.st_mode) && (facts.st_mode & S_ISVTX)) return "";
  if (facts.st_mode & S_IWOTH) return "can be written by all users";
  if ((facts.st_mode & S_IWGRP) && (!is_own_group(facts.st_gid) || has_access_list(path)))
    return "can be written by a group (number " + std::to_string(facts.st_gid) + ")";
  return "";
}

}  // namespace

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

int open_regular(const char* path) noexcept {
  struct stat facts {};
  if (stat(path, &facts) != 0 || !is_regular(facts)) return -1;
  const int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return -1;
  return fstat(file, &facts) == 0 && is_regular(facts) ? file : closed_for_error(file);
}

int open_inside(const char* path, const char* directory) noexcept {
  constexpr int kFolder = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  char home[PATH_MAX], whole[PATH_MAX];
  if (!realpath(directory, home) || !realpath(path, whole)) return -1;
  const size_t length = home[1] ? strlen(home) : 0;  // "/" ends in the slash of what is below it
  if (strncmp(whole, home, length) != 0 || whole[length] != '/') {
    errno = EXDEV;
    return -1;
  }
  // What realpath saw may have been replaced since, so no link is followed any more.
  struct stat of_home {
  }, facts{};
  int folder = open(home, kFolder);
  if (folder >= 0 && fstat(folder, &of_home) != 0) folder = closed_for_error(folder);
  char* name = whole + length + 1;
  for (char* slash; folder >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
    *slash = '\0';
    const int inner = openat(folder, name, kFolder);
    closed_for_error(folder);
    folder = inner;
  }
  if (folder < 0) return -1;
  int file = -1;
  if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && is_regular(facts))
    file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  closed_for_error(folder);
  if (file < 0) return -1;
  if (fstat(file, &facts) != 0 || !is_regular(facts)) return closed_for_error(file);
  if (facts.st_uid == 0 || facts.st_uid == geteuid() || facts.st_uid == of_home.st_uid) return file;
  errno = EPERM;
  return closed_for_error(file);
}

bool read_regular(const std::string& path, size_t most, std::string* text, const char* below) {
  const int file = below ? open_inside(path.c_str(), below) : open_regular(path.c_str());
  if (file < 0) return false;
  char part[65536];
  size_t n = 0;
  int reason = 0;
  for (ssize_t got; reason == 0 && (got = read(file, part, sizeof part)) != 0;) {
    if (got < 0) {
      reason = errno == EINTR ? 0 : errno;
      continue;
    }
    n += size_t(got);
    if (n > most)
      reason = EFBIG;
    else
      text->append(part, size_t(got));
  }
  close(file);
  errno = reason;
  return reason == 0;
}

std::string why_not_trusted(const std::string& path) {
  char whole[PATH_MAX];
  if (!realpath(path.c_str(), whole)) return std::string("cannot be seen: ") + strerror(errno);
  const std::string of_file = who_else_writes(whole);
  if (!of_file.empty()) return of_file;
  for (const std::string& folder : {folder_of(path), folder_of(whole)}) {
    const std::string of_folder = who_else_writes(folder);
    if (!of_folder.empty())
      return "is in " + (folder == "." ? "a directory that " : folder + ", which ") + of_folder;
  }
  return "";
}

mode_t readers(const std::string& path, gid_t gid) {
  char whole[PATH_MAX];
  struct stat facts {};
  if (!realpath(path.c_str(), whole) || stat(whole, &facts) != 0) return S_IRUSR;
  mode_t mode = facts.st_mode & 0444;
  if (facts.st_gid != gid && !(mode & S_IROTH)) mode &= ~mode_t{S_IRGRP};
  for (std::string folder = folder_of(whole);; folder = folder_of(folder)) {
    if (stat(folder.c_str(), &facts) != 0) return S_IRUSR;
    if (!(facts.st_mode & S_IXOTH)) {
      mode &= ~mode_t{S_IROTH};
      if (!(facts.st_mode & S_IXGRP) || facts.st_gid != gid) mode &= ~mode_t{S_IRGRP};
    }
    if (folder == "/") return mode;
  }
}

}  // namespace perfield
