// SPDX-License-Identifier: BSD-3-Clause
//
// windows.hpp - steps by wall-clock time. A separate thread sleeps until the next boundary of a
// time grid that all ranks share, then reports which window has passed. It blocks all signals. The
// program never waits for it, not even at the end. Where no step closes for long, the same kind of
// thread lets sources hand in (Session::between_closes).
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstdint>

namespace perfield {

class Windows {
 public:
  using Close = void (*)(uint64_t number);

  // Calls close(number) at the end of each window, on that thread. Window numbers count from the
  // window in which the run started (run_start_ns, CLOCK_REALTIME). Boundaries are multiples of
  // `seconds` on that clock. False if no thread can be made. Call it once.
  bool start(double seconds, int64_t run_start_ns, Close close) noexcept;
  // Stops the windows. Any thread may call it, also in a signal handler; does not wait.
  void stop() noexcept;

  bool running() const noexcept { return running_.load(std::memory_order_relaxed); }
  // Seconds from the start of the run to the end of a window.
  double end_s(uint64_t number) const noexcept;

 private:
  static void* run(void* windows) noexcept;
  int64_t boundary_ns(uint64_t number) const noexcept {
    return first_ns_ + int64_t(number + 1) * length_ns_;
  }
  // Sleeps until then; false if it was woken to stop.
  bool sleep_until(int64_t time_ns) noexcept;

  int64_t length_ns_ = 1, first_ns_ = 0, run_start_ns_ = 0;
  Close close_ = nullptr;
  sem_t stop_;
  std::atomic<bool> running_{false};
};

}  // namespace perfield
