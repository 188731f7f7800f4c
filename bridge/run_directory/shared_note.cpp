// SPDX-License-Identifier: BSD-3-Clause
//
// shared_note.cpp - see shared_note.hpp. Writes a draft under a name that no reader looks at, then
// links it: a link appears at once and never replaces another. On file systems without links it
// uses a rename that replaces nothing.
#include "run_directory/shared_note.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "platform/quietly.hpp"
#include "run_directory/run_directory.hpp"

namespace perfield {
namespace {

bool write_draft(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  ssize_t written = -1;
  int reason = ENOSPC;  // for a short write
  {
    HeldBack signal(SIGXFSZ);
    written = write(file, text.data(), text.size());
    if (written < 0) reason = errno;
  }
  const bool whole = written == ssize_t(text.size());
  const bool closed = close(file) == 0;  // network file systems report a full disk here
  if (!whole) errno = reason;
  return whole && closed;
}

bool name_it(const std::string& draft, const std::string& path) {
  if (link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST) return true;
#ifdef SYS_renameat2
  constexpr unsigned kNoReplace = 1;
  const int reason = errno;
  if (syscall(SYS_renameat2, AT_FDCWD, draft.c_str(), AT_FDCWD, path.c_str(), kNoReplace) == 0 ||
      errno == EEXIST)
    return true;
  errno = reason;
#endif
  return false;
}

}  // namespace

bool leave_note(const std::string& path, const std::string& text) {
  if (access(path.c_str(), F_OK) == 0) return true;
  std::string draft = path + "-" + stream_stem() + "-" + std::to_string(getpid());
  draft.insert(path.rfind('/') + 1, ".draft");
  const bool good = write_draft(draft, text) && name_it(draft, path);
  const int reason = errno;
  unlink(draft.c_str());
  errno = reason;
  return good;
}

}  // namespace perfield
