// SPDX-License-Identifier: BSD-3-Clause
//
// step_writer.hpp - writes this rank's part of the run directory: its stream of entries, mesh and
// fields. Decides when they are written and how much disk they may take. Reports what cannot be
// written. Used under the session's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "configuration/config.hpp"
#include "format/append.hpp"
#include "recorder/event_log.hpp"
#include "recorder/source.h"
#include "run_directory/run_directory.hpp"
#include "run_directory/staging.hpp"
#include "session/definitions.hpp"
#include "session/fields_pace.hpp"
#include "session/in_process.hpp"
#include "session/mesh.hpp"
#include "session/record_share.hpp"
#include "session/span_of_entries.hpp"
#include "session/write_pace.hpp"

namespace perfield {

class StepWriter {
 public:
  // in_process: keeps written data until it is shown. spans: gets to know what entries take.
  StepWriter(const Config& config, InProcess& in_process, SpanOfEntries& spans)
      : config_(config), in_process_(in_process), spans_(spans) {}

  // Finds or makes the run directory. On failure, says so and returns false.
  bool open_run();
  // Opens this rank's files there, once the table of regions has its final size. On failure, says
  // so and returns false.
  bool open_files(int rank, int size);
  const std::string& run_path() const noexcept { return run_.path; }

  // The entries of a rank. place: what has changed since its `rank` entry.
  void rank(int rank, int size, const std::string& mpi, const std::string& cpus,
            const std::vector<std::string>& sources);
  void place(const JsonObject& changed) { stream_.json(EntryType::place, 0, changed.str()); }
  void clock(const perfield_clock& compared);
  // Encodes what the recorder has pending, with the definitions that it needs. Returns the body in
  // the buffer, valid until the next write; nullptr if it cannot be written.
  const unsigned char* step(uint64_t index, const StepBody& body, size_t* bytes);
  // Writes what the log of a step kept, as far as record_limit allows; the rest is lost.
  void events(uint64_t step, const EventLog::Taken& taken) noexcept;
  // Writes samples as far as their part of record_limit allows.
  perfield_samples_answer samples(const perfield_samples& taken) noexcept;
  void modules(const char* json) noexcept;
  void communicator(const perfield_communicator& described);
  // is_last: at the end.
  void sites(bool is_last = false);
  // False for a while after sites_looked_at.
  bool sites_are_due(uint64_t now) const noexcept;
  void sites_looked_at(uint64_t now) noexcept { sites_ticks_.store(now); }
  // Makes what was written safe, writes `entry` with what came of that, closes the files, and lets
  // the node's last rank move staged ones. Nothing may follow it. Reports failures. is_aborted: the
  // program is in a hurry, and asks for no safety. False: the file system does not answer, and
  // nobody should look at the run now.
  bool end(const JsonObject& entry, bool is_aborted);

  // Writes the simulation's own fields, if they are due with this frame.
  void fields(uint64_t step) noexcept;
  Mesh& mesh() noexcept { return mesh_; }

  void flush() noexcept;
  // Writes at once while that stays cheap relative to the steps; otherwise gathers entries, and if
  // that is not enough, lets more steps share one.
  void flush_when_due() noexcept;
  // Reports failed writes. False, with a message, once nothing more can be written.
  bool works(uint64_t step) noexcept;
  // Says what record_limit changes. step: the next one.
  void warn_of_spans(uint64_t step) noexcept { share_.warn_of(spans_, step); }

 private:
  Taken taken() const noexcept;
  bool write_events(uint64_t step, EventsStart start, const LoggedEvent* events);
  void define();
  void check_staging(uint64_t step) noexcept;
  void warn_of_failures(uint64_t step);
  void warn_of_slow_writing(bool longer) noexcept;
  // What end() does where it may hang.
  void finish(JsonObject entry, bool is_aborted);
  void close_files();
  void warn_of_end();

  const Config& config_;
  InProcess& in_process_;
  SpanOfEntries& spans_;
  RunDirectory run_;
  NodeFiles files_;
  Appender stream_;
  Definitions definitions_;
  Mesh mesh_;
  int rank_ = 0;
  uint32_t n_communicators_ = 0, n_modules_ = 0;
  uint64_t samples_bytes_ = 0;
  int samples_halved_ = 0;  // times
  RecordShare share_{config_};
  FieldsPace pace_;
  WritePace write_pace_;
  bool warned_of_gathering_ = false, warned_of_spans_ = false;
  std::atomic<uint64_t> sites_ticks_{0};
  bool fields_end_ = false;  // no room for more of them
  bool warned_of_sites_ = false;
  bool stage_failed_ = false;
  bool warned_of_failure_ = false, warned_of_mesh_failure_ = false;
  bool sites_wait_ = false;  // the newest entry of them is not in the stream
  struct {
    int write = 0, sync = 0, close = 0;  // errno
    uint64_t missing = 0;                // entries
  } end_;
};

}  // namespace perfield
