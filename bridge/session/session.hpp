// SPDX-License-Identifier: BSD-3-Clause
//
// session.hpp - one process's measurement from waking to its end: decides when a step closes, what
// of it is measured and what is written. All functions may be called from any thread, take one
// lock, never throw, and do nothing before wake() and after end(), nor when a signal handler calls
// them in the middle of one of them.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "configuration/config.hpp"
#include "configuration/step_call.hpp"
#include "format/append.hpp"
#include "platform/process.hpp"
#include "recorder/recorder.hpp"
#include "recorder/source.h"
#include "run_directory/run_directory.hpp"
#include "run_directory/staging.hpp"
#include "session/gate.hpp"
#include "session/in_process.hpp"
#include "session/mesh.hpp"
#include "session/values.hpp"
#include "session/windows.hpp"

namespace perfield {

class Session {
 public:
  static constexpr size_t kGatherBytes = 64 * 1024;  // of entries, where writing is slow

  void wake(int rank, int size, const std::string& mpi) noexcept;
  void setup_done() noexcept;
  void close_step(int64_t label, double time) noexcept;
  // A step of a program that calls no perfield_step: its number is counted, its time unknown.
  void close_step_of_region() noexcept { close_step(int64_t(step_), std::nan("")); }
  // Steps that the configuration closes: session_sites.cpp.
  void close_step_of_call() noexcept;
  void close_window(uint64_t number) noexcept;
  // Writes what is known of the call sites, once a second at most.
  void note_sites() noexcept;
  // Pictures of the step just closed, inside the program: where every rank closes it, explicitly.
  void show_in_process() noexcept;
  void pause() noexcept;
  void resume() noexcept;
  void end(const std::string& reason) noexcept;
  void print_summary() noexcept;

  bool awake() const noexcept { return recorder().state() != Activity::asleep; }

  void present(const char* source) noexcept;
  bool has_source(const char* name) noexcept;
  void setting(const char* key, char* value, size_t room) noexcept;
  void before_close(void (*function)()) noexcept;
  void hook_expected(const char* name, const char* sentence) noexcept;
  void hook_hit(const char* name) noexcept;
  void fault(const char* kind) noexcept;  // counted, told at the end
  void counts_dropped(const char* kind, const char* sentence,
                      const std::atomic<uint64_t>* count) noexcept;

  // What perfield.h tells the program of its step; nothing while nothing is measured.
  std::vector<perfield_value> field_values() noexcept;
  std::vector<perfield_region_value> region_values() noexcept;
  std::vector<perfield_message_value> message_values() noexcept;
  int world_size() noexcept;

  // Describes the mesh under the session's lock: `describe` gets this rank's mesh.
  template <typename F>
  void with_mesh(F describe) noexcept;

 private:
  enum class Phase { asleep, setup, steps, ended };

  // Does something small under the lock; without memory, or where the lock turns it away, nothing.
  template <typename F>
  void through_gate(F action) noexcept {
    try {
      Gate::Pass pass(gate_);
      if (pass) action();
    } catch (...) {
    }
  }

  void start_run(int rank, int size, const std::string& mpi);
  void write_rank_entry(int size, const std::string& mpi);
  bool has(const char* source) const noexcept;  // to be asked under the lock
  void write_end_entry(const std::string& reason);
  void follow_steps();
  bool steps_are_configured() noexcept;
  void write_sites();
  void tell_of_sites();
  void close(int64_t label, double time, uint64_t now) noexcept;
  void count_step(int64_t label, double time, uint64_t now);
  void define_regions();
  void choose_counters();
  void define_quantities();
  void tell_of_counters();
  void note_placement();

  // Takes what was counted into carry and stops the step's clock.
  void stop_clock(uint64_t now) noexcept;
  void hand_in() noexcept;
  void cut_clock(uint64_t now) noexcept;
  void stop_measuring() noexcept;  // for good
  void give_up(const char* what) noexcept;
  void start_clock() noexcept;
  bool is_measured(uint64_t step) const noexcept;
  // The fixed part of the open step's entry.
  StepBody body_of(StepKind kind, int64_t label, double time, uint64_t now,
                   const ProcessFigures& figures) noexcept;
  // Reads the values of the step under the lock, which takes no time of the step.
  template <typename Row, typename F>
  std::vector<Row> look_at_step(F rows) noexcept;
  void write_step(StepKind kind, uint64_t index, int64_t label, double time, uint64_t now);
  uint64_t fields_interval() const noexcept;
  template <typename F>
  void between_steps(F action) noexcept;
  void finish_in_process() noexcept;
  void store_fields() noexcept;
  void flush_when_due(uint64_t now) noexcept;
  void check_writing() noexcept;
  void check_staging() noexcept;
  void limit_record() noexcept;
  void share_entries(uint64_t factor);

  Gate gate_;
  Phase phase_ = Phase::asleep;
  Config config_;
  RunDirectory run_;
  NodeFiles files_;
  int rank_ = 0, size_ = 0;
  Appender stream_;
  Mesh mesh_;
  InProcess in_process_;
  StepValues values_;

  uint64_t step_ = 0;                           // index of the step that is open
  uint32_t span_ = 0;                           // steps in carry
  uint64_t sum_every_ = 1, measure_every_ = 1;  // as configured, or more near the limit
  uint64_t sharing_ = 1, times_shared_ = 0;     // by what factor more, and how often it grew
  uint64_t next_fields_ = 0;  // the simulation's own fields are due from this step on
  uint16_t flags_ = 0;
  int64_t last_label_ = 0;
  uint64_t begin_ticks_ = 0;     // of the steps in carry
  uint64_t counting_since_ = 0;  // ticks; valid while active
  uint64_t measured_ticks_ = 0;
  int paused_ = 0;
  uint64_t own_ticks_ = 0, total_own_ticks_ = 0;
  uint64_t write_ticks_ = 0, last_flush_ticks_ = 0, wake_ticks_ = 0;
  uint64_t resident_ = 0, resident_ticks_ = 0, placement_ticks_ = 0;
  ProcessFigures figures_;
  std::string cpu_set_;
  std::vector<std::string> sources_;
  std::vector<void (*)()> before_close_;
  struct Hook {
    std::string sentence;
    uint64_t hits = 0;
  };
  std::map<std::string, Hook> hooks_;
  struct Dropped {
    std::string sentence;
    const std::atomic<uint64_t>* count;
  };
  std::map<std::string, Dropped> dropped_;  // by sources, which count them
  std::map<std::string, uint64_t> faults_;
  uint64_t stream_faults_ = 0, overflowed_ = 0;
  bool summary_due_ = false;

  StepCall step_call_;
  Windows windows_;
  bool windowed_ = false;  // steps are closed by the clock, on a thread of its own
  std::atomic<bool> told_configured_{false};
  std::atomic<uint64_t> sites_ticks_{0};  // when the call sites were written last
  pid_t main_thread_ = 0;
  bool stage_failed_ = false;
};

// perfield's own work on this thread, as long as it lives: nothing is counted as the program's.
class OwnWork {
 public:
  OwnWork() { perfield_own_begin(); }
  ~OwnWork() { perfield_own_end(); }
};

// The session of this process; never destroyed.
Session& session() noexcept;

template <typename F>
void Session::with_mesh(F describe) noexcept {
  if (!awake()) return;
  OwnWork own;
  try {
    Gate::Pass pass(gate_);
    if (!pass) return;
    if (phase_ != Phase::ended) describe(mesh_);
    check_writing();
  } catch (...) {
    fault("mesh_out_of_memory");
  }
}

}  // namespace perfield
