// SPDX-License-Identifier: BSD-3-Clause
//
// draft.cpp - see draft.hpp.
#include "run_directory/draft.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace perfield {
namespace {

std::string hidden(std::string path) {
  path.insert(path.rfind('/') + 1, ".");
  return path;
}

}  // namespace

Draft::Draft(const std::string& wanted)
    : wanted_(wanted), draft_(hidden(wanted)), parent_(wanted_.c_str()) {
  if (!parent_.found())
    trouble_ = errno;
  else if (is_there())
    trouble_ = EEXIST;
  else
    make();
}

Draft::Draft(const std::string& wanted, const std::string& draft)
    : wanted_(wanted), draft_(draft), parent_(wanted_.c_str()) {
  if (!parent_.found()) {
    trouble_ = errno;
    return;
  }
  unlinkat(parent_.descriptor(), draft_name(), 0);
  make();
}

void Draft::make() {
  file_ = open_guarded(draft_, O_RDWR | O_CREAT | O_EXCL);
  trouble_ = file_ < 0 ? errno : 0;
  made_ = file_ >= 0;
}

Draft::~Draft() {
  if (file_ >= 0) close(file_);
  if (made_) unlinkat(parent_.descriptor(), draft_name(), 0);
}

bool Draft::is_there() const {
  struct stat facts {};
  return fstatat(parent_.descriptor(), parent_.name(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
}

bool Draft::publish() {
  const bool closed = close(file_) == 0;  // network file systems report a full disk here
  file_ = -1;
  if (!closed ||
      renameat(parent_.descriptor(), draft_name(), parent_.descriptor(), parent_.name()) != 0) {
    trouble_ = errno;
    return false;
  }
  made_ = false;
  return true;
}

std::string Draft::refusal() const {
  return "cannot write " + wanted_ + ": " + std::strerror(trouble_);
}

}  // namespace perfield
