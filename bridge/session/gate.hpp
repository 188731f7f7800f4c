// SPDX-License-Identifier: BSD-3-Clause
//
// gate.hpp - the session's one lock. It refuses a thread that holds it already. A signal handler
// that ends the program or calls perfield may interrupt that very thread inside perfield, and must
// not wait for itself.
#pragma once

#include <mutex>

namespace perfield {

extern thread_local bool inside_gate __attribute__((tls_model("initial-exec")));

class Gate {
 public:
  // Holds the lock while it lives, if the thread was let in: `if (Pass pass(gate); pass) ...`.
  class Pass {
   public:
    explicit Pass(Gate& gate) noexcept : gate_(inside_gate ? nullptr : &gate) {
      if (!gate_) return;
      inside_gate = true;
      gate_->mutex_.lock();
    }
    ~Pass() {
      if (!gate_) return;
      gate_->mutex_.unlock();
      inside_gate = false;
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    explicit operator bool() const noexcept { return gate_ != nullptr; }

   private:
    Gate* gate_;
  };

  // For a child process, which lacks the thread that held the lock. Refuses the child's thread for
  // good.
  static void close_for_this_thread() noexcept { inside_gate = true; }

 private:
  std::mutex mutex_;
};

}  // namespace perfield
