// SPDX-License-Identifier: BSD-3-Clause
//
// step_sites.cpp - see step_sites.hpp.
#include "session/step_sites.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "configuration/step_call.hpp"
#include "format/json.hpp"

namespace perfield {
namespace {

struct Hits {
  uint64_t hits = 0, first = 0, last = 0;
  const Rhythm* levels[kRhythmLevels] = {};  // of the thread with most hits
};

Hits hits_of(Recorder& r, uint32_t site) {
  Hits all;
  uint64_t most = 0;
  for (int i = 0; i < r.n_profiles(); ++i) {
    const ThreadProfile& profile = r.profile_at(i);
    if (!profile.sites.is_started()) continue;
    const Rhythm& c = profile.sites.at(0, site);
    const uint64_t hits = c.beats.get(), first = c.first.get();
    if (!hits) continue;
    all.first = all.hits ? std::min(all.first, first) : first;
    all.last = std::max(all.last, c.last.get());
    all.hits += hits;
    if (hits <= most) continue;
    most = hits;
    for (int level = 0; level < kRhythmLevels; ++level)
      all.levels[level] = &profile.sites.at(level, site);
  }
  return all;
}

// One level: [beats, even, bursts, last_run, same, gaps_inside, inside_ns, between_ns,
// inside_calls, between_calls], as docs/stream.md says.
std::string level_json(Recorder& r, const Rhythm& level) {
  const uint64_t gaps = level.beats.get() - 1 - level.since_beat.get();
  const uint64_t bursts = level.bursts.get(), inside = gaps > bursts ? gaps - bursts : 0;
  const uint64_t all_calls = uint32_t(level.last_call.get() - level.since_call.get());
  const uint64_t inside_calls = inside * level.shortest.get();
  const uint64_t numbers[] = {
      level.beats.get(),
      level.even.get(),
      bursts,
      level.last_run.get(),
      level.same.get(),
      inside,
      r.clock.span_ns(level.inside.get()),
      r.clock.span_ns(bursts ? level.between.get() : 0),
      level.shortest.get(),
      bursts ? growth(all_calls, inside_calls) / bursts : 0,
  };
  std::string text;
  for (const uint64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return "[" + text + "]";
}

std::string hash_of(const CallSite& site, int n_digits) {
  char digits[17];
  snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(site.identity));
  digits[n_digits] = 0;
  return digits;
}

std::string path_of(const char* module) {
  if (*module) return module;
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, size_t(n)) : "";
}

const char* base_name(const std::string& path) {
  const size_t slash = path.rfind('/');
  return path.c_str() + (slash == std::string::npos ? 0 : slash + 1);
}

// The symbol at a place of a module, without parameters and namespaces further out than two; "" if
// the loader knows none.
std::string symbol_at(const char* module, uint64_t offset) {
  struct Wanted {
    const char* module;
    uintptr_t base;
    bool found;
  } wanted = {module, 0, false};
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* data) {
        auto* w = static_cast<Wanted*>(data);
        if (w->found || strcmp(object->dlpi_name, w->module) != 0) return 0;
        w->base = object->dlpi_addr;
        w->found = true;
        return 1;
      },
      &wanted);
  Dl_info info;
  if (!wanted.found || !dladdr(reinterpret_cast<void*>(wanted.base + offset - 1), &info) ||
      !info.dli_sname)
    return "";
  int status = 0;
  char* plain = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
  std::string name = status == 0 && plain ? plain : info.dli_sname;
  free(plain);
  return name.substr(0, name.find_first_of("(<"));
}

// Whether a file lies between the program and MPI: MPI's own, or mpi4py's.
bool is_between(const char* name) {
  return !strncmp(name, "libmpi", 6) || !strncmp(name, "MPI.", 4);
}

// "solve" for "solve:/home/me/flow.py", "flow" for "<module>:/home/me/flow.py".
std::string script_label(const std::string& module) {
  const size_t colon = module.find(':');
  const std::string function = module.substr(0, colon);
  if (function != "<module>") return function;
  const std::string file = base_name(module.substr(colon + 1));
  return file.substr(0, file.find('.'));
}

