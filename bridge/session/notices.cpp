// SPDX-License-Identifier: BSD-3-Clause
//
// notices.cpp - see notices.hpp.
#include "session/notices.hpp"

#include <algorithm>

#include "platform/memory_limit.hpp"
#include "recorder/recorder.hpp"
#include "session/asked_for.hpp"
#include "session/rank_log.hpp"
#include "session/session_counters.hpp"
#include "session/step_sites.hpp"
#include "session/warnings.hpp"
#include "summary/text.hpp"

namespace perfield {
namespace {
constexpr char kEnds[] = "ends_without_begin_or_not_reached";
}

void Notices::hook_expected(const char* name, const char* sentence) {
  hooks_[name].sentence = sentence;
  rank_log().line(std::string("hook       ") + name + " is expected");
}

void Notices::hook_hit(const char* name) {
  if (++hooks_[name].hits == 1) rank_log().line(std::string("hook       ") + name + " was hit");
}

void Notices::add_entry(const StepBody& entry) {
  overflowed_ += entry.overflowed;
  if (entry.faults) faults_[kEnds] += entry.faults;
}

void Notices::add_to_end_entry(JsonObject* entry) {
  Recorder& r = recorder();
  if (const uint64_t refused = r.refused_threads()) faults_["threads_without_room"] = refused;
  if (const uint64_t left = r.left_calls()) {  // the entries add them to all others
    faults_["mpi_call_not_returned_from"] = left;
    uint64_t& others = faults_[kEnds];
    if ((others -= std::min(left, others)) == 0) faults_.erase(kEnds);
  }
  JsonObject hooks, faults, dropped;
  for (const auto& [name, hook] : hooks_) hooks.natural(name.c_str(), hook.hits);
  for (const auto& [kind, count] : faults_) faults.natural(kind.c_str(), count);
  for (const auto& [kind, events] : dropped_)
    if (const uint64_t count = *events.count) dropped.natural(kind.c_str(), count);
  if (const uint64_t count = r.untimed_regions()) dropped.natural("too_deep", count);
  entry->raw("hooks", hooks.str()).raw("faults", faults.str()).raw("dropped_events", dropped.str());
  entry->natural("dropped_messages", overflowed_);
  if (const uint64_t count = r.overflowed_collectives())
    entry->natural("dropped_collectives", count);
  if (const uint64_t count = r.overflowed_paths()) entry->natural("dropped_paths", count);
  if (r.log.lost()) entry->natural("lost_events", r.log.lost());
  entry->natural("dropped_regions", r.regions.overflowed());
  add_asked_for(config_, entry);
}

void Notices::warn_at_end(const Run& run) {
  if (run.steps == 0 && !config_.step_region.empty() && !run.aborted)
    warn_once_per_node("step-region",
                       "the region " + config_.step_region +
                           " (step_region) never ended, so no step was closed and the whole "
                           "run is one frame; expected is the name of a region that the "
                           "program enters and leaves");
  warn_of_step_region(run);
  warn_of_dropped(run);
  warn_of_full_tables();
  warn_of_log(run);
  if (const uint64_t refused = recorder().refused_threads(); refused && !recorder().is_full())
    warn_once_per_node("memory-of-threads",
                       "there was no memory to measure " + text_of_count(refused) +
                           (refused == 1 ? " thread" : " threads") + " of rank " +
                           std::to_string(run.rank) + memory_limit_in_words());
  for (const auto& [kind, count] : faults_)
    warn_once_per_node("fault-" + kind,
                       "events that could not be right on this node, first seen by rank " +
                           std::to_string(run.rank) + ": " + kind + ", " + text_of_count(count) +
                           " times; their time is credited as far as it is known");
  warn_of_sites(run);
  warn_of_counters();
  for (const auto& [name, hook] : hooks_)
    if (!hook.hits && !hook.sentence.empty()) warn_once_per_node("hook-" + name, hook.sentence);
}

void Notices::warn_of_step_region(const Run& run) const {
  Recorder& r = recorder();
  const std::string of_rank = " on rank " + std::to_string(run.rank);
  const std::string region = "the region " + config_.step_region + " (step_region)";
  if (const ThreadProfile* closer = r.step_region.closer(); closer && !run.aborted) {
    const StepEntries& entries = closer->step_entries;
    const uint64_t inner = entries.inner.get();
    const int32_t depth = closer->depth.load(std::memory_order_relaxed);
    if (closer->stack.is_open(entries.level, entries.handle, depth) && inner)
      warn_once_per_node(
          "step-region-open",
          region + " was entered" + of_rank + " after " + text_of_count(run.steps) +
              " steps and never left, but entered and left " + text_of_count(inner) +
              " times inside itself, which closed no steps; if an exception or longjmp leaves the "
              "region, call its end there");
  }
  uint64_t most = 0;
  for (int i = 0; i < r.n_profiles(); ++i)
    most = std::max(most, r.profile_at(i).step_entries.left.get());
  if (most > run.steps && run.steps)
    warn_once_per_node("step-region-thread",
                       region + " closed " + text_of_count(run.steps) + " steps" + of_rank +
                           ", but another thread left it " + text_of_count(most) +
                           " times; only the thread that enters it first closes steps");
}

void Notices::warn_of_dropped(const Run& run) const {
  const auto drop = [&](const std::string& kind, uint64_t count, const std::string& sentence) {
    if (!count) return;
    warn_once_per_node("dropped-" + kind,
                       text_of_count(count) + " " + sentence +
                           (run.size > 1 ? "; so many on rank " + std::to_string(run.rank) : ""));
  };
  for (const auto& [kind, events] : dropped_) drop(kind, *events.count, events.sentence);
  drop("too_deep", recorder().untimed_regions(),
       "regions were entered more than " + std::to_string(kStackDepth) +
           " levels deep: they are counted, but their time is not known");
}

void Notices::warn_of_full_tables() const {
  if (overflowed_)
    warn_once_per_node("peers",
                       "a table of peers was full: " + text_of_count(overflowed_) +
                           " messages are counted as `other peers`; raise max_peers (now " +
                           std::to_string(config_.max_peers) + ")");
  if (recorder().regions.overflowed())
    warn_once_per_node(
        "regions",
        "the table of regions was full: later regions are counted as `other regions`; "
        "raise max_regions (now " +
            std::to_string(config_.max_regions) + ") or choose fewer by `regions`");
  if (const uint64_t count = recorder().overflowed_paths())
    warn_once_per_node(
        "paths", "the table of call paths was full: " + text_of_count(count) +
                     " entries of regions are counted as on `other paths`; raise max_paths (now " +
                     std::to_string(config_.max_paths) + ")");
  uint64_t without_room = 0;
  for (int i = 0; i < recorder().n_profiles(); ++i)
    without_room += recorder().profile_at(i).quantities.overflowed.get();
  if (without_room)
    warn_once_per_node(
        "quantities",
        "a table of (region, quantity) pairs was full: " + text_of_count(without_room) +
            " amounts are counted for `other regions`; raise max_regions (now " +
            std::to_string(config_.max_regions) + ") or choose fewer regions");
}

void Notices::warn_of_log(const Run& run) const {
  Recorder& r = recorder();
  const std::string of_rank = run.size > 1 ? " on rank " + std::to_string(run.rank) : "";
  if (const uint64_t lost = r.log.lost())
    warn_once_per_node("lost-events",
                       text_of_count(lost) +
                           " messages and collective operations of logged steps found no room" +
                           of_rank + ", in the " + text_of_count(EventLog::kCapacity) +
                           " of a step or in record_limit; they are counted, but who waited for "
                           "whom there is known from sums alone");
  if (const uint64_t count = r.overflowed_collectives())
    warn_once_per_node("collectives",
                       "a table of communicators was full" + of_rank + ": " + text_of_count(count) +
                           " collective operations are counted as of other communicators");
}

void Notices::warn_of_sites(const Run& run) const {
  const CallSites& sites = recorder().sites;
  if (run.step_call && sites.step_hits() == 0)
    warn_once_per_node("step-call",
                       "the call site " + config_.step_call +
                           " (step_call) was never hit, so no step was closed; seen by rank " +
                           std::to_string(run.rank) + ": " +
                           sites_in_words(recorder(), run.step_call) + "; `perfield steps " +
                           run.path + "` lists all");
  if (sites.overflowed())
    warn_once_per_node("sites",
                       text_of_count(sites.overflowed()) + " MPI calls at " +
                           text_of_count(sites.places_without_room()) +
                           " further sites are not followed, on rank " + std::to_string(run.rank) +
                           ": perfield follows at most " + text_of_count(kMostSites) +
                           "; `perfield steps` may miss the end of a step, and step_seconds or "
                           "perfield_step close steps all the same");
}

}  // namespace perfield
