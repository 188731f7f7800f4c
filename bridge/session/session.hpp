// SPDX-License-Identifier: BSD-3-Clause
//
// session.hpp - one process's measurement from its start to its end. Joins the step clock, the
// writer of the run directory, the messages to the user and the pictures inside the program. Any
// thread may call any function. They take one lock and never throw. They do nothing before start(),
// after end(), or when a signal handler interrupts one of them.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "configuration/config.hpp"
#include "recorder/mesh_quantities.hpp"
#include "recorder/recorder.hpp"
#include "recorder/source.h"
#include "session/agreed_steps.hpp"
#include "session/configured_steps.hpp"
#include "session/gate.hpp"
#include "session/in_process.hpp"
#include "session/notices.hpp"
#include "session/offered_steps.hpp"
#include "session/process_watch.hpp"
#include "session/step_clock.hpp"
#include "session/step_writer.hpp"
#include "session/values.hpp"
#include "session/windows.hpp"

namespace perfield {

// Marks perfield's own work on this thread while it lives: nothing counts as the program's.
class OwnWork {
 public:
  OwnWork() { perfield_own_begin(); }
  ~OwnWork() { perfield_own_end(); }
};

class Session {
 public:
  void start(int rank, int size, const std::string& mpi) noexcept;
  void setup_done() noexcept;
  void close_step(int64_t label, double time) noexcept;
  // A step of a program that does not call perfield_step: its number counts, its time is unknown.
  void close_step_of_region() noexcept { close_step(int64_t(clock_.step()), std::nan("")); }
  // A step that a source proposes, if nothing else closes steps.
  void step_offered(int64_t label, double time) noexcept;
  // Steps that the configuration closes.
  // before_newest: so many of the found steps came after this one.
  void close_step_of_call(uint32_t before_newest = 0) noexcept;
  // Collective operations end steps, so this rank refuses those on which others may agree.
  void refuse_steps() noexcept;
  // Steps that perfield found are none: setup goes on.
  void restart_steps() noexcept;
  void close_clock_window() noexcept;
  // Steps on which the ranks agree: looks whether they do, and closes or takes back what follows.
  void ask_ranks_about_steps() noexcept;
  void close_window(uint64_t number) noexcept;
  // Writes the known call sites, once a second at most.
  void note_sites() noexcept;
  // Shows the step just closed inside the program: where every rank closes it by an explicit call.
  void show_in_process() noexcept;
  void end(const std::string& reason) noexcept;
  void print_summary() noexcept;

  bool is_started() const noexcept { return recorder().state() != Activity::inactive; }

  void present(const char* source) noexcept;
  bool has(const char* source) const noexcept;  // call it under the lock
  // Calls the function, under the lock, where no step has closed for some time.
  void between_closes(void (*function)()) noexcept;
  bool is_ending() const noexcept { return is_ending_; }  // the last step closes
  // A source works for long in the middle of a step, which goes on afterwards.
  void exclude_begin() noexcept;
  void exclude_end() noexcept;
  void fault(const char* kind) noexcept;  // counted, reported at the end

  // The values of a step for perfield.h's functions; none while nothing is measured.
  std::vector<perfield_value> field_values() noexcept;
  std::vector<perfield_value> closed_values() noexcept;  // of the step that closed last
  std::vector<perfield_region_value> region_values() noexcept;
  std::vector<perfield_message_value> message_values() noexcept;
  // Describes the mesh under the session's lock: passes this rank's mesh to `describe`.
  template <typename F>
  void with_mesh(F describe) noexcept;

  // Runs a small action under the lock. Does nothing without memory, or if the lock refuses the
  // thread.
  template <typename F>
  void under_lock(F action) noexcept {
    try {
      Gate::Pass pass(gate_);
      if (pass) action();
    } catch (...) {
    }
  }
  // Runs action(now) as perfield's own work under the lock, while this process is measured.
  template <typename F>
  void while_measuring(F action) noexcept {
    if (!is_started()) return;
    const uint64_t now = recorder().clock.ticks();
    OwnWork own;
    under_lock([&] {
      if (phase_ == Phase::measuring) action(now);
    });
  }
  // Its parts, for functions of source.h and perfield.h that concern one alone. Use them under the
  // lock, which is also held while a step closes.
  const Config& config() const noexcept { return config_; }
  StepClock& step_clock() noexcept { return clock_; }
  StepWriter& writer() noexcept { return writer_; }
  Notices& notices() noexcept { return notices_; }
  int world_size() const noexcept { return size_; }
  // What sources want to be called for.
  struct {
    std::vector<void (*)()> on_start;
    int (*before_end)(perfield_clock*) = nullptr;  // learns more about this node's clock
  } hooks;

 private:
  enum class Phase { inactive, measuring, ended };

  bool start_run(int size, const std::string& mpi);
  void log_start(const std::string& mpi, const std::vector<ConfigOrigin>& keys);
  std::string first_closing_in_words() const;
  void close_program_step(int64_t label, double time) noexcept;
  void hand_in_between_closes() noexcept;
  template <typename F>
  void close_by(uint64_t now, F write) noexcept;
  void write_window(uint32_t n, uint64_t now);
  void write_part_of_step(uint64_t now);
  // Whether an entry is a part of a step that is still open, as far as anyone knows.
  bool is_part(StepKind kind) const noexcept { return kind == StepKind::teardown && !is_ending_; }
  void wait_for_window(uint64_t n) noexcept;
  void close(int64_t label, double time, uint64_t now) noexcept;
  void close_and_write(int64_t label, double time, uint64_t now);
  // The fixed part of the open step's entry.
  StepBody body_of(StepKind kind, int64_t label, double time, uint64_t now) noexcept;
  void write_step(StepKind kind, uint64_t index, int64_t label, double time, uint64_t now);
  // Gives the open step the size of the newest mesh.
  void set_mesh_size() noexcept;
  void write_end(const std::string& reason, uint64_t now);
  void check_writing() noexcept;
  void stop_threads() noexcept;    // perfield's own
  void stop_measuring() noexcept;  // for good
  void give_up(const char* what) noexcept;
  // Runs something long and collective outside the lock, between two steps.
  template <typename F>
  void between_steps(F action) noexcept;
  // Reads the values of a step under the lock, outside the step's time: of the open one, or of the
  // one that closed last.
  template <typename Row, typename F>
  std::vector<Row> look_at_step(F rows, bool closed = false) noexcept;

  Gate gate_;
  Phase phase_ = Phase::inactive;
  Config config_;
  int rank_ = 0, size_ = 0;
  std::vector<std::string> sources_;
  SpanOfEntries spans_;
  StepClock clock_{spans_};
  ConfiguredSteps configured_steps_;
  AgreedSteps agreed_steps_;
  OfferedSteps offered_steps_;
  struct {
    uint64_t since;
    bool counted;
  } excluded_{};
  ProcessWatch process_;
  Notices notices_{config_};
  InProcess in_process_;
  StepWriter writer_{config_, in_process_, spans_};
  StepValues values_;
  MeshQuantities mesh_quantities_;
  bool summary_due_ = false;
  void (*between_closes_)() = nullptr;
  Windows between_closes_ticks_;
  bool is_ending_ = false;
};

// The session of this process; never destroyed.
Session& session() noexcept;

template <typename F>
void Session::with_mesh(F describe) noexcept {
  if (!is_started()) return;
  OwnWork own;
  try {
    Gate::Pass pass(gate_);
    if (!pass) return;
    if (phase_ != Phase::ended) describe(writer_.mesh());
    check_writing();
  } catch (...) {
    fault("mesh_out_of_memory");
  }
}

}  // namespace perfield
