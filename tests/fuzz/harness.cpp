// SPDX-License-Identifier: BSD-3-Clause
//
// harness.cpp - what libFuzzer calls with bytes of its choice: the first one chooses who reads the
// others. fuzz_bytes.py builds and runs it.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "configuration/toml.hpp"
#include "format/decode.hpp"
#include "format/decode_json.hpp"
#include "format/events.hpp"
#include "format/index.hpp"
#include "format/pack.hpp"
#include "format/samples.hpp"

using namespace perfield;

namespace {

uint64_t seen = 0;

template <class Row>
void add(const TableView<Row>& table) {
  for (const Row row : table) seen += reinterpret_cast<const unsigned char&>(row);
}

void read_step(const unsigned char* at, size_t bytes) {
  StepView step;
  if (!view_step(at, bytes, &step)) return;
  add(step.regions), add(step.messages), add(step.waits), add(step.calls), add(step.quantities);
  add(step.collectives), add(step.synchronisations), add(step.paths);
}

// The first half is what the second half is unpacked with.
void read_packed_step(const unsigned char* at, size_t bytes) {
  std::vector<unsigned char> plain;
  const size_t half = bytes / 2;
  if (unpack_step(at + half, bytes - half, {at, half}, &plain))
    read_step(plain.data(), plain.size());
}

void read_texts(const std::string& text) {
  for (const char* key : {"size", "name", "a"}) {
    seen += json_value(text, key).size() + json_text(text, key).size();
    seen += json_texts(text, key).size() + uint64_t(json_integer(text, key, 0));
  }
  seen += json_run_id(text);
  seen += parse_toml(text, "perfield.toml").entries.size();
}

void read_stream(const unsigned char* at, size_t bytes) {
  static const std::string path = "/tmp/perfield-fuzz-" + std::to_string(getpid()) + ".pf";
  FILE* const file = std::fopen(path.c_str(), "wb");
  if (!file) std::abort();
  std::fwrite(at, 1, bytes, file);
  std::fclose(file);
  StreamIndex index(path, "", 0, 0);
  index.refresh();
  seen += index.places().size();
  unlink(path.c_str());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const unsigned char* const at = data + 1;
  const size_t bytes = size - 1;
  std::vector<uint64_t> words;
  std::vector<LoggedEvent> events;
  EventsStart start;
  SamplesStart of_samples{};
  switch (data[0] % 6) {
    case 0:
      read_step(at, bytes);
      break;
    case 1:
      read_packed_step(at, bytes);
      break;
    case 2:
      seen += unpack_events(at, bytes, &start, &events);
      break;
    case 3:
      seen += unpack_samples(at, bytes, &of_samples, &words);
      break;
    case 4:
      read_texts(std::string(reinterpret_cast<const char*>(at), bytes));
      break;
    default:
      read_stream(at, bytes);
  }
  return 0;
}
