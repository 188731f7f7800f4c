// SPDX-License-Identifier: BSD-3-Clause
//
// draft.hpp - a file of the run directory that appears only when it is complete: it is written
// under its name with a dot before it, and renamed. Readers never see a part of it.
#pragma once

#include <string>

#include "platform/guarded.hpp"

namespace perfield {

class Draft {
 public:
  // Makes the draft; another process's draft of the same file is left alone.
  explicit Draft(const std::string& wanted);
  // Makes the draft under a name of its own, and replaces both a draft and a file that are there:
  // for a caller that holds a lock, so that they are of a process that was killed.
  Draft(const std::string& wanted, const std::string& draft);
  ~Draft();  // deletes a draft that was not published
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  int file() const { return file_; }        // open for writing; -1 if it could not be made
  int trouble() const { return trouble_; }  // then errno; EEXIST: file or draft are there
  bool is_there() const;                    // whether the file itself is there
  bool publish();                           // closes and renames it; false (errno) if that fails
  std::string refusal() const;              // "cannot write PATH: REASON"

 private:
  void make();
  // Of the draft, in the open folder.
  const char* draft_name() const { return draft_.c_str() + (parent_.name() - wanted_.c_str()); }

  const std::string wanted_, draft_;
  const GuardedParent parent_;
  int file_ = -1, trouble_ = 0;
  bool made_ = false;
};

}  // namespace perfield
