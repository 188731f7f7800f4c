// SPDX-License-Identifier: BSD-3-Clause
//
// session.cpp - waking, closing steps, ending. Whatever fails here puts perfield to sleep with a
// sentence and leaves the program alone.
#include "session/session.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "recorder/events.h"
#include "session/environment.hpp"
#include "session/step_entry.hpp"
#include "session/tell.hpp"
#include "stream/summary.hpp"

namespace perfield {
namespace {

constexpr size_t kGatherBytes = 64 * 1024;
constexpr uint64_t kResidentEvery_ns = 10'000'000;
constexpr uint64_t kPlacementEvery_ns = 1'000'000'000;
constexpr double kWritingShare = 0.005;  // of the run's time; above it entries are gathered,
constexpr uint64_t kWritingGrace_ns = 10'000'000;  // once this much has been spent
constexpr uint64_t kSummaryBytes = uint64_t(256) << 20;

// perfield's own work on this thread: nothing it does is counted as the program's.
class OwnWork {
 public:
  OwnWork() { perfield_own_begin(); }
  ~OwnWork() { perfield_own_end(); }
};

}  // namespace

Session& session() noexcept {
  alignas(Session) static char memory[sizeof(Session)];
  static Session* s = new (memory) Session;
  return *s;
}

// --- waking
// ---------------------------------------------------------------------------------------

void Session::wake(int rank, int size, const std::string& mpi) noexcept {
  try {
    std::lock_guard<std::mutex> lock(mutex_);
    if (phase_ != Phase::asleep) return;
    ConfigResult found = load_config();
    if (!found.errors.empty()) {
      phase_ = Phase::ended;
      std::string all;
      for (const std::string& error : found.errors)
        all += (all.empty() ? "" : "\nperfield: ") + error;
      tell("config", all +
                         "\nperfield: nothing is measured until the configuration is mended "
                         "(`perfield config` shows it)");
      return;
    }
    config_ = found.config;
    if (!config_.enabled) {
      phase_ = Phase::ended;
      return;
    }
    start_run(rank, size, mpi);
  } catch (const std::exception& e) {
    phase_ = Phase::ended;
    recorder().stop();
    tell("wake", std::string("measuring could not start (") + e.what() + "); the program runs on");
  }
}

void Session::start_run(int rank, int size, const std::string& mpi) {
  rank_ = rank;
  run_ = open_run_directory(config_, {program_arguments()});
  if (!run_.error.empty()) {
    phase_ = Phase::ended;
    tell("run-directory", run_.error + "; nothing is measured");
    return;
  }
  set_tell_directory(run_.path);
  if (!run_.notice.empty()) tell("notice", run_.notice);
  auto max_regions = uint32_t(config_.max_regions), max_peers = uint32_t(config_.max_peers);
  std::string stem = stream_stem();
  size_t buffer = largest_step_body(max_regions, max_peers) + 2 * kGatherBytes;
  if (!stream_.open(run_.path + "/stream/" + stem + ".pf", run_.run_id, rank, buffer)) {
    phase_ = Phase::ended;
    tell("stream", "the stream " + run_.path + "/stream/" + stem + ".pf cannot be written (" +
                       strerror(stream_.error()) + "); nothing is measured");
    return;
  }
  mesh_.start(run_.path + "/mesh/" + stem + ".pf", run_.run_id, rank, tell);
  Recorder& r = recorder();
  r.regions.configure(max_regions, config_.regions, config_.step_region);
  r.start(max_peers, config_.messages, config_.clock);
  sum_every_ = uint32_t(config_.sum_every > 0 ? config_.sum_every : 1);
  cpu_set_ = cpu_set();
  figures_ = process_figures();
  wake_ticks_ = last_flush_ticks_ = placement_ticks_ = begin_ticks_ = r.clock.ticks();
  write_rank_entry(size, mpi);
  stream_.flush();
  forget_preload();
  pthread_atfork(nullptr, nullptr, [] { recorder().stop(); });  // a child is not this rank
  phase_ = Phase::setup;
  r.close();  // awake; start_clock makes it count
  paused_ = config_.start_paused ? 1 : 0;
  start_clock();
}

void Session::write_rank_entry(int size, const std::string& mpi) {
  char long_name[256] = "";
  gethostname(long_name, sizeof long_name - 1);
  JsonObject json;
  json.integer("rank", rank_).integer("size", size).integer("pid", getpid());
  json.text("program", program_name()).text("arguments", program_arguments());
  json.text("group", config_.group.empty() ? program_name() : config_.group);
  json.text("host", host_name()).text("host_long", long_name).text("boot_id", boot_id());
  json.text("cpuset", cpu_set_).text("clock", recorder().clock.name());
  json.integer("realtime_ns", realtime_ns()).text("mpi", mpi);
  json.text("perfield", PERFIELD_VERSION).texts("sources", sources_).integer("spans", sum_every_);
  stream_.json(EntryType::rank, 0, json.str());
}

// --- steps
// ----------------------------------------------------------------------------------------

bool Session::is_measured(uint64_t step) const noexcept {
  if (phase_ == Phase::setup) return true;
  auto skip = uint64_t(config_.skip_steps > 0 ? config_.skip_steps : 0);
  auto every = uint64_t(config_.measure_every > 1 ? config_.measure_every : 1);
  return step >= skip && (step - skip) % every == 0;
}

void Session::start_clock() noexcept {
  Recorder& r = recorder();
  if (paused_ > 0) flags_ |= kStepPaused;
  if (paused_ > 0 || !is_measured(step_)) return;
  counting_since_ = r.clock.ticks();
  r.open(counting_since_);
}

void Session::stop_clock(uint64_t now) noexcept {
  Recorder& r = recorder();
  if (r.state() != Activity::active) return;
  r.fold(now);
  r.close();
  measured_ticks_ += now - counting_since_;
}

void Session::setup_done() noexcept {
  if (!awake()) return;
  uint64_t now = recorder().clock.ticks();
  OwnWork own;
  std::lock_guard<std::mutex> lock(mutex_);
  if (phase_ != Phase::setup) return;
  stop_clock(now);
  write_step(StepKind::setup, 0, 0, NAN, now);
  phase_ = Phase::steps;
  begin_ticks_ = recorder().clock.ticks();
  own_ticks_ += begin_ticks_ - now;
  start_clock();
}

void Session::close_step(int64_t label, double time) noexcept {
  if (!awake()) return;
  Recorder& r = recorder();
  uint64_t now = r.clock.ticks();
  OwnWork own;
  if (Shard* s = this_shard; s && s->pipeline_armed) {
    s->pipeline_armed = false;
    fault("pipeline_next_not_used");
    tell("pipeline",
         "perfield_pipeline_next was called but no region was entered before the step "
         "ended; call it right before the call that enters the region");
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (phase_ == Phase::asleep || phase_ == Phase::ended) return;
  stop_clock(now);
  if (phase_ == Phase::setup) {  // nobody said where setup ends: here, then
    write_step(StepKind::setup, 0, label, time, now);
    phase_ = Phase::steps;
  } else {
    if (step_ > 0 && label <= last_label_) flags_ |= kStepLabelFell;
    ++span_;
    bool measured = is_measured(step_);
    if (!measured) {
      flags_ |= kStepNotMeasured;
      write_step(StepKind::step, step_, label, time, now);
    } else if (config_.measure_every > 1 || (step_ + 1) % sum_every_ == 0) {
      write_step(StepKind::step, step_, label, time, now);
      if (measured && config_.fields_every > 0 && step_ % uint64_t(config_.fields_every) == 0 &&
          mesh_.has_fields() && mesh_.file().file_bytes() < uint64_t(config_.record_limit)) {
        try {
          mesh_.write_fields(step_);
        } catch (...) {
          tell("fields", "there was no memory to store the simulation's fields of a step");
        }
      }
    }
    last_label_ = label;
    ++step_;
  }
  flush_when_due(now);
  check_writing();
  limit_record();
  uint64_t then = r.clock.ticks();
  own_ticks_ += then - now;
  if (span_ == 0) begin_ticks_ = then;
  start_clock();
}

void Session::write_step(StepKind kind, uint64_t index, int64_t label, double time,
                         uint64_t now) noexcept {
  Recorder& r = recorder();
  r.clock.calibrate();
  note_placement();
  define_regions();

  ProcessFigures figures = process_figures();
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
  b.pu = int16_t(sched_getcpu());
  figures_ = figures;

  size_t room = largest_step_body(r.regions.capacity(), uint32_t(config_.max_peers));
  if (unsigned char* at = stream_.begin(EntryType::step, index, room)) {
    size_t bytes = encode_step(r, b, at, room);
    memcpy(&b, at, sizeof b);
    overflowed_ += b.overflowed;
    if (b.faults) faults_["region_end_without_begin_or_too_deep"] += b.faults;
    stream_.end(bytes);
  }
  total_own_ticks_ += own_ticks_;
  own_ticks_ = 0;
  stream_faults_ = 0;
  measured_ticks_ = 0;
  flags_ = 0;
  span_ = 0;
}

// A region is defined in the stream right before its first row: those that were never entered, or
// are not selected, do not appear.
void Session::define_regions() noexcept {
  Recorder& r = recorder();
  for (uint32_t id = 0; id < r.regions.size() && !stream_.failed(); ++id) {
    RegionDefinition& d = r.regions[id];
    if (d.written) continue;
    bool used = false;
    for (int i = 0; i < r.n_shards() && !used; ++i) {
      const RegionValues& v = r.shard_at(i).carry_regions[id];
      used = v.count || v.inclusive;
    }
    if (!used) continue;
    JsonObject json;
    json.natural("id", id).text("name", d.name).text("file", d.file);
    json.integer("line", d.line).integer("block", d.block).natural("site", d.site);
    stream_.json(EntryType::region, id, json.str());
    d.written = true;
  }
}

void Session::note_placement() {
  Recorder& r = recorder();
  uint64_t now = r.clock.ticks();
  if (r.clock.span_ns(now - placement_ticks_) < kPlacementEvery_ns) return;
  placement_ticks_ = now;
  std::string set = cpu_set();
  if (set == cpu_set_) return;
  cpu_set_ = set;
  stream_.json(EntryType::place, 0, JsonObject().text("cpuset", set).str());
}

// --- writing
// --------------------------------------------------------------------------------------

// Writes at once as long as that stays cheap beside the steps; gathers where it does not.
void Session::flush_when_due(uint64_t now) noexcept {
  Recorder& r = recorder();
  bool cheap = double(write_ticks_) < kWritingShare * double(now - wake_ticks_) ||
               r.clock.span_ns(write_ticks_) < kWritingGrace_ns;
  double gathered_s = double(r.clock.span_ns(now - last_flush_ticks_)) * 1e-9;
  if (!cheap && stream_.gathered() < kGatherBytes && gathered_s < config_.flush_seconds) return;
  uint64_t before = r.clock.ticks();
  stream_.flush();
  last_flush_ticks_ = r.clock.ticks();
  write_ticks_ += last_flush_ticks_ - before;
}

void Session::check_writing() noexcept {
  int error = stream_.failed() ? stream_.error() : mesh_.file().failed() ? mesh_.file().error() : 0;
  if (!error || phase_ == Phase::ended) return;
  phase_ = Phase::ended;
  recorder().stop();
  try {
    tell("writing", "writing to " + run_.path + " failed in step " + std::to_string(step_) + " (" +
                        strerror(error) +
                        "); measuring ends here, what was written can be read, "
                        "the program runs on");
  } catch (...) {
  }
}

// Where the run directory nears its limit, ever more steps share an entry: half of the space for
// the steps as configured, half of what is left for pairs of them, and so on.
void Session::limit_record() noexcept {
  if ((step_ & 255) != 0 || config_.measure_every > 1) return;
  auto limit = double(config_.record_limit) / double(nodes_of_run());
  double used = double(stream_.file_bytes());
  uint32_t factor = 1;
  for (double left = 1.0 - used / limit; left < 0.5 && factor < 1u << 20; left *= 2) factor *= 2;
  auto base = uint32_t(config_.sum_every > 0 ? config_.sum_every : 1);
  if (base * factor <= sum_every_) return;
  sum_every_ = base * factor;
  try {
    tell("limit", "the run directory nears record_limit; from step " + std::to_string(step_) +
                      " on, " + std::to_string(sum_every_) + " steps share an entry");
  } catch (...) {
  }
}

// --- pause, end
// -----------------------------------------------------------------------------------

void Session::pause() noexcept {
  if (!awake()) return;
  uint64_t now = recorder().clock.ticks();
  std::lock_guard<std::mutex> lock(mutex_);
  if (paused_++ == 0) stop_clock(now);
  flags_ |= kStepPaused;
}

void Session::resume() noexcept {
  if (!awake()) return;
  std::lock_guard<std::mutex> lock(mutex_);
  if (paused_ == 0) return;
  if (--paused_ == 0) start_clock();
}

void Session::end(const std::string& reason) noexcept {
  if (!awake()) return;
  uint64_t now = recorder().clock.ticks();
  OwnWork own;
  try {
    std::lock_guard<std::mutex> lock(mutex_);
    if (phase_ == Phase::asleep || phase_ == Phase::ended) return;
    stop_clock(now);
    if (phase_ == Phase::setup) {
      write_step(StepKind::setup, 0, 0, NAN, now);
    } else {
      if (span_ > 0) {  // the last, shorter sum of steps
        write_step(StepKind::step, step_ - 1, last_label_, NAN, now);
        begin_ticks_ = now;
      }
      write_step(StepKind::teardown, step_, last_label_, NAN, now);
    }
    write_end_entry(reason);
    stream_.flush();
    check_writing();
    phase_ = Phase::ended;
    recorder().stop();
    for (const auto& [name, hook] : hooks_)
      if (!hook.hits && !hook.sentence.empty()) tell("hook-" + name, hook.sentence);
    summary_due_ = rank_ == 0 && config_.summary && reason != "abort";
  } catch (...) {
    phase_ = Phase::ended;
    recorder().stop();
  }
}

void Session::write_end_entry(const std::string& reason) {
  Recorder& r = recorder();
  uint64_t refused = r.refused_threads();
  if (refused) faults_["threads_without_room"] = refused;
  JsonObject hooks, faults;
  for (const auto& [name, hook] : hooks_) hooks.natural(name.c_str(), hook.hits);
  for (const auto& [kind, count] : faults_) faults.natural(kind.c_str(), count);
  JsonObject json;
  json.text("reason", reason).natural("steps", step_);
  json.raw("hooks", hooks.str()).raw("faults", faults.str()).texts("sources", sources_);
  json.natural("dropped_messages", overflowed_).natural("dropped_regions", r.regions.overflowed());
  json.natural("bytes_written", stream_.bytes_written() + mesh_.file().bytes_written());
  json.natural("perfield_ns", r.clock.span_ns(total_own_ticks_));
  json.natural("perfield_bytes", private_bytes(r)).integer("realtime_ns", realtime_ns());
  stream_.json(EntryType::end, 0, json.str());
  if (overflowed_)
    tell("peers", "a table of (peer, call) pairs was full: " + std::to_string(overflowed_) +
                      " messages are counted as `other peers`; raise max_peers (now " +
                      std::to_string(config_.max_peers) + ")");
  if (r.regions.overflowed())
    tell("regions",
         "the table of regions was full: later regions are counted as `other regions`; "
         "raise max_regions (now " +
             std::to_string(config_.max_regions) + ") or choose fewer by `regions`");
  for (const auto& [kind, count] : faults_)
    tell("fault-" + kind, "events that could not be right on this node, first seen by rank " +
                              std::to_string(rank_) + ": " + kind + ", " + std::to_string(count) +
                              " times; their time is credited as far as it is known");
}

void Session::print_summary() noexcept {
  if (!summary_due_) return;
  summary_due_ = false;
  try {
    std::string text;
    for (const std::string& line : closing_lines(run_.path, kSummaryBytes)) text += line + "\n";
    if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
  } catch (...) {
    // a summary is not worth a failure
  }
}

// --- what sources say of themselves
// -----------------------------------------------------------------

void Session::present(const char* source) noexcept {
  try {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const std::string& s : sources_)
      if (s == source) return;
    sources_.push_back(source);
  } catch (...) {
  }
}

void Session::hook_expected(const char* name, const char* sentence) noexcept {
  try {
    std::lock_guard<std::mutex> lock(mutex_);
    hooks_[name].sentence = sentence;
  } catch (...) {
  }
}

void Session::hook_hit(const char* name) noexcept {
  try {
    std::lock_guard<std::mutex> lock(mutex_);
    ++hooks_[name].hits;
  } catch (...) {
  }
}

void Session::fault(const char* kind) noexcept {
  try {
    std::lock_guard<std::mutex> lock(mutex_);
    ++faults_[kind];
    ++stream_faults_;
  } catch (...) {
  }
}

void Session::forget_preload() noexcept { forget_preload_in_environment(); }

}  // namespace perfield
