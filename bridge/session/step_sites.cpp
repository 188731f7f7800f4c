// SPDX-License-Identifier: BSD-3-Clause
//
// step_sites.cpp - see step_sites.hpp.
#include "session/step_sites.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <vector>

#include "configuration/step_call.hpp"
#include "format/json.hpp"

namespace perfield {
namespace {

struct Hits {
  uint64_t hits = 0, steady = 0, first = 0, last = 0;
};

Hits hits_of(Recorder& r, uint32_t site) {
  Hits all;
  for (int i = 0; i < r.n_shards(); ++i) {
    const SiteCounters& c = r.shard_at(i).sites[site];
    const uint64_t hits = c.hits.get(), first = c.first.get();
    if (!hits) continue;
    all.first = all.hits ? std::min(all.first, first) : first;
    all.last = std::max(all.last, c.last.get());
    all.hits += hits;
    all.steady += c.steady.get();
  }
  return all;
}

std::string title_of(const CallSite& site) {
  return call_title(site.call) + "@" + std::to_string(site.number);
}

std::string path_of(const char* module) {
  if (*module) return module;
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, size_t(n)) : "";
}

}  // namespace

std::string sites_json(Recorder& r, const std::string& step_call) {
  std::string sites;
  uint32_t n_modules = 0;
  for (uint32_t i = 0; i < r.sites.size(); ++i) {
    const CallSite& site = r.sites[i];
    const Hits all = hits_of(r, i);
    if (!all.hits) continue;
    std::string frames;
    for (uint32_t f = 0; f < site.n_frames; ++f) {
      const SiteFrame& frame = site.frames[f];
      n_modules = std::max(n_modules, frame.module + 1);
      frames += std::string(f ? "," : "") + "[" + std::to_string(frame.module) + "," +
                std::to_string(frame.offset) + "]";
    }
    JsonObject json;
    json.text("call", call_title(site.call)).natural("number", site.number);
    json.natural("hits", all.hits).natural("steady", all.steady);
    json.natural("first_ns", r.clock.since_start_ns(all.first));
    json.natural("last_ns", r.clock.since_start_ns(all.last));
    json.raw("callers", "[" + frames + "]");
    sites += (sites.empty() ? "" : ",") + json.str();
  }
  std::vector<std::string> modules;
  for (uint32_t m = 0; m < n_modules; ++m) modules.push_back(path_of(r.sites.module(m)));
  JsonObject json;
  json.text("step_call", step_call).natural("not_followed", r.sites.overflowed());
  json.texts("modules", modules).raw("sites", "[" + sites + "]");
  return json.str();
}

std::string sites_in_words(Recorder& r, uint16_t call) {
  constexpr size_t kMost = 8;
  std::vector<std::pair<uint64_t, uint32_t>> found;
  for (uint16_t wanted : {call, uint16_t(0)}) {
    for (uint32_t i = 0; i < r.sites.size(); ++i)
      if (!wanted || r.sites[i].call == wanted) found.emplace_back(hits_of(r, i).hits, i);
    if (!found.empty()) break;
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string words;
  for (size_t i = 0; i < std::min(found.size(), kMost); ++i) {
    const auto [hits, site] = found[i];
    words += (i ? ", " : "") + title_of(r.sites[site]) + " (" +
             (hits == 1 ? std::string("once") : std::to_string(hits) + " times") + ")";
  }
  if (found.size() > kMost) words += " and " + std::to_string(found.size() - kMost) + " more";
  return words.empty() ? "none" : words;
}

}  // namespace perfield
