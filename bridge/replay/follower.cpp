// SPDX-License-Identifier: BSD-3-Clause
//
// follower.cpp - see follower.hpp.
#include "replay/follower.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "format/decode.hpp"
#include "format/json.hpp"
#include "platform/guarded.hpp"
#include "recorder/step_entry.hpp"

namespace perfield {
namespace {

constexpr uint32_t kNoRegion = ~uint32_t(0);
constexpr uint64_t kUnknownBytes = ~uint64_t(0);
constexpr size_t kGathered = size_t{1} << 20;  // bytes per write
constexpr size_t kFirstRoom = 64 * 1024;       // for an entry

enum : uint8_t { kRead = 0, kWrite = 1, kFlush = 2 };

// Changes the largest number, since the recorder uses 0 for no stamp.
uint64_t stamp_of(uint64_t time) noexcept { return time + (time != ~uint64_t(0)); }

// Calls that wait for at most one message.
bool waits_for_one(uint16_t call) noexcept {
  return call == PERFIELD_CALL_recv || call == PERFIELD_CALL_mrecv || call == PERFIELD_CALL_wait;
}

bool is_of_class(uint16_t call, uint16_t time_class) noexcept {
  return call && kTimeClassOfCall.of[call] == time_class;
}

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

Follower::Follower(std::shared_ptr<const Trace> trace, FollowedRank rank)
    : trace_(std::move(trace)), rank_(std::move(rank)), recorder_(std::make_unique<Recorder>()) {
  Recorder& r = *recorder_;
  r.regions.configure(trace_->max_regions, Selection());  // the trace's names are selected already
  for (const std::string& counter : trace_->counters)
    counters_.push_back(r.define_quantity(counter.c_str(), "1", PERFIELD_PER_REGION,
                                          PERFIELD_STEPS_SUM, PERFIELD_THREADS_SUM,
                                          "what a metric of the trace counted"));
  const auto& sources = trace_->sources;
  if (std::find(sources.begin(), sources.end(), "io") != sources.end()) define_files();
  r.start(trace_->max_peers, trace_->messages, trace_->ticks_per_second, stamp_of(trace_->start));
}

// --- the event's thread -------------------------------------------------------------------------

Follower::Thread* Follower::follow(uint64_t location, uint64_t time, uint64_t* now) {
  *now = last_ = stamp_of(time);
  if (n_events_++ == 0) {
    begin_ = counting_since_ = *now;
    recorder_->open(*now);
  }
  if (!last_thread_ || location != last_location_) {
    const auto [found, is_new] = threads_.try_emplace(location);
    if (is_new) found->second.profile = recorder_->add_profile();
    last_location_ = location;
    last_thread_ = &found->second;
  }
  return last_thread_->profile ? last_thread_ : nullptr;
}

// Defines a region when it is first entered, so that the table holds only this rank's regions.
const Follower::Plan& Follower::plan(uint32_t region) {
  const auto [found, is_new] = plans_.try_emplace(region);
  Plan& plan = found->second;
  if (!is_new) return plan;
  const auto known = trace_->regions.find(region);
  if (known == trace_->regions.end()) return plan;
  const TraceRegion& of_trace = known->second;
  plan.call = of_trace.call;
  plan.closes_steps = of_trace.closes_steps;
  if (!plan.call && !of_trace.name.empty())
    plan.id =
        recorder_->regions.define(of_trace.name.c_str(), of_trace.file.c_str(), of_trace.line);
  return plan;
}

// --- regions ------------------------------------------------------------------------------------

void Follower::enter(uint64_t location, uint64_t time, uint32_t region) {
  uint64_t now;
  Thread* const thread = follow(location, time, &now);
  const Plan& plan = this->plan(region);
  if (!thread) return;
  if (plan.closes_steps && recorder_->step_region.enter(*thread->profile, region) && !has_steps_) {
    has_steps_ = true;
    close(StepKind::setup, now);
  }
  const int32_t level = thread->profile->depth.load(std::memory_order_relaxed);
  recorder_->enter_region(*thread->profile, region, plan.id, now);
  if (plan.call && !thread->call && !thread->operation) begin_call(*thread, plan.call, level, now);
}

void Follower::leave(uint64_t location, uint64_t time, uint32_t region) {
  uint64_t now;
  Thread* const thread = follow(location, time, &now);
  if (!thread) return;
  if (thread->call || thread->operation) {
    const int32_t level = thread->profile->stack.level_of(
        region, thread->profile->depth.load(std::memory_order_relaxed));
    if (level >= 0 && level <= thread->level) end_call(*thread, now);
  }
  recorder_->leave_region(*thread->profile, region, now);
  if (!plan(region).closes_steps || !recorder_->step_region.leave(*thread->profile)) return;
  close(StepKind::step, now);
  ++n_steps_;
}

uint32_t Follower::region_of(uint32_t context) const noexcept {
  const auto found = trace_->contexts.find(context);
  return found == trace_->contexts.end() ? kNoRegion : found->second;
}

void Follower::enter_context(uint64_t location, uint64_t time, uint32_t context) {
  enter(location, time, region_of(context));
}

void Follower::leave_context(uint64_t location, uint64_t time, uint32_t context) {
  leave(location, time, region_of(context));
}

// --- calls and messages -------------------------------------------------------------------------

void Follower::begin_call(Thread& thread, uint16_t call, int32_t level, uint64_t now) noexcept {
  thread.call = call;
  thread.level = level;
  thread.stamp = is_recording() ? now : 0;
  thread.bytes_out = thread.bytes_in = 0;
  thread.n_received = 0;
  if (thread.stamp) thread.profile->enter_call(perfield_call(call), nullptr, nullptr, now);
}

void Follower::end_call(Thread& thread, uint64_t now) noexcept {
  const auto call = perfield_call(thread.call);
  const perfield_operation* const operation = thread.operation;
  thread.call = 0;
  thread.operation = nullptr;
  if (!thread.stamp) return;
  if (operation) return thread.profile->leave_operation(*operation, thread.stamp, now, 0);
  if (waits_for_one(call) && thread.n_received == 1 && thread.profile->activity->counts_messages())
    thread.profile->messages.count_wait(*thread.profile, thread.peer, growth(now, thread.stamp));
  thread.profile->exit_call(call, thread.stamp, now, thread.bytes_out, thread.bytes_in);
}

// Bytes of a call that was counted before.
void Follower::count_bytes(Thread& thread, uint16_t call, uint64_t out, uint64_t in) noexcept {
  if (is_recording())
    thread.profile->calls.count(*thread.profile, perfield_call(call), 0, out, in, 0);
}

void Follower::sent(uint64_t location, uint64_t time, perfield_call otherwise, uint32_t comm,
                    uint32_t receiver, uint64_t bytes) {
  uint64_t now;
  Thread* const thread = follow(location, time, &now);
  if (!thread || !thread->profile->activity->counts_messages() || !is_recording()) return;
  const uint16_t call = kMessageCalls.has[thread->call] ? thread->call : uint16_t(otherwise);
  thread->profile->messages.count(*thread->profile, call,
                                  trace_->peers.world_rank(comm, receiver, rank_.rank), bytes);
}

void Follower::received(uint64_t location, uint64_t time, uint32_t comm, uint32_t sender,
                        uint64_t bytes) {
  uint64_t now;
  Thread* const thread = follow(location, time, &now);
  if (!thread || !thread->profile->activity->counts_messages() || !is_recording()) return;
  thread->peer = trace_->peers.world_rank(comm, sender, rank_.rank);
  ++thread->n_received;
  thread->profile->messages.count(*thread->profile, PERFIELD_CALL_recv, thread->peer, bytes);
}

void Follower::transfer(uint64_t location, uint64_t time, uint32_t window, uint32_t remote,
                        uint64_t bytes) {
  uint64_t now;
  Thread* const thread = follow(location, time, &now);
  if (!thread || !thread->profile->activity->counts_messages() || !is_recording()) return;
  if (!kMessageCalls.has[thread->call]) return;
  const auto comm = trace_->windows.find(window);
  const int32_t peer = comm == trace_->windows.end()
                           ? kPeerUnknown
                           : trace_->peers.world_rank(comm->second, remote, rank_.rank);
  thread->profile->messages.count(*thread->profile, thread->call, peer, bytes);
}

void Follower::collective(uint64_t location, uint64_t time, uint64_t sent, uint64_t received) {
  uint64_t now;
  Thread* const thread = follow(location, time, &now);
  // The trace counts making a communicator as collective; perfield does not.
  if (!thread || !is_of_class(thread->call, PERFIELD_CLASS_collective)) return;
  thread->bytes_out += sent;
  thread->bytes_in += received;
}

void Follower::start_collective(uint64_t location, uint64_t time, uint64_t request) {
  uint64_t now;
  if (Thread* const thread = follow(location, time, &now)) started_[request] = thread->call;
}

void Follower::end_collective(uint64_t location, uint64_t time, uint64_t sent, uint64_t received,
                              uint64_t request) {
  uint64_t now;
  Thread* const thread = follow(location, time, &now);
  const auto started = started_.find(request);
  if (started == started_.end()) return;
  const uint16_t call = started->second;
  started_.erase(started);
  if (thread && is_of_class(call, PERFIELD_CLASS_collective))
    count_bytes(*thread, call, sent, received);
}

// --- files --------------------------------------------------------------------------------------

void Follower::define_files() noexcept {
  files_ = define_file_operations(
      [this](auto... arguments) { return recorder_->define_quantity(arguments...); });
}

void Follower::begin_operation(Thread& thread, const perfield_operation* operation, int32_t level,
                               uint64_t now) noexcept {
  thread.operation = operation;
  thread.level = level;
  thread.stamp = is_recording() ? now : 0;
  if (thread.stamp) thread.profile->enter_operation(operation, nullptr, now);
}

void Follower::begin_file(uint64_t location, uint64_t time, uint32_t handle, uint8_t mode,
                          uint64_t matching) {
  uint64_t now;
  Thread* const thread = follow(location, time, &now);
  if (!thread || mode > kFlush) return;
  const auto file = trace_->files.find(handle);
  const bool is_mpi = file != trace_->files.end() && file->second == FileKind::mpi;
  Operation operation{thread->call, nullptr, mode, false};
  if (thread->call || thread->operation) {  // part of an MPI call or of another operation
    if (is_mpi && is_of_class(thread->call, PERFIELD_CLASS_io))
      operations_[{handle, matching}] = operation;
    return;
  }
  const int32_t top = thread->profile->depth.load(std::memory_order_relaxed) - 1;
  operation.is_open = true;
  if (is_mpi) {
    operation.call = mode == kRead ? PERFIELD_CALL_file_read : PERFIELD_CALL_file_write;
    begin_call(*thread, operation.call, top, now);
  } else {
    if (!files_.read.count) define_files();
    operation.own = mode == kRead ? &files_.read : &files_.write;
    begin_operation(*thread, operation.own, top, now);
  }
  operations_[{handle, matching}] = operation;
}

void Follower::end_operation(Thread& thread, Operation& operation, uint64_t now) noexcept {
  const bool is_inside = thread.call == operation.call && thread.operation == operation.own;
  if (operation.is_open && is_inside) end_call(thread, now);
  operation.is_open = false;
}

void Follower::issue_file(uint64_t location, uint64_t time, uint32_t handle, uint64_t matching) {
  uint64_t now;
  Thread* const thread = follow(location, time, &now);
  const auto found = operations_.find({handle, matching});
  if (thread && found != operations_.end()) end_operation(*thread, found->second, now);
}

void Follower::end_file(uint64_t location, uint64_t time, uint32_t handle, uint64_t bytes,
                        uint64_t matching) {
  uint64_t now;
  Thread* const thread = follow(location, time, &now);
  const auto found = operations_.find({handle, matching});
  if (!thread || found == operations_.end()) return;
  Operation operation = found->second;
  operations_.erase(found);
  end_operation(*thread, operation, now);
  if (bytes == kUnknownBytes || operation.mode == kFlush) return;
  const bool reads = operation.mode == kRead;
  if (!operation.own)
    count_bytes(*thread, operation.call, reads ? 0 : bytes, reads ? bytes : 0);
  else if (is_recording())
    thread->profile->add(operation.own->bytes, bytes);
}

// --- counters, and gaps in the recording --------------------------------------------------------

void Follower::metric(uint64_t location, uint64_t time, uint32_t metric, const uint64_t* values,
                      uint32_t n_values) {
  uint64_t now;
  Thread* const thread = follow(location, time, &now);
  const auto places = trace_->metrics.find(metric);
  if (!thread || places == trace_->metrics.end()) return;
  for (const TraceMetric& of : places->second)
    if (of.place < n_values)
      if (const perfield_quantity counter = counters_[size_t(of.counter)])
        thread->profile->quantities.read(*thread->profile, thread->profile->stack, counter,
                                         values[of.place]);
}

void Follower::record(uint64_t location, uint64_t time, bool on) {
  uint64_t now;
  follow(location, time, &now);
  if (on == is_recording()) return;
  if (on) {
    recorder_->open(now);
    counting_since_ = now;
  } else {
    recorder_->collect(now);
    recorder_->close();
    measured_ += growth(now, counting_since_);
  }
  flags_ |= kStepPaused;
}

void Follower::flush(uint64_t location, uint64_t time, uint64_t until) {
  uint64_t now;
  Thread* const thread = follow(location, time, &now);
  if (!thread || until <= time || !is_recording()) return;
  recorder_->skip(*thread->profile, now, stamp_of(until));
  if (thread->stamp) thread->stamp = stamp_of(until);
  if (location != rank_.first_location) return;
  flushed_ += until - time;
  flags_ |= kStepPaused;
}

void Follower::program(uint64_t location, uint64_t time, uint32_t name, const uint32_t* arguments,
                       uint32_t n_arguments) {
  uint64_t now;
  follow(location, time, &now);
  const auto text = [&](uint32_t number) {
    const auto found = trace_->strings.find(number);
    return found == trace_->strings.end() ? std::string() : found->second;
  };
  program_ = text(name);
  arguments_.clear();
  for (uint32_t i = 0; i < n_arguments; ++i) arguments_.push_back(text(arguments[i]));
}

// --- closing a step -----------------------------------------------------------------------------

void Follower::end(const std::string& reason) {
  if (!n_events_) return;
  close(has_steps_ ? StepKind::teardown : StepKind::setup, last_);
  write_end_entry(reason);
  out_.flush();
}

void Follower::close(StepKind kind, uint64_t now) {
  now = std::max(now, begin_);  // stamps may go backwards
  const bool recording = is_recording();
  if (recording) {
    recorder_->collect(now);
    measured_ += growth(now, counting_since_);
  }
  write_step(kind, now);
  begin_ = counting_since_ = now;
  measured_ = flushed_ = 0;
  flags_ = recording ? 0 : kStepPaused;
  if (recording) recorder_->open(now);
}

void Follower::write_step(StepKind kind, uint64_t now) {
  Recorder& r = *recorder_;
  const uint64_t origin = stamp_of(trace_->start);
  const auto since_start_ns = [&](uint64_t stamp) {
    return r.clock.span_ns(growth(stamp, origin));
  };
  StepBody b{};
  b.label = int64_t(kind == StepKind::teardown && n_steps_ ? n_steps_ - 1 : n_steps_);
  b.time = std::nan("");
  b.span = 1;
  b.kind = uint16_t(kind);
  b.flags = flags_ | kStepNoProcess;
  b.begin_ns = since_start_ns(begin_);
  b.end_ns = since_start_ns(now);
  b.realtime_ns = trace_->start_ns + int64_t(b.end_ns);
  b.measured_ns = r.clock.span_ns(growth(measured_, flushed_));
  b.pu = -1;

  const bool writes = !rank_.path.empty();
  if (writes && !out_.is_open() && !out_.failed()) write_rank_entry();
  const auto define_as = [&](EntryType type) {
    return [this, writes, type](uint32_t id, const std::string& json) {
      return !writes || out_.json(type, id, with_id(id, json));
    };
  };
  PathTable::define_regions(r, define_as(EntryType::region));
  QuantityTable::define(r, define_as(EntryType::quantity));
  PathTable::define_paths(r, [this, writes](const std::vector<PathDefinition>& rows) {
    return !writes || out_.rows(EntryType::paths, rows);
  });
  const size_t room = step_body_room(r).all;
  if (!writes) unwritten_.resize(room);
  unsigned char* const at =
      writes ? out_.begin(EntryType::step, n_steps_, room) : unwritten_.data();
  if (!at) return;  // error() says why
  const size_t bytes = encode_step(r, b, at, room);
  note_regions(at, bytes);
  if (writes) out_.end(bytes);
}

// What is reported about the regions at the end.
void Follower::note_regions(const unsigned char* body, size_t bytes) {
  StepView step;
  if (!view_step(body, bytes, &step)) return;
  faults_ += step.fixed.faults;
  overflowed_ += step.fixed.overflowed;
  for (const RegionRow& row : step.regions) {
    if (spent_.size() <= row.id) spent_.resize(row.id + 1);
    spent_[row.id].count += row.count;
    spent_[row.id].ns += row.inclusive_max_ns;
  }
}

std::vector<std::pair<std::string, uint64_t>> Follower::candidates(size_t most) const {
  std::vector<uint32_t> found;
  for (uint32_t id = 1; id < spent_.size(); ++id)  // without `other regions`
    if (spent_[id].count > 1) found.push_back(id);
  std::stable_sort(found.begin(), found.end(),
                   [this](uint32_t a, uint32_t b) { return spent_[a].ns > spent_[b].ns; });
  std::vector<std::pair<std::string, uint64_t>> named;
  for (uint32_t id : found)
    if (named.size() < most) named.emplace_back(recorder_->regions[id].name, spent_[id].count);
  return named;
}

// --- before and after the steps -----------------------------------------------------------------

void Follower::write_rank_entry() {
  std::string command = program_;  // as a running program has it
  for (const std::string& argument : arguments_) command += ' ' + argument;
  // The run is DIRECTORY/stream/FILE; nobody else's directory or link may take its place meanwhile.
  const std::string folder = rank_.path.substr(0, rank_.path.find_last_of('/'));
  guard_directory(folder.substr(0, folder.find_last_of('/')), geteuid());
  if (!out_.open(rank_.path, rank_.run_id, rank_.rank, {kFirstRoom, kGathered})) return;
  JsonObject json;
  json.integer("rank", rank_.rank).integer("size", rank_.size).integer("pid", 0);
  json.text("pid_namespace", "").text("program", program_).text("arguments", command);
  json.text("group", base_name(program_)).text("host", rank_.host).text("host_long", rank_.host);
  json.text("boot_id", rank_.boot_id).text("cpuset", "").text("clock", "otf2");
  json.integer("realtime_ns", trace_->start_ns).text("mpi", "").text("perfield", PERFIELD_VERSION);
  json.texts("sources", trace_->sources);
  json.natural("sum_every", 1);
  out_.json(EntryType::rank, 0, json.str());
}

void Follower::write_end_entry(const std::string& reason) {
  Recorder& r = *recorder_;
  JsonObject json, faults, dropped;
  if (faults_) faults.natural("ends_without_begin_or_not_reached", faults_);
  if (r.refused_threads()) faults.natural("threads_without_room", r.refused_threads());
  if (r.untimed_regions()) dropped.natural("too_deep", r.untimed_regions());
  json.text("reason", reason).natural("steps", n_steps_).texts("sources", trace_->sources);
  json.raw("hooks", "{}").raw("faults", faults.str()).raw("dropped_events", dropped.str());
  json.natural("dropped_messages", overflowed_).natural("dropped_regions", r.regions.overflowed());
  json.natural("bytes_written", out_.bytes_written() + out_.gathered());
  json.natural("perfield_ns", 0).natural("perfield_bytes", 0);
  json.integer("realtime_ns", trace_->end_ns);
  out_.json(EntryType::end, 0, json.str());
}

}  // namespace perfield
