// SPDX-License-Identifier: BSD-3-Clause
//
// config.cpp - fills a Config from keys.def, then perfield.toml, then the environment. Checks each
// value and collects every error as a sentence. One table of keys drives all of it.
#include "configuration/config.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include "configuration/focus_ranks.hpp"
#include "configuration/groups.hpp"
#include "configuration/kernel_events.hpp"
#include "configuration/names.hpp"
#include "configuration/step_call.hpp"
#include "configuration/toml.hpp"
#include "configuration/values.hpp"
#include "platform/regular_file.hpp"
#include "platform/utf8.hpp"

extern char** environ;

namespace perfield {
namespace {

using Kind = TomlValue::Kind;

struct Key {
  const char *name, *type, *default_value, *unit, *help;
  bool (*set)(Config&, const TomlValue&);
  std::string (*literal)(const Config&);
};

const Key kKeys[] = {
#define PERFIELD_KEY(name, type, default_value, unit, help)                           \
  {#name,                                                                             \
   #type,                                                                             \
   default_value,                                                                     \
   unit,                                                                              \
   help,                                                                              \
   [](Config& config, const TomlValue& value) { return assign(config.name, value); }, \
   [](const Config& config) { return spell(config.name); }},
#include "configuration/keys.def"
#undef PERFIELD_KEY
};

std::string variable(const char* key) {
  std::string name = "PERFIELD_";
  for (const char* c = key; *c; ++c)  // toupper capitalises i differently in some locales
    name += *c >= 'a' && *c <= 'z' ? static_cast<char>(*c - 'a' + 'A') : *c;
  return name;
}

// Reads the text of a default or an environment variable as a value of its key's type.
TomlValue value_of(const Key& key, const std::string& text) {
  TomlValue value{Kind::text, text, {}};
  if (key.type == std::string("text")) return value;
  if (key.type == std::string("texts")) {
    value.kind = Kind::list;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
      const size_t first = part.find_first_not_of(' ');
      if (first == std::string::npos) continue;
      value.items.push_back(part.substr(first, part.find_last_not_of(' ') - first + 1));
    }
    return value;
  }
  if (key.type == std::string("boolean")) {
    std::string word;
    for (unsigned char c : text) word += static_cast<char>(std::tolower(c));
    for (const char* yes : {"true", "1", "yes", "on"})
      if (word == yes) return {Kind::boolean, "true", {}};
    for (const char* no : {"false", "0", "no", "off"})
      if (word == no) return {Kind::boolean, "false", {}};
  }
  read_bare_word(text, &value);
  return value;
}

std::string expected_in_words(const Key& key) {
  static const std::map<std::string, const char*> kWords = {{"boolean", "true or false"},
                                                            {"integer", "an integer"},
                                                            {"real", "a number"},
                                                            {"text", "a text in quotes"},
                                                            {"texts", "a list of texts"}};
  return kWords.at(key.type) + (*key.unit ? " (" + std::string(key.unit) + ")" : "");
}

// The range of a number. A text, if listed, must be one of a few words.
struct Limit {
  const char* key;
  double least, most;
};
const Limit kLimits[] = {{"measure_every", 1, 1e9},   {"sum_every", 1, 1e9},
                         {"skip_steps", 0, 1e15},     {"fields_every", -1, 1e15},
                         {"arrivals_every", 0, 1e15}, {"max_regions", 1, 1e7},
                         {"max_paths", 1, 1e6},       {"max_peers", 1, 1e7},
                         {"record_limit", 1, 9e18},   {"flush_seconds", 0, 3600},
                         {"step_seconds", 0, 86400},  {"catalyst_every", 1, 1e15},
                         {"catalyst_ranks", 0, 1e9},  {"catalyst_patience", 0.001, 1e9}};

// The words that a key accepts, up to a null.
struct Choice {
  const char *key, *words[5];
};
const Choice kChoices[] = {{"mpi", {"auto", "openmpi", "mpich", "mpi_abi"}},
                           {"clock", {"auto", "counter", "monotonic"}},
                           {"catalyst_attach", {"named", "all", "none"}},
                           {"catalyst_association", {"points", "cells", "field"}}};

// What is wrong with a value of the right type, as the second half of a sentence; "" if nothing is.
std::string complaint(const Key& key, const TomlValue& value) {
  for (const Limit& limit : kLimits) {
    if (limit.key != std::string(key.name)) continue;
    double number = 0;
    assign(number, value);
    if (limit.key == std::string("step_seconds") && number > 0 && number < 0.001)
      return "expected 0 (no such steps) or at least 0.001";
    if (number < limit.least) return "expected at least " + spell(limit.least);
    if (number > limit.most) return "expected at most " + spell(limit.most);
  }
  for (const Choice& choice : kChoices) {
    if (choice.key != std::string(key.name)) continue;
    std::string expected = "expected ";
    for (const char* const* word = choice.words; *word; ++word) {
      if (value.spelling == *word) return "";
      expected += word == choice.words ? "" : word[1] ? ", " : " or ";
      expected += *word;
    }
    return expected;
  }
  if (key.name == std::string("step_call")) {
    std::string wrong;
    read_step_call(value.spelling, &wrong);
    return wrong;
  }
  if (key.name == std::string("group")) {
    std::string wrong;
    group_of(value.spelling, 0, &wrong);
    return wrong;
  }
  if (key.name == std::string("counters")) return wrong_with_counters(value.items);
  if (key.name == std::string("focus_ranks")) {
    config_type::texts words;
    assign(words, value);
    const std::string wrong = wrong_focus_rank(words);
    return wrong.empty() ? "" : "expected ranks of the world, such as 3 and 7, without " + wrong;
  }
  if (key.name == std::string("run_directory") && value.spelling.empty())
    return "expected the name of a directory";
  return "";
}

class Loader {
  static constexpr size_t kMostBytes = 1'000'000;  // of a file of settings

