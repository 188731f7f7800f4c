// SPDX-License-Identifier: BSD-3-Clause
//
// event_log.hpp - keeps each message and collective operation of a logged step, in 1 MB that is
// mapped at the first one. Any thread appends, without a lock; what finds no room is counted. The
// session begins and takes the log, one thread at a time. Nothing waits for a thread that is late:
// its event may cost the log of that step, never a wrong one.
#pragma once

#include <atomic>
#include <cstdint>

#include "format/events.hpp"
#include "recorder/activity.hpp"

namespace perfield {

class ThreadProfile;

class EventLog {
 public:
  static constexpr size_t kBytes = size_t{1} << 20;
  static constexpr uint32_t kCapacity = kBytes / sizeof(LoggedEvent);

  explicit EventLog(Activity& activity) : activity_(activity) {}
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // --- by the thread of an event; `logs` of the activity says whether to call them ---------------
  // Returns a token for end_send; 0 if the event is not kept.
  [[gnu::noinline]] uint32_t add(ThreadProfile& profile, const LoggedEvent& event) noexcept;
  // A send's wait has ended. False if that send is not in the present log. own: whether this thread
  // has begun it.
  [[gnu::noinline]] bool end_send(ThreadProfile& profile, uint32_t token, uint64_t wait_begin,
                                  uint64_t wait_end, bool* own) noexcept;

  // --- by the session ----------------------------------------------------------------------------
  // Logs this step from now on, unless it does already.
  void begin(uint64_t step) noexcept;
  bool is_of(uint64_t step) const noexcept { return has_begun_ && step_ == step; }
  // What was kept, until the next begin(). all_late: a thread was amid an event, so nothing was.
  struct Taken {
    LoggedEvent* events = nullptr;
    uint32_t n = 0;
    uint64_t lost = 0, lost_begin = 0, lost_end = 0;  // events, and stamps in ticks
  };
  // Stops logging. is_late(): whether any thread is amid an event.
  template <class IsLate>
  Taken take(IsLate is_late) noexcept {
    if (!has_begun_) return {};
    activity_.messages.fetch_and(uint8_t(~Activity::logged), std::memory_order_seq_cst);
    has_begun_ = false;
    constexpr int kPatience = 1000;  // an event takes some ns
    bool late = is_late();
    for (int i = 0; late && i < kPatience; ++i) late = is_late();
    busy_ = late;
    return stopped(late);
  }
  // Whether the step after a late thread may be logged.
  template <class IsLate>
  bool is_free(IsLate is_late) noexcept {
    if (busy_) busy_ = is_late();
    return !busy_;
  }
  uint64_t lost() const noexcept { return all_lost_; }  // in all steps
  void lose(uint64_t events) noexcept { all_lost_ += events; }
  uint64_t bytes() const noexcept { return most_ * sizeof(LoggedEvent); }  // that it has touched

 private:
  Taken stopped(bool late) noexcept;

  Activity& activity_;
  LoggedEvent* events_ = nullptr;
  std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> lost_begin_{0}, lost_end_{0};
  std::atomic<uint32_t> epoch_{0};  // of the present log, 1 to 0xFFFF
  bool has_begun_ = false, busy_ = false;
  uint64_t step_ = 0, all_lost_ = 0, most_ = 0;
};

}  // namespace perfield
