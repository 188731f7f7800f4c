// SPDX-License-Identifier: BSD-3-Clause
//
// in_process.cpp - see in_process.hpp. Called by the thread that closes steps.
#include "session/in_process.hpp"

#include <dlfcn.h>

#include "format/json.hpp"
#include "session/warnings.hpp"

namespace perfield {
namespace {

// The path next to the library that this code is part of.
std::string path_of_library() {
  Dl_info info{};
  const void* here = reinterpret_cast<const void*>(&path_of_library);
  const std::string own = dladdr(here, &info) && info.dli_fname ? info.dli_fname : "";
  const size_t slash = own.rfind('/');
  return (slash == std::string::npos ? "" : own.substr(0, slash + 1)) + "libperfield_catalyst.so";
}

template <typename Function>
bool find(void* library, const char* name, Function* function) noexcept {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

std::vector<perfield_catalyst_body> bodies_of(const std::vector<std::string>& texts) {
  std::vector<perfield_catalyst_body> bodies;
  for (const std::string& text : texts) bodies.push_back({text.data(), text.size()});
  return bodies;
}

}  // namespace

void InProcess::configure(const Config& config) {
  wanted_ = config.catalyst_in_process;
  config_ = config;
  every_ = uint64_t(config.catalyst_every);
}

void InProcess::describe_run(const std::string& path, int rank, int size, const std::string& mpi,
                             const std::vector<int32_t>& focus) {
  JsonObject json;
  is_first_rank_ = rank == 0;
  json.text("run", path).integer("rank", rank).integer("size", size).text("mpi", mpi);
  json.texts("scripts", config_.catalyst_scripts).integer("ranks", config_.catalyst_ranks);
  json.texts("fields", config_.catalyst_fields).texts("camera", config_.catalyst_camera);
  json.text("size", config_.catalyst_size);
  json.raw("extracts", config_.catalyst_extracts ? "true" : "false");
  json.raw("images", config_.catalyst_images ? "true" : "false");
  json.text("live", config_.catalyst_live).text("mesh_path", config_.mesh_path);
  const double patience[] = {config_.catalyst_patience};
  json.numbers("patience", patience, 1);
  const std::vector<int64_t> ranks(focus.begin(), focus.end());
  json.numbers("focus", ranks.data(), int(ranks.size()));
  settings_ = json;
  is_described_ = true;
}

void InProcess::keep_definition(const std::string& json) {
  // One that could not be written comes again.
  if (wanted_ && known_.insert(json).second) definitions_.push_back(json);
}

void InProcess::keep_entry(uint64_t index, const unsigned char* body, size_t bytes) {
  if (!wanted_) return;
  if (entries_.size() == kMostEntries) entries_.pop_front();
  entries_.push_back({index, std::string(reinterpret_cast<const char*>(body), bytes)});
}

void InProcess::keep_block(uint64_t mesh_version, const iovec* parts, int n_parts) {
  if (!wanted_) return;
  if (mesh_version != blocks_version_) blocks_.clear();  // never shown, and never will be
  blocks_version_ = mesh_version;
  std::string body;
  for (int i = 0; i < n_parts; ++i)
    body.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  blocks_.push_back(std::move(body));
}

bool InProcess::is_due(const StepChoice& configured) noexcept {
  if (!wanted_ || busy_) return false;
  if (!steps_begun_) {  // the closed part was the setup
    steps_begun_ = true;
    return false;
  }
  const uint64_t step = step_++;
  if (step < next_shown_ || !configured.ends_frame(step)) return false;
  next_shown_ = step + every_;
  return true;
}

void InProcess::closed(uint64_t index, int64_t label, double time, uint16_t mesh_version) noexcept {
  shown_.index = index;
  shown_.label = label;
  shown_.time = time;
  shown_.mesh_version = mesh_version;
}

bool InProcess::load() noexcept {
  if (library_ != Library::not_loaded) return library_ == Library::ready;
  library_ = Library::unusable;
  if (!is_described_) return false;  // this rank never began to measure; a warning said so
  const std::string path = path_of_library();
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!library || !find(library, "perfield_catalyst_start", &start_) ||
      !find(library, "perfield_catalyst_show", &show_) ||
      !find(library, "perfield_catalyst_finish", &finish_)) {
    const char* reason = dlerror();
    warn_once_per_node(
        "catalyst", "there are no pictures in the program, since " + path + " cannot be loaded (" +
                        (reason ? reason : "it lacks a function") +
                        "); install perfield with pip, for a Python with a shared libpython");
    return false;
  }
  const std::string settings = settings_.texts("sources", sources_).str();
  if (start_(config_.catalyst_python.c_str(), settings.c_str())) library_ = Library::ready;
  return library_ == Library::ready;
}

void InProcess::show(const std::vector<Mesh::Field>* fields) noexcept try {
  busy_ = true;  // a pipeline may close steps of its own
  if (load()) {
    const std::vector<perfield_catalyst_body> definitions = bodies_of(definitions_);
    const std::vector<perfield_catalyst_body> blocks = bodies_of(blocks_);
    std::vector<perfield_catalyst_entry> entries;
    for (const Entry& e : entries_) entries.push_back({e.index, {e.body.data(), e.body.size()}});
    std::vector<perfield_catalyst_field> list;
    if (fields)
      for (const Mesh::Field& f : *fields)
        list.push_back({f.block, f.association, f.name.c_str(), f.values});
    shown_.measuring = fields != nullptr;
    shown_.entries = entries.data();
    shown_.n_entries = entries.size();
    shown_.definitions = definitions.data();
    shown_.n_definitions = definitions.size();
    shown_.blocks = blocks.data();
    shown_.n_blocks = blocks.size();
    shown_.fields = list.data();
    shown_.n_fields = list.size();
    if (!show_(&shown_)) library_ = Library::unusable;
  }
  if (library_ == Library::unusable) wanted_ = false;  // for good
  entries_.clear();
  definitions_.clear();
  std::vector<std::string>().swap(blocks_);
  busy_ = false;
} catch (...) {
  wanted_ = busy_ = false;
}

void InProcess::finish() noexcept {
  if (library_ == Library::ready) finish_();
  if (library_ == Library::not_loaded && wanted_ && is_first_rank_)
    warn_once_per_node(
        "catalyst-idle",
        "no picture was made in the program (catalyst_in_process): it closed no step that was to "
        "be shown; let it call perfield_step at the end of each time step");
  library_ = Library::unusable;
  wanted_ = false;
}

}  // namespace perfield
