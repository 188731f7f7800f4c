// SPDX-License-Identifier: BSD-3-Clause
//
// read_entries.cpp - reads stream files and run directories with perfield's C++: entries, all rows
// of their tables, single values of their JSON, indexes that it saves and loads, and the summary.
// Built with sanitizers, which end it at the first fault. Usage: read_entries RUN_DIRECTORY...
#include <dirent.h>

#include <cstdio>
#include <string>

#include "format/decode.hpp"
#include "format/decode_json.hpp"
#include "format/index.hpp"
#include "summary/summary.hpp"

using namespace perfield;

static uint64_t seen = 0, entries = 0;

template <class Row>
static void add(const TableView<Row>& table) {
  for (const Row row : table) seen += reinterpret_cast<const unsigned char&>(row);
}

static void take(const EntryHeader& header, uint64_t, const unsigned char* body,
                 const StepView* step) {
  ++entries;
  if (step) {
    add(step->regions), add(step->messages), add(step->waits), add(step->calls);
    add(step->quantities);
  } else if (body) {
    const std::string text(reinterpret_cast<const char*>(body), header.body_bytes);
    for (const char* key : {"rank", "size", "host", "sources", "name", "absent"}) {
      seen += json_value(text, key).size() + json_text(text, key).size();
      seen += json_texts(text, key).size() + uint64_t(json_integer(text, key, 0));
    }
    seen += json_run_id(text);
  }
}

static void read_stream(const std::string& path, const std::string& index_path) {
  StreamFile file(path);
  scan_entries(file, 0, file.size(), 0, take);
  for (int time = 0; time < 2; ++time) {  // the second time it loads what the first has saved
    StreamIndex index(path, index_path, 0, 0);
    index.refresh();
    StepBodies bodies;
    for (const EntryPlace& place : index.places()) {
      EntryHeader header;
      const unsigned char* body = nullptr;
      StepView step;
      if (read_header(file, place.offset, &header) &&
          read_body(file, place.offset, header, &body) && body && is_step(header)) {
        const PlainBody plain =
            bodies.plain_with(file, header, place.offset, body, place.reference_offset).body;
        seen += plain.at && view_step(plain.at, plain.bytes, &step);
      }
    }
  }
}

int main(int n, char** words) {
  for (int i = 1; i < n; ++i) {
    const std::string run = words[i];
    for (const char* room : {"/stream/", "/mesh/"}) {
      DIR* folder = opendir((run + room).c_str());
      while (const dirent* file = folder ? readdir(folder) : nullptr)
        if (file->d_name[0] != '.') read_stream(run + room + file->d_name, run + room + ".index");
      if (folder) closedir(folder);
    }
    for (const std::string& line : summary_of(run, kClosingBytes).lines) seen += line.size();
  }
  std::printf("%llu %llu\n", static_cast<unsigned long long>(entries),
              static_cast<unsigned long long>(seen & 0xff));
}
