// SPDX-License-Identifier: BSD-3-Clause
//
// child.cpp - see child.hpp.
#include "platform/child.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "platform/clock.hpp"

namespace perfield {

Child::Child(const char* const* command, int file, uint64_t most_bytes, const char* variable,
             const char* value)
    : child_(-1), start_ns_(monotonic_ns()) {
  if (ftruncate(file, 0) != 0 || lseek(file, 0, SEEK_SET) != 0) return;
  child_ = fork();
  if (child_ > 0) setpgid(child_, child_);  // so that what it starts is killed with it
  if (child_ != 0) return;
  setpgid(0, 0);
  const int nothing = open("/dev/null", O_RDWR);
  if (nothing < 0) _exit(127);
  dup2(nothing, STDIN_FILENO);
  dup2(file, STDOUT_FILENO);
  dup2(nothing, STDERR_FILENO);
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur > most_bytes) {
    limit.rlim_cur = most_bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (variable) setenv(variable, value, 0);
  execvp(command[0], const_cast<char* const*>(command));
  _exit(127);
}

int Child::end(int patience_ms) {
  if (child_ <= 0) return status_;
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child_, &status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
    if (int64_t(monotonic_ns()) - start_ns_ >= int64_t(patience_ms) * 1'000'000) {
      kill(-child_, SIGKILL);
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
      child_ = -1;
      return status_;
    }
    usleep(1000);
  }
  // Where this process ignores SIGCHLD, nobody learns the status: the output must show it.
  if (ended < 0) status_ = 0;
  if (ended == child_ && WIFEXITED(status)) status_ = WEXITSTATUS(status);
  child_ = -1;
  return status_;
}

}  // namespace perfield
