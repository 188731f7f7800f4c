// SPDX-License-Identifier: BSD-3-Clause
//
// follower.hpp - follows the events of one rank of a trace. Passes each to the recorder with its
// own stamp, so that regions, calls, messages and waits mean the same as in a measured program.
// Writes the rank's entries as the session does. One thread at a time. Throws std::bad_alloc;
// error() keeps write errors.
//
// StepRegion says which entries of the step region close a step. Everything before the first entry
// is setup; everything after the last step is teardown.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/append.hpp"
#include "recorder/file_operations.hpp"
#include "recorder/recorder.hpp"
#include "replay/trace.hpp"

namespace perfield {

// Where to write a rank's entries, and the facts about the rank's place in its `rank` entry. path
// "": writes nothing.
struct FollowedRank {
  std::string path;
  uint64_t run_id = 0;
  int32_t rank = 0;
  int32_t size = 1;
  std::string host, boot_id;
  uint64_t first_location = 0;  // its first thread's
};

class Follower {
 public:
  Follower(std::shared_ptr<const Trace> trace, FollowedRank rank);
  ~Follower() { out_.close(); }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // --- events: location and stamp, then what the trace holds ------------------------------------
  void enter(uint64_t location, uint64_t time, uint32_t region);
  void leave(uint64_t location, uint64_t time, uint32_t region);
  void enter_context(uint64_t location, uint64_t time, uint32_t context);
  void leave_context(uint64_t location, uint64_t time, uint32_t context);

  // otherwise: the call that it counts under if the location is in no call that sends.
  void sent(uint64_t location, uint64_t time, perfield_call otherwise, uint32_t comm,
            uint32_t receiver, uint64_t bytes);
  void received(uint64_t location, uint64_t time, uint32_t comm, uint32_t sender, uint64_t bytes);
  // One-sided transfers. Copies to and from devices come as the same events, but are no messages.
  void transfer(uint64_t location, uint64_t time, uint32_t window, uint32_t remote, uint64_t bytes);
  void collective(uint64_t location, uint64_t time, uint64_t sent, uint64_t received);
  void start_collective(uint64_t location, uint64_t time, uint64_t request);
  void end_collective(uint64_t location, uint64_t time, uint64_t sent, uint64_t received,
                      uint64_t request);

  // mode: 0 read, 1 write, 2 flush, which counts as a write without bytes.
  void begin_file(uint64_t location, uint64_t time, uint32_t handle, uint8_t mode,
                  uint64_t matching);
  // The operation continues in the background.
  void issue_file(uint64_t location, uint64_t time, uint32_t handle, uint64_t matching);
  void end_file(uint64_t location, uint64_t time, uint32_t handle, uint64_t bytes,
                uint64_t matching);

  // Readings of this thread's counters, right before it enters or leaves a region.
  void metric(uint64_t location, uint64_t time, uint32_t metric, const uint64_t* values,
              uint32_t n_values);
  // The tracing tool records from now on, or no longer.
  void record(uint64_t location, uint64_t time, bool on);
  // The tool wrote the location's buffer until then; that time is not the program's.
  void flush(uint64_t location, uint64_t time, uint64_t until);
  void program(uint64_t location, uint64_t time, uint32_t name, const uint32_t* arguments,
               uint32_t n_arguments);

  // After the last event: writes what follows the last step, and the `end` entry.
  void end(const std::string& reason);

  // --- results -----------------------------------------------------------------------------------
  uint64_t n_events() const noexcept { return n_events_; }
  uint64_t n_steps() const noexcept { return n_steps_; }
  const std::string& program_name() const noexcept { return program_; }
  const std::vector<std::string>& program_arguments() const noexcept { return arguments_; }
  // Regions that were entered more than once, and how often: most time first, at most `most`.
  std::vector<std::pair<std::string, uint64_t>> candidates(size_t most) const;
  // errno of the first failed write, and its file; 0: none.
  int error() const noexcept { return out_.error(); }
  const std::string& path() const noexcept { return rank_.path; }

 private:
  // A region of the trace in this rank.
  struct Plan {
    uint32_t id = Regions::kNone;  // of the recorder's regions
    uint16_t call = 0;
    bool closes_steps = false;
  };
  // A thread of the rank, and its open call.
  struct Thread {
    ThreadProfile* profile = nullptr;               // nullptr: too many threads
    uint16_t call = 0;                              // 0: none
    const perfield_operation* operation = nullptr;  // the same for a file operation
    int32_t level = 0;                              // leaving this level of the stack ends the call
    uint64_t stamp = 0;  // when it was entered; 0: while nothing was recorded
    uint64_t bytes_out = 0, bytes_in = 0;
    int32_t peer = 0;         // sender of the call's last message
    uint32_t n_received = 0;  // messages in this call
  };
  // A file operation: MPI's, or the program's own.
  struct Operation {
    uint16_t call;
    const perfield_operation* own;
    uint8_t mode;
    bool is_open;  // its thread is inside it, and in no call that contains it
  };

  // The thread of an event, and its stamp. nullptr: the event does not count.
  Thread* follow(uint64_t location, uint64_t time, uint64_t* now);
  const Plan& plan(uint32_t region);
  uint32_t region_of(uint32_t context) const noexcept;
  bool is_recording() const noexcept { return recorder_->state() == Activity::active; }
  void begin_call(Thread& thread, uint16_t call, int32_t level, uint64_t now) noexcept;
  void end_call(Thread& thread, uint64_t now) noexcept;
  void begin_operation(Thread& thread, const perfield_operation* operation, int32_t level,
                       uint64_t now) noexcept;
  void define_files() noexcept;
  void count_bytes(Thread& thread, uint16_t call, uint64_t out, uint64_t in) noexcept;
  void end_operation(Thread& thread, Operation& operation, uint64_t now) noexcept;

  void close(StepKind kind, uint64_t now);
  void write_step(StepKind kind, uint64_t now);
  void write_rank_entry();
  void write_end_entry(const std::string& reason);
  void note_regions(const unsigned char* body, size_t bytes);

  const std::shared_ptr<const Trace> trace_;
  const FollowedRank rank_;
  const std::unique_ptr<Recorder> recorder_;
  FileOperations files_{};  // once defined
  std::vector<perfield_quantity> counters_;
  Appender out_;
  std::vector<unsigned char> unwritten_;  // a step that is not written

  std::unordered_map<uint64_t, Thread> threads_;  // by location
  uint64_t last_location_ = 0;
  Thread* last_thread_ = nullptr;
  std::unordered_map<uint32_t, Plan> plans_;                       // by region
  std::map<std::pair<uint32_t, uint64_t>, Operation> operations_;  // by handle and matching id
  std::unordered_map<uint64_t, uint16_t> started_;  // request -> its non-blocking collective

  std::string program_;
  std::vector<std::string> arguments_;
  uint64_t n_events_ = 0, n_steps_ = 0;
  uint64_t last_ = 0;       // stamp of the last event
  bool has_steps_ = false;  // setup has ended
  uint64_t begin_ = 0;      // of the open step
  uint64_t counting_since_ = 0, measured_ = 0, flushed_ = 0;
  uint16_t flags_ = 0;
  uint64_t faults_ = 0, overflowed_ = 0;
  struct Spent {
    uint64_t count = 0, ns = 0;
  };
  std::vector<Spent> spent_;  // by region
};

}  // namespace perfield
