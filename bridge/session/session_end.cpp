// SPDX-License-Identifier: BSD-3-Clause
//
// session_end.cpp - the end of a measurement: what is still open is written, what was left out is
// told, and rank 0 prints the closing lines.
#include <cmath>

#include "session/environment.hpp"
#include "session/session.hpp"
#include "session/tell.hpp"
#include "summary/summary.hpp"

namespace perfield {
namespace {

constexpr uint64_t kSummaryBytes = uint64_t(256) << 20;

}  // namespace

void Session::end(const std::string& reason) noexcept {
  if (reason == "finalize") finish_in_process();
  if (!awake()) return;
  windows_.stop();
  uint64_t now = recorder().clock.ticks();
  OwnWork own;
  try {
    Gate::Pass pass(gate_);
    if (!pass || phase_ == Phase::asleep || phase_ == Phase::ended) return;
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
    if (step_ == 0 && !config_.step_region.empty() && reason != "abort")
      tell("step-region", "the region " + config_.step_region +
                              " (step_region) never ended, so no step was closed and the whole "
                              "run is one frame; expected is the name of a region that the "
                              "program enters and leaves");
    write_sites();
    write_end_entry(reason);
    stream_.flush();
    check_writing();
    std::string trouble = files_.end(stream_);
    if (!trouble.empty()) tell("stage-end", trouble);
    stop_measuring();
    tell_of_sites();
    tell_of_counters();
    for (const auto& [name, hook] : hooks_)
      if (!hook.hits && !hook.sentence.empty()) tell("hook-" + name, hook.sentence);
    summary_due_ = rank_ == 0 && config_.summary && reason != "abort";
  } catch (...) {
    stop_measuring();
  }
}

void Session::stop_measuring() noexcept {
  windows_.stop();
  phase_ = Phase::ended;
  recorder().stop();
}

void Session::write_end_entry(const std::string& reason) {
  Recorder& r = recorder();
  uint64_t refused = r.refused_threads();
  if (refused) faults_["threads_without_room"] = refused;
  JsonObject hooks, faults, dropped;
  for (const auto& [name, hook] : hooks_) hooks.natural(name.c_str(), hook.hits);
  for (const auto& [kind, count] : faults_) faults.natural(kind.c_str(), count);
  const auto drop = [&](const std::string& kind, uint64_t count, const std::string& sentence) {
    if (!count) return;
    dropped.natural(kind.c_str(), count);
    tell("dropped-" + kind, std::to_string(count) + " " + sentence +
                                (size_ > 1 ? "; so many on rank " + std::to_string(rank_) : ""));
  };
  for (const auto& [kind, events] : dropped_) drop(kind, *events.count, events.sentence);
  drop("too_deep", r.untimed_regions(),
       "regions were entered more than " + std::to_string(kStackDepth) +
           " levels deep: they are counted, but their time is not known");
  JsonObject json;
  json.text("reason", reason).natural("steps", step_);
  json.raw("hooks", hooks.str()).raw("faults", faults.str()).texts("sources", sources_);
  json.raw("dropped_events", dropped.str());
  json.natural("dropped_messages", overflowed_).natural("dropped_regions", r.regions.overflowed());
  json.natural("bytes_written", stream_.bytes_written() + mesh_.file().bytes_written());
  json.natural("perfield_ns", r.clock.span_ns(total_own_ticks_));
  json.natural("perfield_bytes", private_bytes(r)).integer("realtime_ns", realtime_ns());
  stream_.json(EntryType::end, 0, json.str());
  if (overflowed_)
    tell("peers", "a table of (peer, call) pairs was full: " + std::to_string(overflowed_) +
                      " messages are counted as `other peers`; raise max_peers (now " +
                      std::to_string(config_.max_peers) + ")");
  uint64_t without_room = 0;
  for (int i = 0; i < r.n_shards(); ++i) without_room += r.shard_at(i).overflowed_quantity.get();
  if (without_room)
    tell("quantities",
         "a table of (region, quantity) pairs was full: " + std::to_string(without_room) +
             " amounts are counted for `other regions`; raise max_regions (now " +
             std::to_string(config_.max_regions) + ") or choose fewer regions");
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
    speak(text);
  } catch (...) {
    // a summary is not worth a failure
  }
}

}  // namespace perfield
