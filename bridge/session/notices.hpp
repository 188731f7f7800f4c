// SPDX-License-Identifier: BSD-3-Clause
//
// notices.hpp - collects during the measurement what is reported at its end: expected and hit
// hooks, dropped events, faults, full tables. The counts go into the end entry; each that matters
// becomes a sentence. Used under the session's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "configuration/config.hpp"
#include "format/entry.hpp"
#include "format/json.hpp"

namespace perfield {

class Notices {
 public:
  explicit Notices(const Config& config) : config_(config) {}

  void hook_expected(const char* name, const char* sentence);
  void hook_hit(const char* name);
  // Registers a source's own counter of dropped events.
  void counts_dropped(const char* kind, const char* sentence, const std::atomic<uint64_t>* count) {
    dropped_[kind] = {sentence, count};
  }
  void fault(const char* kind) {
    ++faults_[kind];
    ++faults_of_step_;
  }
  uint64_t faults_of_step() const noexcept { return faults_of_step_; }  // since the last entry
  // entry: its body as written, including the recorder's faults.
  void add_entry(const StepBody& entry);
  void entry_closed() noexcept { faults_of_step_ = 0; }

  // Adds all counts to the end entry.
  void add_to_end_entry(JsonObject* entry);
  struct Run {
    const std::string& path;
    int rank, size;
    uint64_t steps;      // closed ones
    uint16_t step_call;  // the call that closes them; 0: none
    bool aborted;
  };
  void warn_at_end(const Run& run);

 private:
  struct Hook {
    std::string sentence;
    uint64_t hits = 0;
  };
  struct Dropped {
    std::string sentence;
    const std::atomic<uint64_t>* count;
  };
  void warn_of_step_region(const Run& run) const;
  void warn_of_dropped(const Run& run) const;
  void warn_of_full_tables() const;
  void warn_of_log(const Run& run) const;
  void warn_of_sites(const Run& run) const;

  const Config& config_;
  std::map<std::string, Hook> hooks_;
  std::map<std::string, Dropped> dropped_;
  std::map<std::string, uint64_t> faults_;
  uint64_t faults_of_step_ = 0, overflowed_ = 0;
};

}  // namespace perfield
