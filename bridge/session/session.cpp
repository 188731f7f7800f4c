// SPDX-License-Identifier: BSD-3-Clause
//
// session.cpp - waking, and what sources say of themselves. Whatever fails here puts perfield to
// sleep with a sentence and leaves the program alone. Steps: session_steps.cpp, the end:
// session_end.cpp.
#include "session/session.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include "recorder/source.h"
#include "run_directory/machine_file.hpp"
#include "session/environment.hpp"
#include "session/step_entry.hpp"
#include "session/tell.hpp"

namespace perfield {
thread_local bool inside_gate __attribute__((tls_model("initial-exec"))) = false;

Session& session() noexcept {
  alignas(Session) static char memory[sizeof(Session)];
  static Session* s = new (memory) Session;
  return *s;
}

void Session::wake(int rank, int size, const std::string& mpi) noexcept {
  try {
    Gate::Pass pass(gate_);
    if (!pass || phase_ != Phase::asleep) return;
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
      tell("config", all +
                         "\nperfield: nothing is measured until the configuration is mended "
                         "(`perfield config` shows it)");
      return;
    }
    in_process_.configure(config_);
    start_run(rank, size, mpi);
  } catch (const std::exception& e) {
    stop_measuring();
    tell("wake", std::string("measuring could not start (") + e.what() + "); the program runs on");
  }
}

void Session::start_run(int rank, int size, const std::string& mpi) {
  rank_ = rank;
  size_ = size;
  run_ = open_run_directory(config_, {program_arguments()});
  if (!run_.error.empty()) {
    phase_ = Phase::ended;
    tell("run-directory", run_.error + "; nothing is measured");
    return;
  }
  set_tell_directory(run_.path);
  if (!run_.notice.empty()) tell("notice", run_.notice);
  const std::string alone = lone_world(size, mpi);
  if (!alone.empty()) tell("alone", alone);
  std::string trouble = write_machine_file(run_.path, false);  // there already under perfield-exec
  if (!trouble.empty()) tell("machine", trouble);
  auto max_regions = uint32_t(config_.max_regions), max_peers = uint32_t(config_.max_peers);
  trouble = files_.begin(config_.stage, run_.path, run_.run_id);
  if (!trouble.empty()) tell("stage", trouble);
  Recorder& r = recorder();
  r.regions.configure(max_regions, Selection(config_.regions, config_.step_region));
  choose_counters();
  size_t buffer = largest_step_body(r.regions.capacity(), max_peers) + 2 * kGatherBytes;
  if (!stream_.open(files_.stream, run_.run_id, rank, buffer, files_.stream_instead)) {
    phase_ = Phase::ended;
    tell("stream", "the stream " + stream_.path() + " cannot be written (" +
                       strerror(stream_.error()) + "); nothing is measured");
    return;
  }
  files_.release();
  mesh_.start(files_.mesh, files_.mesh_instead, run_.run_id, rank, uint64_t(config_.record_limit),
              [](const std::string& topic, const std::string& sentence) { tell(topic, sentence); });
  if (in_process_.wanted()) {
    in_process_.describe_run(run_.path, rank, size, mpi);
    mesh_.copy_blocks_to([this](uint64_t version, const iovec* parts, int n_parts) {
      in_process_.keep_block(version, parts, n_parts);
    });
  }
  r.start(max_peers, config_.messages, config_.clock);
  sum_every_ = uint64_t(config_.sum_every);
  measure_every_ = uint64_t(config_.measure_every);
  main_thread_ = gettid();
  cpu_set_ = cpu_set(main_thread_);
  figures_ = process_figures();
  wake_ticks_ = last_flush_ticks_ = placement_ticks_ = begin_ticks_ = r.clock.ticks();
  write_rank_entry(size, mpi);
  stream_.flush();
  forget_preload_in_environment();
  pthread_atfork(nullptr, nullptr, [] {  // a child is not this rank
    recorder().stop_in_child();
    Gate::close_for_this_thread();
  });
  phase_ = Phase::setup;
  r.close();  // awake; start_clock makes it count
  paused_ = config_.start_paused ? 1 : 0;
  sites_ticks_ = wake_ticks_;
  start_clock();
  follow_steps();
}

void Session::write_rank_entry(int size, const std::string& mpi) {
  char long_name[256] = "";
  gethostname(long_name, sizeof long_name - 1);
  JsonObject json;
  json.integer("rank", rank_).integer("size", size).integer("pid", getpid());
  json.text("program", program_name()).text("arguments", program_arguments());
  json.text("group", config_.group.empty() ? program_name() : config_.group);
  json.text("host", host_name())
      .text("host_long", long_name)
      .text("pid_namespace", pid_namespace())
      .text("boot_id", boot_id());
  json.text("cpuset", cpu_set_).text("clock", recorder().clock.name());
  json.integer("realtime_ns", realtime_ns()).text("mpi", mpi);
  json.text("perfield", PERFIELD_VERSION)
      .texts("sources", sources_)
      .natural("sum_every", sum_every_);
  stream_.json(EntryType::rank, 0, json.str());
}

// --- what sources say of themselves ----------------------------------------------------------

bool Session::has(const char* source) const noexcept {
  return std::find(sources_.begin(), sources_.end(), source) != sources_.end();
}

void Session::present(const char* source) noexcept {
  through_gate([&] {
    if (has(source)) return;
    sources_.push_back(source);
    if (phase_ == Phase::setup || phase_ == Phase::steps)  // the rank's entry is written already
      stream_.json(EntryType::place, 0, JsonObject().texts("sources", sources_).str());
  });
}

bool Session::has_source(const char* name) noexcept {
  bool found = false;
  through_gate([&] { found = has(name); });
  return found;
}

namespace {

std::string in_words(const std::string& value) { return value; }
std::string in_words(bool value) { return value ? "true" : "false"; }
template <class Number>
std::string in_words(Number value) {
  return std::to_string(value);
}
std::string in_words(const std::vector<std::string>& values) {
  std::string all;
  for (const std::string& value : values) all += (all.empty() ? "" : ",") + value;
  return all;
}

}  // namespace

// Without the lock: a source may ask while a step closes. What is set when waking stays.
void Session::setting(const char* key, char* value, size_t room) noexcept {
  if (!room) return;
  value[0] = 0;
  if (!awake()) return;
  try {
    std::string found;
#define PERFIELD_KEY(name, type, default_value, unit, help) \
  if (!strcmp(key, #name)) found = in_words(config_.name);
#include "configuration/keys.def"
#undef PERFIELD_KEY
    snprintf(value, room, "%s", found.c_str());
  } catch (...) {
    value[0] = 0;
  }
}

void Session::before_close(void (*function)()) noexcept {
  through_gate([&] { before_close_.push_back(function); });
}

void Session::hook_expected(const char* name, const char* sentence) noexcept {
  through_gate([&] { hooks_[name].sentence = sentence; });
}

void Session::hook_hit(const char* name) noexcept {
  through_gate([&] { ++hooks_[name].hits; });
}

void Session::counts_dropped(const char* kind, const char* sentence,
                             const std::atomic<uint64_t>* count) noexcept {
  through_gate([&] { dropped_[kind] = {sentence, count}; });
}

void Session::fault(const char* kind) noexcept {
  through_gate([&] {
    ++faults_[kind];
    ++stream_faults_;
  });
}

}  // namespace perfield