 public:
  ConfigResult load() {
    for (const Key& key : kKeys) {
      key.set(result_.config, value_of(key, key.default_value));
      result_.origins.push_back(
          {key.name, key.type, "", key.literal(result_.config), key.unit, key.help, "default"});
    }
    read_file();
    read_environment();
    if (result_.config.measure_every > 1 && result_.config.sum_every > 1)
      complain("measure_every = " + std::to_string(result_.config.measure_every) + " (" +
               origin_of("measure_every") + ") and sum_every = " +
               std::to_string(result_.config.sum_every) + " (" + origin_of("sum_every") +
               ") exclude each other: a frame is either one measured step or a sum of steps; "
               "remove one of them");
    if (result_.config.catalyst_in_process) check_in_process();
    check_steps();
    for (size_t i = 0; i < std::size(kKeys); ++i)
      result_.origins[i].value = kKeys[i].literal(result_.config);
    return std::move(result_);
  }

 private:
  // The keys in use that say where steps end: key = value (where it was set).
  std::vector<std::string> keys_of_steps() const {
    std::vector<std::string> found;
    for (const char* name : {"step_region", "step_call", "step_seconds"}) {
      const std::string value = find(name)->literal(result_.config);
      if (value == "\"\"" || value == "0") continue;
      found.push_back(name + (" = " + value) + " (" + origin_of(name) + ")");
    }
    return found;
  }

  // Only one key may say what closes a step.
  void check_steps() {
    std::string all;
    const std::vector<std::string> found = keys_of_steps();
    for (const std::string& key : found) all += (all.empty() ? "" : " and ") + key;
    if (found.size() > 1)
      complain(all + " exclude each other: each says where steps end; keep one of them");
  }

  // Pictures in process need all ranks at once. Only steps closed by perfield_step guarantee that.
  void check_in_process() {
    for (const std::string& key : keys_of_steps())
      complain(
          "catalyst_in_process (" + origin_of("catalyst_in_process") + ") and " + key +
          " exclude each other: pictures inside the program need all ranks at once, where "
          "they call perfield_step or OpenFOAM's time loop closes a step; leave one of them out");
  }

