// SPDX-License-Identifier: BSD-3-Clause
//
// step_writer.cpp - see step_writer.hpp.
#include "session/step_writer.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <utility>

#include "configuration/groups.hpp"
#include "format/samples.hpp"
#include "platform/clock.hpp"
#include "platform/guarded.hpp"
#include "platform/memory_limit.hpp"
#include "platform/process.hpp"
#include "platform/within.hpp"
#include "recorder/recorder.hpp"
#include "recorder/step_entry.hpp"
#include "run_directory/job.hpp"
#include "run_directory/launchers.hpp"
#include "run_directory/machine_file.hpp"
#include "run_directory/network_file.hpp"
#include "run_directory/run_json.hpp"
#include "session/agreed_change.hpp"
#include "session/environment.hpp"
#include "session/rank_log.hpp"
#include "session/step_sites.hpp"
#include "session/warnings.hpp"

namespace perfield {
namespace {

// Entries that may be gathered beyond what the pace wants: definitions, and those of a full disk.
constexpr size_t kMoreRoom = WritePace::kFirstRoom;
// Bytes of the largest entry that there is room for at first.
constexpr size_t kFirstRoom = 64 * 1024;
// At least this much time lies between two notes of the call sites, and a quarter of the time
// before: big codes have thousands of sites.
constexpr uint64_t kSitesEvery_ns = 1'000'000'000;

// Ranks on this node, as the launcher says or by an equal share; -1: unknown.
int ranks_on_node() {
  const LaunchedRank own = launched_rank();
  if (own.size <= 1) return 1;
  if (own.local_size > 0 || own.nodes <= 0) return own.local_size;
  return (own.size + own.nodes - 1) / own.nodes;
}

// A file system that does not answer for so long is taken for dead.
constexpr double kMostSecondsToEnd = 10;

}  // namespace

// --- opening -------------------------------------------------------------------------------------

bool StepWriter::open_run() {
  run_ = open_run_directory(config_, {program_arguments()}, "");  // only perfield-exec injects
  if (!run_.error.empty()) {
    warn_once_per_node("run-directory", run_.error + "; nothing is measured");
    return false;
  }
  set_warnings_directory(run_.path);
  if (!run_.notice.empty()) warn_once_per_node("notice", run_.notice);
  if (run_.claimed) {
    const std::string trouble = NetworkFile(run_.path, config_, false).finish();
    if (!trouble.empty()) warn_once_per_node("network", trouble);
  }
  if (!run_.first_of_node) return true;
  const std::string trouble =
      write_machine_file(run_.path, false);  // perfield-exec normally did it
  if (!trouble.empty()) warn_once_per_node("machine", trouble);
  return true;
}

bool StepWriter::open_files(int rank, int size) {
  rank_ = rank;
  share_.divide(rank, size);
  const std::string trouble = files_.begin(config_.stage, run_.path, run_.run_id);
  if (!trouble.empty()) warn_once_per_node("stage", trouble);
  const Appender::Room room = {kFirstRoom, WritePace::kFirstRoom + kMoreRoom};
  if (!stream_.open(files_.stream, run_.run_id, rank, room, files_.stream_instead,
                    Appender::kPatient)) {
    warn_once_per_node("stream", "the stream " + stream_.path() + " cannot be written (" +
                                     strerror(stream_.error()) +
                                     (stream_.error() == ENOMEM ? memory_limit_in_words() : "") +
                                     "); nothing is measured");
    return false;
  }
  files_.release();
  definitions_.start(run_.run_id, files_.stream, ranks_on_node(), config_.flush_seconds);
  mesh_.start(
      files_.mesh, files_.mesh_instead, run_.run_id, rank,
      [this](uint64_t bytes, const std::string& block) {
        return share_.may_take(bytes, taken(), "mesh-limit", block + " of the mesh",
                               "the steps from here on have no mesh there");
      },
      [](const std::string& topic, const std::string& sentence) {
        warn_once_per_node(topic, sentence);
      });
  if (in_process_.wanted())
    mesh_.copy_blocks_to([this](uint64_t version, const iovec* parts, int n_parts) {
      in_process_.keep_block(version, parts, n_parts);
    });
  return true;
}

// --- entries -------------------------------------------------------------------------------------

void StepWriter::rank(int rank, int size, const std::string& mpi, const std::string& cpus,
                      const std::vector<std::string>& sources) {
  sites_ticks_ = recorder().clock.ticks();
  char long_name[256] = "";
  gethostname(long_name, sizeof long_name - 1);
  JsonObject json;
  json.integer("rank", rank).integer("size", size).integer("pid", getpid());
  json.text("program", program_name()).text("arguments", program_arguments());
  std::string complaint;  // none: reading the configuration has checked it
  std::string group = group_of(config_.group, rank, &complaint);
  if (group.empty()) group = program_name();
  json.text("group", group);
  pace_.configure(config_.fields_every,
                  run_.path + "/stream/.fields-" + hex16(std::hash<std::string>()(group)));
  json.text("host", host_name())
      .text("host_long", long_name)
      .text("pid_namespace", pid_namespace())
      .text("boot_id", boot_id());
  json.text("cpuset", cpus).text("clock", recorder().clock.name());
  const ClockOrigin& origin = recorder().clock.origin();
  json.integer("monotonic_ns", origin.monotonic_ns).integer("realtime_ns", origin.realtime_ns);
  json.integer("realtime_error_ns", origin.realtime_error_ns).text("mpi", mpi);
  if (!origin.time_namespace.empty()) json.text("time_namespace", origin.time_namespace);
  json.text("perfield", PERFIELD_VERSION)
      .texts("sources", sources)
      .natural("sum_every", uint64_t(config_.sum_every));
  const std::pair<const char*, const char*> of_slurm[] = {
      {"topology_addr", "SLURM_TOPOLOGY_ADDR"},
      {"topology_pattern", "SLURM_TOPOLOGY_ADDR_PATTERN"}};
  for (const auto& [key, name] : of_slurm)
    if (const std::string value = variable(name); !value.empty()) json.text(key, value);
  stream_.json(EntryType::rank, 0, json.str());
  stream_.flush();
  write_pace_.start(monotonic_ns(), config_.flush_seconds == 0);
}

void StepWriter::clock(const perfield_clock& compared) {
  JsonObject json;
  json.integer("reference_rank", compared.reference_rank);
  json.integer("monotonic_ns", compared.monotonic_ns).integer("offset_ns", compared.offset_ns);
  json.number("drift_ppb", compared.drift_ppb);
  json.integer("round_trip_ns", compared.round_trip_ns);
  json.number("wander_ppb", compared.wander_ppb);
  json.numbers("compared_ns", compared.compared_ns, compared.n_compared);
  json.integer("uncertainty_ns", compared.uncertainty_ns).text("method", "exchange");
  stream_.json(EntryType::clock, 0, json.str());
}

const unsigned char* StepWriter::step(uint64_t index, const StepBody& body, size_t* bytes) {
  Recorder& r = recorder();
  mesh_.try_again();
  define();
  const uint64_t before = taken().by_stream;
  const StepRoom needed = step_body_room(r);
  size_t room = needed.all;
  unsigned char* at = stream_.begin(EntryType::step, index, room);
  if (!at && room > stream_.largest_step() &&
      needed.least <= stream_.largest_step()) {  // what finds no room is added up, and counted
    warn_once_per_node("memory", "there is no memory for the entries of rank " +
                                     std::to_string(rank_) + memory_limit_in_words() +
                                     "; some messages count as those of other peers");
    room = stream_.largest_step();
    at = stream_.begin(EntryType::step, index, room);
  }
  if (!at) return nullptr;
  *bytes = encode_step(r, body, at, room);
  stream_.end(*bytes);
  spans_.written(taken().by_stream - before, share_.left(taken()));
  return at;
}

// Events take their part of the space like entries of steps, but say nothing about how large the
// last ones will be.
bool StepWriter::write_events(uint64_t step, EventsStart start, const LoggedEvent* events) {
  if (spans_.is_full()) return false;
  unsigned char* const at = stream_.begin(EntryType::events, step, kMostBytesOfEvents);
  if (!at) return false;
  const size_t bytes = pack_events(start, events, at);
  if (bytes > share_.left_before_end(taken()) / 4 || !stream_.end(bytes)) return false;
  spans_.also_written(bytes + sizeof(EntryHeader), share_.left(taken()));
  flush_when_due();
  return true;
}

void StepWriter::events(uint64_t step, const EventLog::Taken& taken) noexcept {
  EventsStart start{};
  start.all = taken.n;
  start.lost = taken.lost;
  start.lost_begin_ns = taken.lost_begin;
  start.lost_end_ns = taken.lost_end;
  if (!taken.n && !taken.lost) return;
  try {
    do {
      start.n = std::min(taken.n - start.first, kMostEvents);
      const LoggedEvent* const events = taken.events + start.first;
      start.origin_ns = start.n ? events->begun : 0;
      if (!write_events(step, start, events)) return recorder().log.lose(taken.n - start.first);
      start.first += start.n;
    } while (start.first < taken.n);
  } catch (...) {
    recorder().log.lose(taken.n - start.first);
  }
}

// Samples may take an eighth of the space. Each time half of what is left of that is used, the
// source takes half as many, and what would take more than half of it is refused, so that they
// never end.
perfield_samples_answer StepWriter::samples(const perfield_samples& taken) noexcept {
  if (spans_.is_full()) return PERFIELD_SAMPLES_REFUSED;
  unsigned char* const at = stream_.begin(EntryType::samples, 0, kMostBytesOfSamples);
  if (!at) return PERFIELD_SAMPLES_REFUSED;
  const SamplesStart start{0, 0, taken.period_ns, taken.n_words ? taken.words[0] : 0, taken.lost};
  const size_t bytes = pack_samples(start, taken.words, taken.n_words, at);
  const uint64_t part = share_.left_before_end({}) / 8;
  const uint64_t room =
      std::min(share_.left_before_end(this->taken()), part - std::min(part, samples_bytes_));
  if (2 * bytes > room || !stream_.end(bytes)) return PERFIELD_SAMPLES_REFUSED;
  samples_bytes_ += bytes + sizeof(EntryHeader);
  spans_.also_written(bytes + sizeof(EntryHeader), share_.left(this->taken()));
  flush_when_due();
  const bool is_much = samples_bytes_ > part - (part >> (samples_halved_ + 1));
  if (is_much && samples_halved_ < 30) ++samples_halved_;
  return is_much ? PERFIELD_SAMPLES_FEWER : PERFIELD_SAMPLES_WRITTEN;
}

void StepWriter::modules(const char* json) noexcept {
  try {
    stream_.json(EntryType::modules, ++n_modules_, json);
  } catch (...) {
    // no memory for the text
  }
}

void StepWriter::communicator(const perfield_communicator& described) {
  constexpr uint32_t kMostDescribed = 4096;  // a program may make some in each step
  if (++n_communicators_ > kMostDescribed) return;
  JsonObject json;
  json.natural("name", described.name).integer("size", described.size);
  json.integer("rank", described.my_rank).text("label", described.label ? described.label : "");
  if (!described.is_used) json.raw("used", "false");
  if (described.n_dims > 0) {
    const std::vector<int64_t> dims(described.dims, described.dims + described.n_dims);
    const std::vector<int64_t> periodic(described.periodic, described.periodic + described.n_dims);
    json.numbers("dims", dims.data(), described.n_dims);
    json.numbers("periodic", periodic.data(), described.n_dims);
  }
  stream_.json(EntryType::communicator, described.name, json.str());
}

namespace {

void log_region(uint32_t id) {
  if (!rank_log().is_open()) return;
  const RegionDefinition& region = recorder().regions[id];
  std::string place = region.file.empty() ? "" : " (" + region.file;
  if (!place.empty()) place += ":" + std::to_string(region.line) + ")";
  rank_log().line("region     " + region.name + place + " was entered");
}

}  // namespace

void StepWriter::define() {
  const Clock& clock = recorder().clock;
  const uint64_t now_ns = clock.since_start_ns(clock.ticks());
  PathTable::define_regions(recorder(), [this, now_ns](uint32_t id, const std::string& json) {
    in_process_.keep_definition(with_id(id, json));
    definitions_.add(EntryType::region, id, json, now_ns);
    log_region(id);
    return true;
  });
  for (const std::string& sentence : recorder().quantities.take_refusals())
    warn_once_per_node("quantity-" + std::to_string(std::hash<std::string>()(sentence)), sentence);
  QuantityTable::define(recorder(), [this, now_ns](uint32_t id, const std::string& json) {
    in_process_.keep_definition(with_id(id, json));
    definitions_.add(EntryType::quantity, id, json, now_ns);
    return true;
  });
  definitions_.write(stream_, now_ns);
  PathTable::define_paths(recorder(), [this](const std::vector<PathDefinition>& rows) {
    return stream_.rows(EntryType::paths, rows);
  });
}

void StepWriter::sites(bool is_last) {
  if (!recorder().sites.following() || recorder().sites.size() == 0) return;
  std::string text = sites_json(recorder(), config_.step_call);
  if (text.empty()) return;
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t left = share_.left_before_end(taken());
  if (text.size() > (is_last ? left : left / 4)) {
    if (std::exchange(warned_of_sites_, true)) return;
    warn_once_per_node("limit-sites",
                       "the call sites of rank " + std::to_string(rank_) + " take " +
                           std::to_string(text.size()) + " bytes, too many for what is left of " +
                           share_.in_words() +
                           "; `perfield steps` sees what was written before, or nothing; raise "
                           "record_limit");
    return;
  }
  const iovec body = {text.data(), text.size()};
  sites_wait_ = !stream_.write_parts(EntryType::sites, 0, &body, 1);
}

bool StepWriter::sites_are_due(uint64_t now) const noexcept {
  const Clock& clock = recorder().clock;
  const uint64_t noted = sites_ticks_.load();
  return clock.span_ns(now - noted) >= std::max(kSitesEvery_ns, clock.since_start_ns(noted) / 4);
}

// --- the end -------------------------------------------------------------------------------------

bool StepWriter::end(const JsonObject& entry, bool is_aborted) {
  const Ended ended =
      is_aborted ? Ended::not_begun : within(kMostSecondsToEnd, [=] { finish(entry, is_aborted); });
  if (ended == Ended::late) {
    // Asks no file whether another rank of the node has said so.
    warn_at_once(
        "the file system of " + run_.path + " has not answered for " +
        std::to_string(int(kMostSecondsToEnd)) +
        " s, so the end of the program does not wait for it; the last entries may be lost");
    return false;
  }
  if (ended == Ended::not_begun) finish(entry, true);
  const std::string trouble = files_.end(stream_);  // the node's last rank moves what is staged
  if (!trouble.empty()) warn_once_per_node("stage-end", trouble);
  close_files();
  warn_of_end();
  return true;
}

void StepWriter::finish(JsonObject entry, bool is_aborted) {
  Appender& mesh = mesh_.file();
  mesh_.try_last();
  definitions_.write_last(stream_);
  stream_.hurry();
  stream_.flush_or_miss();
  definitions_.share_written(stream_);
  if (sites_wait_) sites(true);
  if (sites_wait_) stream_.miss();
  entry.natural("bytes_written", stream_.bytes_written() + mesh.bytes_written());
  entry.natural("missing", stream_.missing()).natural("missing_of_mesh", mesh.missing());
  if (!is_aborted) {
    // Each rank for itself: an error in writing back the node's file is reported to each descriptor
    // that was open then, and ranks of one file do not wait for one another long (docs/faults.md).
    const int of_stream = stream_.sync(), of_mesh = mesh.sync();
    end_.sync = of_stream && of_stream != ENOTSUP ? of_stream : of_mesh;
    if (end_.sync == ENOTSUP) end_.sync = 0;
    if (end_.sync)
      entry.raw("synced", "false").text("sync_error", strerror(end_.sync));
    else if (of_stream != ENOTSUP)
      entry.raw("synced", "true");
  }
  stream_.json(EntryType::end, 0, entry.str());
  stream_.flush_or_miss();
  definitions_.finish();
  end_.missing = stream_.missing() + mesh.missing();
  end_.write = stream_.error() ? stream_.error() : mesh.error();
  if (!files_.staged()) close_files();  // else its lock is needed yet
}

void StepWriter::close_files() {
  for (Appender* file : {&mesh_.file(), &stream_})
    if (const int trouble = file->close()) end_.close = trouble;
}

void StepWriter::warn_of_end() {
  if (end_.missing)
    warn_once_per_node("missing", std::to_string(end_.missing) + " entries of rank " +
                                      std::to_string(rank_) + " are missing in " + run_.path +
                                      ", as they could not be written (" + strerror(end_.write) +
                                      "); `perfield info` shows where");
  if (end_.sync)
    warn_once_per_node(
        "sync", run_.path + " is not safe: the file system reports an error in writing it back (" +
                    strerror(end_.sync) + "), seen by rank " + std::to_string(rank_) +
                    "; entries may be lost although they were written");
  if (end_.close)
    warn_once_per_node("close", "closing the files of " + run_.path + " failed (" +
                                    strerror(end_.close) + "); the last entries may be lost");
}

// --- fields --------------------------------------------------------------------------------------

void StepWriter::fields(uint64_t step) noexcept {
  if (!mesh_.has_fields()) return;
  try {
    std::string slower;
    if (!pace_.are_due(step, &slower)) return;
    if (!slower.empty()) warn_once_per_node("fields-pace", slower);
    if (fields_end_ ||
        !share_.may_take(mesh_.bytes_of_fields(), taken(), "fields-limit", "the fields of a step",
                         "from step " + std::to_string(step) + " on they are not stored")) {
      fields_end_ = true;
      return;
    }
    const uint64_t begin_ns = monotonic_ns();
    mesh_.write_fields(step);
    pace_.stored(step, begin_ns, monotonic_ns());
    rank_log().line("fields     of step " + std::to_string(step));
  } catch (...) {
    warn_once_per_node("fields", "there was no memory to store the simulation's fields of a step");
  }
}

// --- writing -------------------------------------------------------------------------------------

void StepWriter::flush() noexcept {
  const uint64_t bytes = stream_.bytes_written(), begin_ns = monotonic_ns();
  stream_.flush();
  if (stream_.bytes_written() != bytes) write_pace_.wrote(begin_ns, monotonic_ns());
}

void StepWriter::flush_when_due() noexcept {
  const uint64_t now_ns = monotonic_ns();
  WritePace::Next next = write_pace_.next(now_ns, stream_.gathered());
  if (next == WritePace::Next::make_room && !stream_.fails()) {
    const bool more = stream_.gather_up_to(WritePace::kMostRoom + kMoreRoom);
    write_pace_.has_room(more ? WritePace::kMostRoom : WritePace::kFirstRoom);
    next = write_pace_.next(now_ns, stream_.gathered());
  }
  if (next == WritePace::Next::gather) return;
  flush();
  const bool longer = write_pace_.wants_longer_spans();
  if (longer) spans_.lengthen();
  warn_of_slow_writing(longer);
}

void StepWriter::warn_of_slow_writing(bool longer) noexcept {
  const double write_ms = double(write_pace_.shortest_ns()) * 1e-6;
  const double apart_s = double(write_pace_.apart_ns()) * 1e-9;
  const bool gathers = apart_s > config_.flush_seconds && config_.flush_seconds > 0;
  if ((!gathers || warned_of_gathering_) && (!longer || warned_of_spans_)) return;
  try {
    char begin[160];
    snprintf(begin, sizeof begin, " takes %.3g ms, and perfield spends 0.5 %% of the time on it; ",
             write_ms);
    const std::string writing = "writing to " + run_.path + begin;
    const std::string end = config_.stage.empty()
                                ? "; set stage to a directory of each node, as /dev/shm, to write "
                                  "there until the program ends"
                                : "; a faster directory for stage would mend that";
    if (longer) {
      warned_of_spans_ = warned_of_gathering_ = true;
      warn_once_per_node(
          "slow-writing-spans",
          writing + "even a megabyte of entries at once is too little for that, so from now on " +
              (config_.measure_every > 1 ? "fewer steps are measured"
                                         : "more steps share an entry") +
              ", as many as it takes" + end);
    } else {
      char seconds[32];
      snprintf(seconds, sizeof seconds, "%.3g s", apart_s);
      warned_of_gathering_ = true;
      warn_once_per_node("slow-writing",
                         writing + "so entries are gathered for up to " + seconds +
                             ", at most a megabyte, which is what a killed rank loses" + end);
    }
  } catch (...) {
    // no memory for a sentence
  }
}

// A failing node-local disk loses nothing: entries go to the place they would have without it.
void StepWriter::check_staging(uint64_t step) noexcept {
  const int error = stream_.moved() ? stream_.moved() : mesh_.file().moved();
  if (!error || stage_failed_) return;
  stage_failed_ = true;
  try {
    warn_once_per_node(
        "stage", "writing to " + config_.stage + " (stage) failed in step " + std::to_string(step) +
                     " (" + strerror(error) +
                     "); from here on entries are written into the run directory at once");
  } catch (...) {
  }
}

// Nothing is known to be lost yet: what could not be written is tried again.
void StepWriter::warn_of_failures(uint64_t step) {
  if (stream_.error() && !warned_of_failure_) {
    warned_of_failure_ = true;
    warn_once_per_node(
        "writing", "writing to " + run_.path + " failed in step " + std::to_string(step) + " (" +
                       strerror(stream_.error()) +
                       "); perfield tries again, at last once a minute; what was written can be "
                       "read, the program runs on");
  }
  if (mesh_.file().error() && !warned_of_mesh_failure_) {
    warned_of_mesh_failure_ = true;
    warn_once_per_node("mesh-writing", "writing the mesh or fields to " + run_.path +
                                           " failed in step " + std::to_string(step) + " (" +
                                           strerror(mesh_.file().error()) +
                                           "); the mesh is tried again with the next frames");
  }
}

bool StepWriter::works(uint64_t step) noexcept {
  check_staging(step);
  const bool works = !stream_.failed();
  if (works && !stream_.error() && !mesh_.file().error()) return true;
  try {
    warn_of_failures(step);
    if (works) return true;
    stream_.flush_or_miss();
    warn_once_per_node("writing-ended",
                       "writing to " + run_.path + " has failed " +
                           std::to_string(Appender::kPatient) + " times in a row (" +
                           strerror(stream_.error()) + "); measuring ends here in step " +
                           std::to_string(step) + ", " + std::to_string(stream_.missing()) +
                           " entries of rank " + std::to_string(rank_) +
                           " are missing, what was written can be read, the program runs on");
  } catch (...) {
  }
  return works;
}

Taken StepWriter::taken() const noexcept {
  return {stream_.bytes_written() + stream_.gathered(), mesh_.bytes()};
}

}  // namespace perfield
