// SPDX-License-Identifier: BSD-3-Clause
//
// run_json.hpp - run.json: the facts of a run known when its directory is claimed. Written once,
// with each key on a line of its own, so that ranks can find the few facts they need by line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perfield {

struct RunFacts {
  uint64_t run_id = 0;
  std::string token;     // of the job, see job.hpp; "" if unknown
  int64_t start_ns = 0;  // CLOCK_REALTIME when the directory was claimed
};

// The text of run.json. working_directory: relative to the run directory. trace: of the latencies
// that are injected, "" if none are.
std::string run_json(const RunFacts& facts, const std::vector<std::string>& command,
                     const std::string& working_directory, const std::string& trace);

// Reads the facts back; false if the directory holds no complete run.json. file: run.json, open.
bool read_run_facts(const std::string& run_directory, RunFacts* facts);
bool read_run_facts(int file, RunFacts* facts);

std::string hex16(uint64_t number);
// 16 hexadecimal digits; 0 if the text is anything else.
uint64_t from_hex16(const std::string& text);

}  // namespace perfield