  void read_file() {
    const char* named = std::getenv("PERFIELD_CONFIG");
    if (named && !*named) named = nullptr;
    const std::string path = named ? named : "perfield.toml";
    if (!named && is_another_users(path)) return;
    std::string text;
    if (!read_regular(path, kMostBytes, &text)) {
      if (named || errno != ENOENT)
        complain(path + " cannot be read: " + why_unread(errno) + "; " +
                 (named ? "PERFIELD_CONFIG names it" : "perfield reads it by default"));
      return;
    }
    result_.file = path;
    const TomlFile file = parse_toml(text, path);
    for (const std::string& error : file.errors) complain(error);
    std::map<std::string, int> seen;
    for (const TomlEntry& entry : file.entries) {
      const std::string where = path + ":" + std::to_string(entry.line);
      const Key* key = find(without_table(entry.key));
      const auto [first, fresh] = seen.emplace(without_table(entry.key), entry.line);
      if (!key)
        complain(where + ": unknown key '" + entry.key + "'; " + advice(entry.key, ""));
      else if (!fresh)
        complain(where + ": " + entry.key + " was already set on line " +
                 std::to_string(first->second) + "; keep one of the two");
      else
        take(*key, entry.value, where, where + ": " + key->name);
    }
  }

  static std::string why_unread(int reason) {
    if (reason == EINVAL) return "it is a pipe, a device or a socket, expected a file";
    if (reason == EFBIG)
      return "it has more than " + std::to_string(kMostBytes) + " bytes, expected settings";
    return std::strerror(reason);
  }

  // Whether a file that lies in the current directory is to be ignored; then says why.
  bool is_another_users(const std::string& path) {
    struct stat facts {};
    if (lstat(path.c_str(), &facts) != 0) return false;
    const std::string why = why_not_trusted(path);
    if (!why.empty())
      result_.notices.push_back(legible("ignores " + path + ", since it " + why +
                                        "; to use it all the same, name it in PERFIELD_CONFIG or " +
                                        "by `perfield run --config`"));
    return !why.empty();
  }

  void read_environment() {
    for (char** variable_at = environ; variable_at && *variable_at; ++variable_at) {
      const std::string setting = *variable_at;
      const size_t equals = setting.find('=');
      if (setting.compare(0, 9, "PERFIELD_") != 0 || equals == std::string::npos) continue;
      const std::string name = setting.substr(0, equals);
      if (is_own_variable(name)) continue;
      const Key* key = nullptr;
      for (const Key& candidate : kKeys)
        if (variable(candidate.name) == name) key = &candidate;
      if (key)
        take(*key, value_of(*key, setting.substr(equals + 1)), name, name);
      else
        complain(name + ": unknown setting; " + advice(name.substr(9), "PERFIELD_"));
    }
  }

  void take(const Key& key, const TomlValue& value, const std::string& origin,
            const std::string& where) {
    const Config before = result_.config;
    const bool right_type = key.set(result_.config, value);
    const std::string wrong =
        right_type ? complaint(key, value) : "expected " + expected_in_words(key);
    if (wrong.empty()) {
      result_.origins[static_cast<size_t>(&key - kKeys)].origin = origin;
      return;
    }
    result_.config = before;
    complain(where + ": found " + found_in_words(value) + ", " + wrong + "; the default is " +
             result_.origins[static_cast<size_t>(&key - kKeys)].default_value);
  }

  std::string origin_of(const std::string& name) const {
    return result_.origins[static_cast<size_t>(find(name) - kKeys)].origin;
  }

  // Turns in_process in the table [catalyst] into the key catalyst_in_process.
  static std::string without_table(std::string name) {
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
  }

  static const Key* find(const std::string& name) {
    for (const Key& key : kKeys)
      if (name == key.name) return &key;
    return nullptr;
  }

  static std::string advice(const std::string& wrong, const std::string& prefix) {
    std::vector<std::string> names;
    for (const Key& key : kKeys) names.push_back(prefix.empty() ? key.name : variable(key.name));
    const std::string nearest = nearest_name(prefix + wrong, names);
    if (nearest.empty()) return "'perfield setup config' lists all keys";
    const size_t dot = prefix.empty() ? wrong.find('.') : std::string::npos;
    if (dot == std::string::npos) return "did you mean " + nearest + "?";
    const std::string table = wrong.substr(0, dot) + "_";
    if (nearest.compare(0, table.size(), table) == 0)
      return "did you mean " + nearest.substr(table.size()) + "?";
    return "did you mean " + nearest + ", above the first [table]?";
  }

  void complain(const std::string& sentence) { result_.errors.push_back(legible(sentence)); }

  ConfigResult result_;
};

}  // namespace

ConfigResult load_config() {
  try {
    return Loader().load();
  } catch (const std::exception& error) {
    ConfigResult failed;
    failed.errors = {std::string("the configuration cannot be read: ") + error.what()};
    return failed;
  }
}

}  // namespace perfield