// "solve": the function of the program that calls MPI, else its file.
std::string label_of(const CallSites& sites, uint32_t site) {
  for (uint32_t f = 0; f < sites[site].n_frames; ++f) {
    const SiteFrame& frame = sites.frames(site)[f];
    const char* module = sites.module(frame.module);
    constexpr size_t n = sizeof CallSites::kScript - 1;
    if (!strncmp(module, CallSites::kScript, n)) return script_label(module + n);
    const std::string path = path_of(module);
    if (is_between(base_name(path))) continue;
    const std::string symbol = symbol_at(module, frame.offset);
    return symbol.empty() ? base_name(path) : symbol;
  }
  return "?";
}

std::string title_of(const CallSites& sites, uint32_t site) {
  return call_title(sites[site].call) + "@" + label_of(sites, site) + "-" +
         hash_of(sites[site], kSiteDigits);
}

}  // namespace

std::string sites_json(Recorder& r, const std::string& step_call) {
  CallSites& all_sites = r.sites;
  const std::unique_lock<std::mutex> lock(all_sites.mutex(), std::try_to_lock);
  if (!lock) return "";
  std::string sites;
  uint64_t n_modules = 0, once = 0, last = 0;
  for (uint32_t i = 0; i < all_sites.size(); ++i) {
    const CallSite& site = all_sites[i];
    const Hits all = hits_of(r, i);
    once += all.hits == 1;
    last = std::max(last, all.last);
    if (all.hits < 2 || !all_sites.follows(site.call)) continue;
    std::string frames, levels;
    for (uint32_t f = 0; f < site.n_frames; ++f) {
      const SiteFrame& frame = all_sites.frames(i)[f];
      n_modules = std::max<uint64_t>(n_modules, frame.module + 1);
      frames += std::string(f ? "," : "") + "[" + std::to_string(frame.module) + "," +
                std::to_string(frame.offset) + "]";
    }
    for (int level = 0; level < kRhythmLevels && all.levels[level]->beats.get(); ++level)
      levels += (level ? "," : "") + level_json(r, *all.levels[level]);
    JsonObject json;
    json.text("call", call_title(site.call)).text("hash", hash_of(site, 16));
    json.natural("hits", all.hits);
    json.natural("first_ns", r.clock.since_start_ns(all.first));
    json.natural("last_ns", r.clock.since_start_ns(all.last));
    json.raw("rhythm", "[" + levels + "]").raw("callers", "[" + frames + "]");
    sites += (sites.empty() ? "" : ",") + json.str();
  }
  std::vector<std::string> modules;
  for (uint32_t m = 0; m < n_modules; ++m) modules.push_back(path_of(all_sites.module(m)));
  JsonObject json;
  json.text("step_call", step_call).natural("once", once);
  if (all_sites.has_found()) {
    char found[17];
    snprintf(found, sizeof found, "%016" PRIx64, all_sites.found_site());
    json.text("found", found).natural("found_steps", all_sites.found_steps());
    json.natural("found_in_setup", all_sites.found_first());
    json.natural("found_every", all_sites.pace().every());
    json.natural("found_returns", all_sites.found_returns());
  }
  json.natural("first_ns", r.clock.since_start_ns(all_sites.first_hit()));
  json.natural("last_ns", last ? r.clock.since_start_ns(last) : 0);
  json.natural("given_up", all_sites.given_up()).natural("not_followed", all_sites.overflowed());
  json.natural("places_not_followed", all_sites.places_without_room());
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
    words += (i ? ", " : "") + title_of(r.sites, site) + " (" +
             (hits == 1 ? std::string("once") : std::to_string(hits) + " times") + ")";
  }
  if (found.size() > kMost) words += " and " + std::to_string(found.size() - kMost) + " more";
  return words.empty() ? "none" : words;
}

}  // namespace perfield
