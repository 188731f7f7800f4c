// SPDX-License-Identifier: BSD-3-Clause
//
// regular_file.hpp - reads files whose names come from a setting, or that lie in the current
// directory or in a run, where other users may have put anything. Nothing here waits for a pipe or
// a device. `catalyst_scripts/safe_open.py` is the same in Python.
#pragma once

#include <sys/types.h>

#include <string>

namespace perfield {

// Opens a regular file for reading, O_CLOEXEC; -1 (errno) if that fails: EISDIR for a directory,
// EINVAL for a pipe, a device or a socket.
int open_regular(const char* path) noexcept;

// The same for a file below a directory, which may itself be a link. Links on the way are followed
// if they stay inside it, else EXDEV. EPERM for a file that belongs to neither the directory's
// owner, this user nor root.
int open_inside(const char* path, const char* directory) noexcept;

// Appends a whole regular file of at most `most` bytes. below: null, or a directory, as for
// open_inside. False (errno) if that fails: EFBIG for more.
bool read_regular(const std::string& path, size_t most, std::string* text,
                  const char* below = nullptr);

// The folder of a path's last part: "." of a name alone, "/" of what lies there.
std::string folder_of(const std::string& path);

// Why a file that was found by its name alone may be another user's work; "" if it is not. The file
// and the folders of its name and of what that links to must belong to this user or root, and
// nobody else may write them: neither all others, but for names in folders with the sticky bit, nor
// a group, but for the user's own. path: a file that exists.
std::string why_not_trusted(const std::string& path);

// Who of 0444 can read a file: by its mode, and by the folders on the way to it. Members of its
// group count only where `gid`, of a copy, is the same group.
mode_t readers(const std::string& path, gid_t gid);

}  // namespace perfield
