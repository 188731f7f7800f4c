// SPDX-License-Identifier: BSD-3-Clause
//
// staging_note.cpp - see staging_note.hpp.
#include "run_directory/staging_note.hpp"

#include <dirent.h>

#include <algorithm>

#include "configuration/toml.hpp"
#include "format/decode_json.hpp"
#include "format/json.hpp"
#include "platform/regular_file.hpp"
#include "run_directory/shared_note.hpp"

namespace perfield {
namespace {

const std::string kPrefix = ".staged-";
constexpr size_t kMostBytes = 64 * 1024;  // of a note

// A text of a JSON object without escapes; TOML has the same ones.
std::string plain_text(const std::string& json, const char* key) {
  const TomlFile value = parse_toml("value = " + json_value(json, key), "note");
  return value.errors.empty() && !value.entries.empty() ? value.entries[0].value.spelling : "";
}

}  // namespace

std::string note_path(const std::string& run, const std::string& name) {
  return run + "/stream/" + kPrefix + name;
}

bool write_note(const std::string& run, const StagingNote& note) {
  return leave_note(
      note_path(run, note.name),
      JsonObject().text("host", note.host).text("directory", note.directory).str() + "\n");
}

std::vector<StagingNote> read_notes(const std::string& run) {
  std::vector<StagingNote> notes;
  DIR* folder = opendir((run + "/stream").c_str());
  if (!folder) return notes;
  while (const dirent* entry = readdir(folder)) {
    const std::string file_name = entry->d_name;
    if (file_name.rfind(kPrefix, 0) != 0) continue;
    std::string text;
    if (!read_regular(run + "/stream/" + file_name, kMostBytes, &text, run.c_str())) continue;
    text = text.substr(0, text.find('\n'));
    StagingNote note = {file_name.substr(kPrefix.size()), plain_text(text, "host"),
                        plain_text(text, "directory")};
    if (!note.directory.empty()) notes.push_back(note);
  }
  closedir(folder);
  std::sort(notes.begin(), notes.end(),
            [](const StagingNote& a, const StagingNote& b) { return a.name < b.name; });
  return notes;
}

}  // namespace perfield
