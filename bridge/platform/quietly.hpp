// SPDX-License-Identifier: BSD-3-Clause
//
// quietly.hpp - writes without the signals that a failed write may raise. By default such a signal
// would end the measured program over perfield's own files and messages.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string>

namespace perfield {

// Blocks a signal on this thread while it lives, and discards one that arrived meanwhile.
class HeldBack {
 public:
  explicit HeldBack(int signal) noexcept {
    sigset_t pending;
    sigemptyset(&held_);
    sigaddset(&held_, signal);
    sigpending(&pending);
    came_before_ = sigismember(&pending, signal) == 1;
    pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  ~HeldBack() {
    const timespec now{};
    if (!came_before_) sigtimedwait(&held_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldBack(const HeldBack&) = delete;
  HeldBack& operator=(const HeldBack&) = delete;

 private:
  sigset_t held_, before_;
  bool came_before_;
};

// Writes a small text into an open file, in one piece, and closes it. False if that failed (errno;
// ENOSPC if only a part was written).
inline bool write_and_close(int file, const std::string& text) noexcept {
  constexpr int kMostInterrupts = 100;  // by signals
  ssize_t written = -1;
  int reason = ENOSPC;
  {
    HeldBack signal(SIGXFSZ);
    for (int i = 0; i < kMostInterrupts; ++i) {
      written = write(file, text.data(), text.size());
      if (written >= 0 || errno != EINTR) break;
    }
    if (written < 0) reason = errno;
  }
  const bool whole = written == static_cast<ssize_t>(text.size());
  const bool closed = close(file) == 0;  // network file systems report a full disk here
  if (!whole) errno = reason;
  return whole && closed;
}

// Prints a text on stderr, even if nobody reads it any more.
inline void say(const std::string& text) noexcept {
  HeldBack pipe(SIGPIPE);
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

}  // namespace perfield
