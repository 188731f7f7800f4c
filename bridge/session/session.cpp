// SPDX-License-Identifier: BSD-3-Clause
//
// session.cpp - see session.hpp. Any failure here ends the measurement with a message and leaves
// the program alone.
#include "session/session.hpp"

#include <fenv.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "configuration/focus_ranks.hpp"
#include "platform/memory_limit.hpp"
#include "platform/process.hpp"
#include "platform/quietly.hpp"
#include "platform/utf8.hpp"
#include "session/environment.hpp"
#include "session/rank_log.hpp"
#include "session/session_counters.hpp"
#include "session/warnings.hpp"
#include "summary/summary.hpp"

namespace perfield {
namespace {
constexpr uint64_t kPatience_ns = 500'000'000;  // without a close
constexpr double kTickOfPatience_s = 0.25;
constexpr uint64_t kLongStep = 4;  // windows of the clock
// To a limit of memory, for a program that may need more than it has at its start. perfield takes a
// third of it at most.
constexpr uint64_t kLeastRoom = 24 << 20;
}  // namespace

thread_local bool inside_gate __attribute__((tls_model("initial-exec"))) = false;

Session& session() noexcept {
  alignas(Session) static char memory[sizeof(Session)];
  static Session* s = new (memory) Session;
  return *s;
}

// --- begin ---------------------------------------------------------------------------------------

void Session::start(int rank, int size, const std::string& mpi) noexcept {
  try {
    Gate::Pass pass(gate_);
    if (!pass || phase_ != Phase::inactive) return;
    ConfigResult found = load_config();
    config_ = found.config;
    if (!config_.enabled) {
      phase_ = Phase::ended;
      return;
    }
    if (!found.errors.empty()) {
      phase_ = Phase::ended;
      std::string all;
      for (const std::string& error : found.errors)
        all += (all.empty() ? "" : "\nperfield: ") + error;
      warn_once_per_node("config",
                         all +
                             "\nperfield: nothing is measured until the configuration is mended "
                             "(`perfield setup config` shows it)");
      return;
    }
    if (!getenv("PERFIELD_PRELOADED"))  // else perfield-exec has reported them
      for (const std::string& notice : found.notices) warn_once_per_node("ignored", notice);
    if (const MemoryRoom room = memory_room(); room.bytes < kLeastRoom) {
      phase_ = Phase::ended;
      warn_once_per_node("memory-room",
                         "a rank is " + std::to_string(room.bytes >> 20) + " MB away from " +
                             room.limit + ", and perfield leaves these to the program; it needs " +
                             std::to_string(kLeastRoom >> 20) + " MB there to measure a rank");
      return;
    }
    HeldBack signal(SIGXFSZ);  // a limit on files may be smaller than ours
    rank_ = rank;
    size_ = size;
    clock_.configure(config_);
    in_process_.configure(config_);
    if (!start_run(size, mpi))
      phase_ = Phase::ended;
    else
      log_start(mpi, found.origins);
  } catch (const std::exception& e) {
    stop_measuring();
    warn_once_per_node(
        "start", std::string("measuring could not start (") + e.what() + "); the program runs on");
  }
}

bool Session::start_run(int size, const std::string& mpi) {
  if (!writer_.open_run()) return false;
  if (config_.log) rank_log().open(writer_.run_path(), rank_);
  const std::string alone = lone_world(size, mpi);
  if (!alone.empty()) warn_once_per_node("alone", alone);
  std::string outside;
  const std::vector<int32_t> focus = focus_ranks_of(config_.focus_ranks, size, &outside);
  if (!outside.empty()) warn_once_per_node("focus-ranks", outside);
  values_.focus_on(focus);
  Recorder& r = recorder();
  r.paths.configure(uint32_t(config_.max_paths));
  r.regions.configure(uint32_t(config_.max_regions),
                      Selection(config_.regions, config_.step_region));
  choose_counters(config_);
  if (!writer_.open_files(rank_, size)) return false;
  if (in_process_.wanted()) in_process_.describe_run(writer_.run_path(), rank_, size, mpi, focus);
  // A small world has few peers, with which it may use many calls: room for 16 with each.
  constexpr uint32_t kFewPeers = 256;
  const uint64_t peers = std::max(uint64_t(size) * 4, uint64_t{kFewPeers});
  r.start(uint32_t(std::min(uint64_t(config_.max_peers), peers)), config_.messages, config_.clock);
  const uint64_t now = r.clock.ticks();
  process_.start(r, now);
  writer_.rank(rank_, size, mpi, process_.cpus(), sources_);
  forget_preload_in_environment();
  pthread_atfork(nullptr, nullptr, [] {  // a child is not this rank
    recorder().stop_in_child();
    rank_log().close();
    Gate::close_for_this_thread();
  });
  phase_ = Phase::measuring;
  clock_.begin(now);
  agreed_steps_.start(writer_.run_path() + "/stream/.steps", rank_ == 0);
  if (configured_steps_.start(config_, writer_.run_path(), rank_, size,
                              [](uint64_t number) { session().close_window(number); }))
    clock_.close_by_windows();
  if (configured_steps_.are_looked_for()) wait_for_window(1);
  for (auto* function : hooks.on_start) function();
  return true;
}

void Session::log_start(const std::string& mpi, const std::vector<ConfigOrigin>& keys) {
  RankLog& log = rank_log();
  if (!log.is_open()) return;
  log.line("rank       " + std::to_string(rank_) + " of " + std::to_string(size_) + " on " +
           host_name() + ", process " + std::to_string(getpid()) + ", perfield " PERFIELD_VERSION);
  log.line("program    " + program_name());
  log.line("MPI        " + (mpi.empty() ? "none" : mpi));
  log.line("CPUs       " + process_.cpus());
  log.line("clock      " + recorder().clock.in_words());
  std::string all;
  for (const std::string& source : sources_) all += (all.empty() ? "" : ", ") + source;
  log.line("sources    " + (all.empty() ? "none" : all));
  log.configuration(keys);
}

// What closes the first step, where nothing marked the end of setup.
std::string Session::first_closing_in_words() const {
  if (configured_steps_.call()) return "the call site " + config_.step_call;
  if (clock_.windowed()) return "the clock (step_seconds)";
  if (!config_.step_region.empty()) return "the region " + config_.step_region;
  if (recorder().sites.has_found()) return "a loop that perfield found (find_steps)";
  return "the first perfield_step, or a hook that closes steps";
}

// --- steps ---------------------------------------------------------------------------------------

void Session::setup_done() noexcept {
  in_process_.steps_begin();
  if (recorder().sites.stop_finding()) restart_steps();  // the program says itself where steps end
  while_measuring([this](uint64_t now) {
    if (!clock_.in_setup()) return;
    try {
      clock_.cut(now);
      write_step(StepKind::setup, clock_.step(), 0, NAN, now);
    } catch (const std::exception& e) {
      return give_up(e.what());
    }
    clock_.end_setup();
    rank_log().line("setup      ended by perfield_initialize" +
                    (config_.step_region.empty()
                         ? std::string()
                         : ", or by the first entry of " + config_.step_region));
    const uint64_t then = recorder().clock.ticks();
    clock_.add_own(now, then);
    clock_.begin_entry(then);
    clock_.start();
  });
}

void Session::close_step(int64_t label, double time) noexcept {
  if (!is_started() || configured_steps_.replace_the_programs()) return;
  offered_steps_.others_close();
  close_program_step(label, time);
}

void Session::step_offered(int64_t label, double time) noexcept {
  if (!is_started() || !config_.step_region.empty() || configured_steps_.are_set()) return;
  if (offered_steps_.take()) close_program_step(label, time);
}

void Session::close_program_step(int64_t label, double time) noexcept {
  CallSites& sites = recorder().sites;
  if (sites.stop_finding()) restart_steps();
  sites.stop();  // they are followed for those who know of no steps
  if (ThreadProfile* s = this_profile; s && s->is_inside_call()) {
    // The program runs, so that call is over: an error handler left it by an exception or longjmp.
    s->forget_call();
  }
  if (ThreadProfile* s = this_profile; s && s->pipeline_armed) {
    s->set_own_work(s->own_work, false);
    fault("pipeline_next_not_used");
    warn_once_per_node(
        "pipeline",
        "perfield_pipeline_next was called but no region was entered before the step "
        "ended; call it right before the call that enters the region");
  }
  while_measuring([&](uint64_t now) { close(label, time, now); });
}

void Session::close_step_of_call(uint32_t before_newest) noexcept {
  const CallSites& sites = recorder().sites;
  while_measuring([&](uint64_t now) {
    // Of found steps, those in which perfield learned the loop count, too.
    const uint64_t step =
        sites.has_found() ? sites.found_steps() - 1 - before_newest : clock_.step();
    close(int64_t(step), NAN, now);
    if (sites.has_found()) wait_for_window(kLongStep);
  });
}

void Session::ask_ranks_about_steps() noexcept {
  uint32_t closings = 0;
  bool restarts = false;
  while_measuring([&](uint64_t now) {
    CallSites& sites = recorder().sites;
    AgreedSite& agreed = sites.agreed();
    const bool closed = agreed.closes(), is_first = agreed.is_first();
    try {
      agreed_steps_.look(sites, recorder().clock.since_start_ns(now));
    } catch (const std::exception&) {
      agreed.refuse();  // no memory
    }
    restarts = closed && !agreed.closes();
    if (restarts) {
      sites.pace().restart();
      closings = sites.closings_after_refusal();
      return;
    }
    closings = is_first && agreed.has_agreed();
    if (closings == 0) return;
    restarts |= sites.end_found();
    agreed.begin();
    sites.pace().restart();
  });
  if (restarts) restart_steps();
  while (closings > 0) close_step_of_call(--closings);
}

void Session::refuse_steps() noexcept {
  while_measuring([this](uint64_t) {
    try {
      agreed_steps_.refuse_proposed();
    } catch (const std::exception&) {
      return;  // no memory
    }
  });
}

void Session::restart_steps() noexcept {
  while_measuring([this](uint64_t) {
    rank_log().line("setup      continues: the steps up to " + std::to_string(clock_.step()) +
                    " were found in another loop");
    clock_.restart_setup();
    if (configured_steps_.are_looked_for()) wait_for_window(1);
  });
}

// A call of MPI came after the end of a window. While found steps close, windows do not. They
// divide one that stays open for long, as its loop may be over.
void Session::close_clock_window() noexcept {
  while_measuring([this](uint64_t now) {
    recorder().sites.next_window(~uint64_t{0});
    const bool in_step = !clock_.in_setup();
    if (in_step && !recorder().sites.has_found()) return;
    const uint32_t n = configured_steps_.clock_windows().passed(realtime_ns());
    if (n > 0 && (!in_step || clock_.counts()))  // else the ticks were a little early
      close_by(now, [&] {
        clock_.cut(now);
        in_step ? write_part_of_step(now) : write_window(n, now);
      });
    wait_for_window(1);
  });
}

void Session::write_window(uint32_t n, uint64_t now) {
  ClockWindows& windows = configured_steps_.clock_windows();
  windows.written(n);
  clock_.set_span(n);
  write_step(StepKind::window, windows.written() - 1, int64_t(windows.written() - 1),
             windows.end_s(), now);
}

// The first entry is that of the closed steps which share it.
void Session::write_part_of_step(uint64_t now) {
  const bool is_shared = clock_.span() > 0;
  write_step(is_shared ? StepKind::step : StepKind::teardown, clock_.step() - is_shared,
             clock_.last_label(), NAN, now);
}

// The n-th one from now on.
void Session::wait_for_window(uint64_t n) noexcept {
  Recorder& r = recorder();
  const int64_t now = realtime_ns();
  const int64_t left = configured_steps_.clock_windows().due_ns(now, n) - now;
  r.sites.next_window(r.clock.ticks() + r.clock.ticks_of_ns(uint64_t(std::max<int64_t>(left, 0))));
}

// Runs on the windows' thread, which has no profile: nothing is counted there.
void Session::close_window(uint64_t number) noexcept {
  while_measuring([&](uint64_t now) {
    if (number < clock_.step()) return;  // the system clock was set back
    clock_.set_step(clock_.in_setup() ? number + 1 : number);
    close(int64_t(number), configured_steps_.end_of_window_s(number), now);
  });
}

void Session::close(int64_t label, double time, uint64_t now) noexcept {
  close_by(now, [&] { close_and_write(label, time, now); });
}

// Writes what closes, and begins what follows.
template <typename F>
void Session::close_by(uint64_t now, F write) noexcept {
  try {
    write();
  } catch (const std::exception& e) {
    return give_up(e.what());
  }
  writer_.flush_when_due();
  check_writing();
  writer_.warn_of_spans(clock_.step());
  const uint64_t then = recorder().clock.ticks();
  clock_.add_own(now, then);
  if (clock_.span() == 0) clock_.begin_entry(clock_.windowed() ? now : then);
  clock_.start();
}

void Session::close_and_write(int64_t label, double time, uint64_t now) {
  clock_.cut(now);
  const EventLog::Taken events = recorder().take_log();
  if (clock_.in_setup()) {  // nobody marked the end of setup, so it ends here
    write_step(StepKind::setup, clock_.step(), label, time, now);
    clock_.end_setup();
    rank_log().line("setup      ended by " + first_closing_in_words());
    return;
  }
  in_process_.closed(clock_.step(), label, time, writer_.mesh().described());
  const StepClock::Entry entry = clock_.close(label);
  if (entry != StepClock::Entry::none) write_step(StepKind::step, clock_.step(), label, time, now);
  if (entry == StepClock::Entry::frame && !clock_.windowed()) writer_.fields(clock_.step());
  writer_.events(clock_.step(), events);
  clock_.next_step(label);
}

StepBody Session::body_of(StepKind kind, int64_t label, double time, uint64_t now) noexcept {
  Recorder& r = recorder();
  StepBody body{};
  body.label = label;
  body.time = time;
  body.kind = uint16_t(kind);
  body.realtime_ns = realtime_ns();
  body.perfield_bytes = r.bytes_used();
  body.faults = notices_.faults_of_step();
  body.mesh_version = writer_.mesh().version();
  clock_.fill(&body, now);
  if (is_part(kind)) body.span = 0;
  process_.fill(&body, clock_.windowed());
  return body;
}

void Session::set_mesh_size() noexcept {
  const std::optional<MeshSize> size = writer_.mesh().size();
  Recorder& r = recorder();
  if (!size || r.n_profiles() == 0) return;
  MeshQuantities& defined = mesh_quantities_;
  if (!defined.cells)
    defined = define_mesh_quantities([&r](auto... row) { return r.define_quantity(row...); });
  const auto set = [&r](perfield_quantity quantity, int64_t value) {
    if (quantity) r.set_of_rank(quantity, uint64_t(std::max<int64_t>(value, 0)));
  };
  set(defined.cells, size->cells);
  set(defined.points, size->points);
  set(defined.ghost_cells, size->ghost_cells);
}

void Session::write_step(StepKind kind, uint64_t index, int64_t label, double time, uint64_t now) {
  Recorder& r = recorder();
  r.clock.calibrate();
  process_.look(r, now, is_ending_);
  if (process_.cpus_changed(r.clock, r.clock.ticks(), is_ending_))
    writer_.place(JsonObject()
                      .text("cpuset", process_.cpus())
                      .texts("cpusets_of_threads", process_.cpus_of_threads()));
  set_mesh_size();
  size_t bytes = 0;
  StepBody body = body_of(kind, label, time, now);
  if (const unsigned char* at = writer_.step(index, body, &bytes)) {
    memcpy(&body, at, sizeof body);
    notices_.add_entry(body);
    rank_log().entry(index, body);
    writer_.mesh().sizes_written();
    if (kind == StepKind::step) {
      writer_.mesh().shown();
      if (clock_.was_measured()) {
        in_process_.keep_entry(index, at, bytes);
        values_.closed(at, bytes);
      }
    }
  }
  process_.entry_written();
  notices_.entry_closed();
  clock_.entry_written();
}

// --- pictures inside the program, behind a step and in none --------------------------------------

template <typename F>
void Session::between_steps(F action) noexcept {
  OwnWork own;
  const uint64_t before = recorder().clock.ticks();
  under_lock([&] {
    if (phase_ != Phase::measuring) return;
    clock_.stop(before);
    writer_.flush();  // for anyone who reads all ranks now
    in_process_.describe_sources(sources_);
  });
  action();
  under_lock([&] {
    if (phase_ != Phase::measuring) return;
    const uint64_t after = recorder().clock.ticks();
    clock_.add_own(before, after);
    if (clock_.span() == 0) clock_.begin_entry(after);
    clock_.start();
  });
}

void Session::exclude_begin() noexcept {
  perfield_own_begin();
  under_lock([&] {
    if (phase_ != Phase::measuring) return;
    excluded_ = {recorder().clock.ticks(), clock_.counts()};
    clock_.stop(excluded_.since);
  });
}

void Session::exclude_end() noexcept {
  under_lock([&] {
    if (phase_ != Phase::measuring || !excluded_.since) return;
    clock_.add_own(excluded_.since, recorder().clock.ticks());
    if (excluded_.counted && !clock_.counts())
      clock_.start();  // a window may have closed meanwhile
    excluded_ = {};
  });
  perfield_own_end();
}

void Session::show_in_process() noexcept {
  if (!in_process_.is_due(clock_.configured())) return;
  between_steps([this] { in_process_.show(is_started() ? &writer_.mesh().fields() : nullptr); });
}

// --- end -----------------------------------------------------------------------------------------

void Session::end(const std::string& reason) noexcept {
  if (reason == "finalize" && in_process_.wanted()) between_steps([this] { in_process_.finish(); });
  if (!is_started()) return;
  stop_threads();
  while_measuring([&](uint64_t now) {
    try {
      write_end(reason, now);
    } catch (...) {
      stop_measuring();
    }
  });
}

void Session::write_end(const std::string& reason, uint64_t now) {
  Recorder& r = recorder();
  is_ending_ = true;
  clock_.stop(now);
  r.take_log();  // of a step that never closed; its messages belong to teardown
  const bool has_found = r.sites.has_found();
  agreed_steps_.end(r.sites, r.clock.since_start_ns(now));
  if (has_found && !r.sites.found_is_right()) {
    clock_.restart_setup();
    r.sites.stop_finding();
  }
  if (clock_.in_setup() && !clock_.had_steps() && configured_steps_.clock_windows().written()) {
    write_window(1, now);  // the last, shorter one
  } else if (clock_.in_setup()) {
    write_step(StepKind::setup, clock_.step(), 0, NAN, now);
  } else {
    if (clock_.span() > 0) {  // the last, shorter group of steps
      write_step(StepKind::step, clock_.step() - 1, clock_.last_label(), NAN, now);
      clock_.begin_entry(now);
    }
    write_step(StepKind::teardown, clock_.step(), clock_.last_label(), NAN, now);
  }
  writer_.sites(true);
  if (perfield_clock clock; hooks.before_end && reason == "finalize" && hooks.before_end(&clock))
    writer_.clock(clock);
  JsonObject entry;
  entry.text("reason", reason).natural("steps", clock_.step()).texts("sources", sources_);
  notices_.add_to_end_entry(&entry);
  entry.natural("perfield_ns", r.clock.span_ns(clock_.total_own_ticks()));
  entry.natural("perfield_bytes", r.bytes_used()).integer("realtime_ns", realtime_ns());
  add_devices(&entry);
  rank_log().line("end        by " + reason + " after " + std::to_string(clock_.step()) + " steps");
  rank_log().line("counts     " + entry.str());
  check_writing();
  stop_measuring();
  if (!writer_.end(entry, reason == "abort")) return;
  notices_.warn_at_end({writer_.run_path(), rank_, size_, clock_.step(), configured_steps_.call(),
                        reason == "abort"});
  summary_due_ = rank_ == 0 && config_.summary && reason != "abort";
}

void Session::print_summary() noexcept {
  if (!summary_due_) return;
  summary_due_ = false;
  fenv_t of_program;  // it may trap on comparing NaN, which the lines do
  feholdexcept(&of_program);
  try {
    std::string text;
    for (const std::string& line : summary_of(writer_.run_path()).lines)
      text += legible(line) + "\n";
    print(text);
  } catch (...) {
    // a failed summary does no harm
  }
  fesetenv(&of_program);
}

void Session::stop_threads() noexcept {
  configured_steps_.stop();
  between_closes_ticks_.stop();
}

void Session::stop_measuring() noexcept {
  stop_threads();
  phase_ = Phase::ended;
  recorder().stop();
}

// Running out of memory for a message or an entry ends the measurement, not the program.
void Session::give_up(const char* what) noexcept {
  stop_measuring();
  try {
    warn_once_per_node("memory", std::string("a step could not be closed (") + what +
                                     "); measuring ends here, the program runs on");
  } catch (...) {
  }
}

void Session::check_writing() noexcept {
  if (phase_ != Phase::ended && !writer_.works(clock_.step())) stop_measuring();
}

// --- what sources and call sites say -------------------------------------------------------------

bool Session::has(const char* source) const noexcept {
  return std::find(sources_.begin(), sources_.end(), source) != sources_.end();
}

void Session::present(const char* source) noexcept {
  under_lock([&] {
    if (has(source)) return;
    sources_.push_back(source);
    rank_log().line(std::string("source     ") + source + " is present");
    if (phase_ == Phase::measuring)  // the rank's entry is written already
      writer_.place(JsonObject().texts("sources", sources_));
  });
}

void Session::between_closes(void (*function)()) noexcept {
  between_closes_ = function;
  between_closes_ticks_.start(kTickOfPatience_s, realtime_ns(),
                              [](uint64_t) { session().hand_in_between_closes(); });
}

void Session::hand_in_between_closes() noexcept {
  const Clock& clock = recorder().clock;
  if (!is_started() || clock.span_ns(clock.ticks() - clock_.handed_in()) < kPatience_ns) return;
  while_measuring([this](uint64_t) {
    between_closes_();
    writer_.flush_when_due();
    check_writing();
  });
}

void Session::fault(const char* kind) noexcept {
  under_lock([&] { notices_.fault(kind); });
}

void Session::note_sites() noexcept {
  if (!is_started() || recorder().sites.step_hits()) return;  // with steps, nobody needs a proposal
  if (!writer_.sites_are_due(recorder().clock.ticks())) return;
  while_measuring([this](uint64_t now) {
    writer_.sites_looked_at(now);
    writer_.sites();
    writer_.flush();
    check_writing();
  });
}

}  // namespace perfield

extern "C" void perfield_call_after(uint64_t after) noexcept {
  if (after & perfield::kRefuseSteps) perfield::session().refuse_steps();  // first: others look now
  if (after & perfield::kNoteSites) perfield::session().note_sites();
  if (after & perfield::kRestartSteps) perfield::session().restart_steps();
  if (after & perfield::kCloseStep) perfield::session().close_step_of_call();
  if (after & perfield::kAskRanks) perfield::session().ask_ranks_about_steps();
  if (after & perfield::kCloseWindow) perfield::session().close_clock_window();
}
