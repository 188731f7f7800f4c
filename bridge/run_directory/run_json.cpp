// SPDX-License-Identifier: BSD-3-Clause
//
// run_json.cpp - see run_json.hpp. Reads the effective configuration again to get the origin of
// each value; its literals are already JSON.
#include "run_directory/run_json.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sstream>

#include "configuration/config.hpp"
#include "configuration/toml.hpp"
#include "platform/guarded.hpp"
#include "platform/quoted.hpp"
#include "platform/regular_file.hpp"
#include "run_directory/run_directory.hpp"

namespace perfield {
namespace {

std::string iso_time(int64_t ns) {
  const std::time_t seconds = ns / 1000000000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char date[32], text[48];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text, sizeof text, "%s.%09dZ", date, static_cast<int>(ns % 1000000000));
  return text;
}

std::string list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + quoted(text);
  return "[" + out + "]";
}

// The literal after `  "key": ` at the start of a line, without the comma at its end.
std::string literal_of(const std::string& json, const std::string& key) {
  const std::string start = "\n  \"" + key + "\": ";
  const size_t at = json.find(start);
  if (at == std::string::npos) return "";
  const size_t from = at + start.size();
  std::string literal = json.substr(from, json.find('\n', from) - from);
  if (!literal.empty() && literal.back() == ',') literal.pop_back();
  return literal;
}

// How a trace of latencies (bridge/injector/latencies.hpp) describes itself, as JSON on one line;
// "" if it is none.
std::string description_of_trace(const std::string& path) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  const int file = path.empty() ? -1 : open_regular(path.c_str());
  if (file < 0) return "";
  std::string text(kMostBytes, '\0');
  const ssize_t n = read(file, &text[0], text.size());
  close(file);
  text.resize(n > 0 ? size_t(n) : 0);
  const size_t head = text.find('\n');
  if (head == std::string::npos || text.rfind("perfield-latencies ", 0) != 0) return "";
  const std::string description = text.substr(head + 1, text.find('\n', head + 1) - head - 1);
  return !description.empty() && description.front() == '{' && description.back() == '}'
             ? description
             : "";
}

}  // namespace

std::string run_json(const RunFacts& facts, const std::vector<std::string>& command,
                     const std::string& working_directory, const std::string& trace) {
  int rank = 0, size = 0;
  const bool known = rank_from_environment(&rank, &size);
  const std::string injected = description_of_trace(trace);
  std::ostringstream json;
  json << "{\n"
       << "  \"run_id\": \"" << hex16(facts.run_id) << "\",\n"
       << "  \"token\": " << quoted(facts.token) << ",\n"
       << "  \"perfield\": \"" << PERFIELD_VERSION << "\",\n"
       << "  \"start\": \"" << iso_time(facts.start_ns) << "\",\n"
       << "  \"start_ns\": " << facts.start_ns << ",\n"
       << "  \"host\": " << quoted(host_name()) << ",\n"
       << "  \"size\": " << (known ? std::to_string(size) : "null") << ",\n"
       << "  \"command\": " << list(command) << ",\n"
       << "  \"working_directory\": " << quoted(working_directory) << ",\n"
       << (injected.empty() ? "" : "  \"injected\": " + injected + ",\n")
       << "  \"configuration\": {";
  const char* separator = "\n";
  for (const ConfigOrigin& key : load_config().origins) {
    json << separator << "    " << quoted(key.key) << ": " << key.value;
    separator = ",\n";
  }
  json << "\n  }\n}\n";
  return json.str();
}

bool read_run_facts(int file, RunFacts* facts) {
  constexpr size_t kMostBytes = size_t{1} << 24;  // of a run.json; another's may be anything
  std::string json;
  char part[4096];
  ssize_t n;
  while (json.size() < kMostBytes && (n = read(file, part, sizeof part)) > 0)
    json.append(part, size_t(n));
  const std::string id = literal_of(json, "run_id");
  facts->run_id = id.size() == 18 ? from_hex16(id.substr(1, 16)) : 0;
  facts->start_ns = std::strtoll(literal_of(json, "start_ns").c_str(), nullptr, 10);
  const TomlFile token = parse_toml("token = " + literal_of(json, "token"), "run.json");
  const bool known = token.errors.empty() && !token.entries.empty();
  facts->token = known ? token.entries[0].value.spelling : "";
  return facts->run_id != 0;
}

bool read_run_facts(const std::string& run_directory, RunFacts* facts) {
  const int file = open_guarded(run_directory + "/run.json", O_RDONLY);
  const bool good = file >= 0 && read_run_facts(file, facts);
  if (file >= 0) close(file);
  return good;
}

std::string hex16(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

uint64_t from_hex16(const std::string& text) {
  if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return 0;
  return std::strtoull(text.c_str(), nullptr, 16);
}

}  // namespace perfield
