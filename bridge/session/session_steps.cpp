// SPDX-License-Identifier: BSD-3-Clause
//
// session_steps.cpp - closing a step: what of it is measured, and its entry. Runs on the program's
// thread that closes it, or on that of the windows.
#include <sched.h>

#include <cmath>
#include <cstring>
#include <exception>
#include <functional>

#include "recorder/step_entry.hpp"
#include "session/environment.hpp"
#include "session/session.hpp"
#include "session/tell.hpp"

namespace perfield {
namespace {

constexpr uint64_t kResidentEvery_ns = 10'000'000;
constexpr uint64_t kPlacementEvery_ns = 1'000'000'000;

}  // namespace

void Session::setup_done() noexcept {
  in_process_.steps_begin();
  if (!awake()) return;
  uint64_t now = recorder().clock.ticks();
  OwnWork own;
  Gate::Pass pass(gate_);
  if (!pass || phase_ != Phase::setup) return;
  try {
    cut_clock(now);
    write_step(StepKind::setup, 0, 0, NAN, now);
  } catch (const std::exception& e) {
    return give_up(e.what());
  }
  phase_ = Phase::steps;
  begin_ticks_ = recorder().clock.ticks();
  own_ticks_ += begin_ticks_ - now;
  start_clock();
}

// What cannot be put into words or an entry for want of memory ends measuring, not the program.
void Session::give_up(const char* what) noexcept {
  stop_measuring();
  try {
    tell("memory", std::string("a step could not be closed (") + what +
                       "); measuring ends here, the program runs on");
  } catch (...) {
  }
}

void Session::close_step(int64_t label, double time) noexcept {
  if (!awake() || steps_are_configured()) return;
  recorder().sites.stop();  // they are followed for those who know of no steps
  Recorder& r = recorder();
  uint64_t now = r.clock.ticks();
  OwnWork own;
  if (Shard* s = this_shard; s && s->inside_call) {
    // The program runs, so that call is over: an error handler left it by an exception or longjmp.
    s->forget_call();
    fault("mpi_call_not_returned_from");
  }
  if (Shard* s = this_shard; s && s->pipeline_armed) {
    s->pipeline_armed = false;
    fault("pipeline_next_not_used");
    tell("pipeline",
         "perfield_pipeline_next was called but no region was entered before the step "
         "ended; call it right before the call that enters the region");
  }
  Gate::Pass pass(gate_);
  if (pass && phase_ != Phase::asleep && phase_ != Phase::ended) close(label, time, now);
}

void Session::close(int64_t label, double time, uint64_t now) noexcept {
  Recorder& r = recorder();
  try {
    count_step(label, time, now);
  } catch (const std::exception& e) {
    return give_up(e.what());
  }
  flush_when_due(now);
  check_writing();
  limit_record();
  uint64_t then = r.clock.ticks();
  own_ticks_ += then - now;
  if (span_ == 0) begin_ticks_ = windowed_ ? now : then;
  start_clock();
}

void Session::count_step(int64_t label, double time, uint64_t now) {
  cut_clock(now);
  if (phase_ == Phase::setup) {  // nobody said where setup ends: here, then
    write_step(StepKind::setup, 0, label, time, now);
    phase_ = Phase::steps;
  } else {
    if (step_ > 0 && label <= last_label_) flags_ |= kStepLabelFell;
    ++span_;
    bool measured = is_measured(step_);
    if (!measured) {
      flags_ |= kStepNotMeasured;
      // Each has its entry, until the directory nears its limit: then all up to the next measured.
      bool shared = measure_every_ > uint64_t(config_.measure_every);
      if (!shared || is_measured(step_ + 1)) write_step(StepKind::step, step_, label, time, now);
    } else if (measure_every_ > 1 || (step_ + 1) % sum_every_ == 0) {
      write_step(StepKind::step, step_, label, time, now);
      if (!windowed_) store_fields();
    }
    last_label_ = label;
    ++step_;
  }
}

StepBody Session::body_of(StepKind kind, int64_t label, double time, uint64_t now,
                          const ProcessFigures& figures) noexcept {
  Recorder& r = recorder();
  if (!resident_ || r.clock.span_ns(now - resident_ticks_) > kResidentEvery_ns) {
    resident_ = resident_bytes();
    resident_ticks_ = now;
  }
  StepBody b{};
  b.label = label;
  b.time = time;
  b.span = span_ ? span_ : 1;
  b.kind = uint16_t(kind);
  b.flags = flags_;
  b.begin_ns = r.clock.since_start_ns(begin_ticks_);
  b.end_ns = r.clock.since_start_ns(now);
  b.realtime_ns = realtime_ns();
  b.measured_ns = r.clock.span_ns(measured_ticks_);
  b.perfield_ns = r.clock.span_ns(own_ticks_);
  b.perfield_bytes = private_bytes(r);
  b.resident_bytes = resident_;
  b.cpu_user_ns = figures.cpu_user_ns - figures_.cpu_user_ns;
  b.cpu_system_ns = figures.cpu_system_ns - figures_.cpu_system_ns;
  b.voluntary_switches = figures.voluntary_switches - figures_.voluntary_switches;
  b.involuntary_switches = figures.involuntary_switches - figures_.involuntary_switches;
  b.minor_faults = figures.minor_faults - figures_.minor_faults;
  b.major_faults = figures.major_faults - figures_.major_faults;
  b.faults = stream_faults_;
  b.mesh_version = mesh_.version();
  b.pu = int16_t(windowed_ ? last_processor(main_thread_) : sched_getcpu());
  return b;
}

void Session::write_step(StepKind kind, uint64_t index, int64_t label, double time, uint64_t now) {
  Recorder& r = recorder();
  r.clock.calibrate();
  note_placement();
  define_regions();
  define_quantities();

  ProcessFigures figures = process_figures();
  StepBody b = body_of(kind, label, time, now, figures);
  figures_ = figures;
  size_t room = largest_step_body(r.regions.capacity(), uint32_t(config_.max_peers));
  if (unsigned char* at = stream_.begin(EntryType::step, index, room)) {
    size_t bytes = encode_step(r, b, at, room);
    memcpy(&b, at, sizeof b);
    if (kind == StepKind::step) {
      mesh_.shown();
      in_process_.keep_entry(index, label, time, b.mesh_version, at, bytes);
    }
    if (kind == StepKind::step && !(flags_ & kStepNotMeasured)) values_.closed(at, bytes);
    overflowed_ += b.overflowed;
    if (b.faults) faults_["ends_without_begin_or_not_reached"] += b.faults;
    stream_.end(bytes);
  }
  total_own_ticks_ += own_ticks_;
  own_ticks_ = 0;
  stream_faults_ = 0;
  measured_ticks_ = 0;
  flags_ = 0;
  span_ = 0;
}

void Session::define_regions() {
  perfield::define_regions(recorder(), [this](uint32_t id, const std::string& json) {
    stream_.json(EntryType::region, id, json);
    in_process_.keep_definition(json);
  });
}

void Session::define_quantities() {
  for (const std::string& sentence : recorder().quantities.take_refusals())
    tell("quantity-" + std::to_string(std::hash<std::string>()(sentence)), sentence);
  perfield::define_quantities(recorder(), [this](uint32_t id, const std::string& json) {
    stream_.json(EntryType::quantity, id, json);
    in_process_.keep_definition(json);
  });
}

void Session::note_placement() {
  Recorder& r = recorder();
  uint64_t now = r.clock.ticks();
  if (r.clock.span_ns(now - placement_ticks_) < kPlacementEvery_ns) return;
  placement_ticks_ = now;
  std::string set = cpu_set(main_thread_);
  if (set == cpu_set_) return;
  cpu_set_ = set;
  stream_.json(EntryType::place, 0, JsonObject().text("cpuset", set).str());
}

}  // namespace perfield
