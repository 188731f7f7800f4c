// SPDX-License-Identifier: BSD-3-Clause
//
// shared_note.cpp - see shared_note.hpp. Writes a draft under a name that no reader looks at, then
// links it: a link appears at once and never replaces another. On file systems without links it
// uses a rename that replaces nothing.
#include "run_directory/shared_note.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "platform/guarded.hpp"
#include "platform/quietly.hpp"
#include "run_directory/run_directory.hpp"

namespace perfield {
namespace {

// Where a note lies: the open directory, and the names of the draft and the note in it.
struct Names {
  int directory;
  const char *draft, *note;
};

bool write_draft(const std::string& path, const std::string& text) {
  const int file = open_guarded(path, O_WRONLY | O_CREAT | O_EXCL);
  return file >= 0 && write_and_close(file, text);
}

bool name_it(const Names& at) {
  if (linkat(at.directory, at.draft, at.directory, at.note, 0) == 0 || errno == EEXIST) return true;
#ifdef SYS_renameat2
  constexpr unsigned kNoReplace = 1;
  const int reason = errno;
  if (syscall(SYS_renameat2, at.directory, at.draft, at.directory, at.note, kNoReplace) == 0 ||
      errno == EEXIST)
    return true;
  errno = reason;
#endif
  return false;
}

}  // namespace

bool leave_note(const std::string& path, const std::string& text) {
  const GuardedParent parent(path.c_str());
  if (!parent.found()) return false;
  struct stat facts {};
  if (fstatat(parent.descriptor(), parent.name(), &facts, AT_SYMLINK_NOFOLLOW) == 0) return true;
  std::string draft = path + "-" + stream_stem() + "-" + std::to_string(getpid());
  draft.insert(path.rfind('/') + 1, ".draft");
  const Names names = {parent.descriptor(), draft.c_str() + (parent.name() - path.c_str()),
                       parent.name()};
  unlinkat(names.directory, names.draft, 0);  // of a killed process with our number
  const bool good = write_draft(draft, text) && name_it(names);
  const int reason = errno;
  unlinkat(names.directory, names.draft, 0);
  errno = reason;
  return good;
}

}  // namespace perfield
