// SPDX-License-Identifier: BSD-3-Clause
//
// lifecycle.cpp - the functions of source.h that concern a session: its start, its end, and what
// sources hand to its parts in between. Never on the hot path.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "recorder/source.h"
#include "session/session.hpp"
#include "session/warnings.hpp"

using perfield::recorder;
using perfield::session;

namespace {

std::string in_words(const std::string& value) { return value; }
std::string in_words(bool value) { return value ? "true" : "false"; }
template <class Number>
std::string in_words(Number value) {
  return std::to_string(value);
}
std::string in_words(const std::vector<std::string>& values) {
  std::string all;
  for (const std::string& value : values) all += (all.empty() ? "" : ",") + value;
  return all;
}

}  // namespace

extern "C" {

void perfield_source_start(int rank, int size, const char* mpi) noexcept {
  session().start(rank, size, mpi);
}
void perfield_source_end(const char* reason) noexcept { session().end(reason); }
void perfield_source_summary() noexcept { session().print_summary(); }
int perfield_source_is_started() noexcept { return session().is_started(); }
int perfield_source_is_ending() noexcept { return session().is_ending(); }
void perfield_source_control(int measures) noexcept {
  session().while_measuring([=](uint64_t now) { session().step_clock().control(now, measures); });
}
void perfield_exclude_begin() noexcept { session().exclude_begin(); }
void perfield_exclude_end() noexcept { session().exclude_end(); }

void perfield_source_step_offered(int64_t step, double time) noexcept {
  session().step_offered(step, time);
}
void perfield_source_on_start(void (*function)()) noexcept {
  session().under_lock([=] { session().hooks.on_start.push_back(function); });
}
void perfield_source_before_close(void (*function)()) noexcept {
  session().under_lock([=] { session().step_clock().before_close(function); });
}
void perfield_source_between_closes(void (*function)()) noexcept {
  session().between_closes(function);
}
void perfield_source_before_end(int (*function)(perfield_clock*)) noexcept {
  session().under_lock([=] { session().hooks.before_end = function; });
}

void perfield_source_clock(const perfield_clock* clock) noexcept {
  session().while_measuring([=](uint64_t) {
    session().writer().clock(*clock);
    session().writer().flush();
  });
}
void perfield_source_communicator(const perfield_communicator* communicator) noexcept {
  session().while_measuring([=](uint64_t) { session().writer().communicator(*communicator); });
}
int perfield_source_has_mesh() noexcept {
  bool found = false;
  session().under_lock([&] {
    found = !session().config().mesh_path.empty() || session().writer().mesh().described() > 0;
  });
  return found;
}

// --- samples: these are called while a step closes, under the lock that is held then

enum perfield_samples_answer perfield_source_samples(const perfield_samples* taken) noexcept {
  return session().writer().samples(*taken);
}
void perfield_source_modules(const char* json) noexcept { session().writer().modules(json); }
void perfield_source_samples_begin(int thread_id, const uint64_t* const written[2]) noexcept {
  recorder().watch_samples(thread_id, {{written[0], written[1]}});
}
void perfield_source_samples_end(int thread_id) noexcept { recorder().end_samples(thread_id); }
uint64_t perfield_source_sample_region(int thread_id, int ring, uint64_t end) noexcept {
  return recorder().region_of_sample(thread_id, ring, end);
}

// --- what the user reads, and what sources ask for

void perfield_source_present(const char* name) noexcept { session().present(name); }
int perfield_source_is_present(const char* name) noexcept {
  bool found = false;
  session().under_lock([&] { found = session().has(name); });
  return found;
}
void perfield_source_hook_expected(const char* name, const char* sentence) noexcept {
  session().under_lock([=] { session().notices().hook_expected(name, sentence); });
}
void perfield_source_hook_hit(const char* name) noexcept {
  session().under_lock([=] { session().notices().hook_hit(name); });
}
void perfield_source_counts_dropped(const char* kind, const char* sentence,
                                    const std::atomic<uint64_t>* count) noexcept {
  session().under_lock([=] { session().notices().counts_dropped(kind, sentence, count); });
}
int perfield_source_first_on_node(const char* topic) noexcept {
  return perfield::first_on_node(topic);
}
void perfield_warn_once_per_node(const char* topic, const char* sentence) noexcept {
  perfield::warn_once_per_node(topic, sentence);
}

// Takes no lock: a source may ask while a step closes. Settings do not change after the start.
void perfield_source_setting(const char* key, char* value, size_t room) noexcept {
  if (!room) return;
  value[0] = 0;
  if (!session().is_started()) return;
  try {
    std::string found;
#define PERFIELD_KEY(name, type, default_value, unit, help) \
  if (!strcmp(key, #name)) found = in_words(session().config().name);
#include "configuration/keys.def"
#undef PERFIELD_KEY
    snprintf(value, room, "%s", found.c_str());
  } catch (...) {
    value[0] = 0;
  }
}

}  // extern "C"

namespace {

// Writes the last steps of a program that ends without MPI_Finalize or perfield_finalize.
__attribute__((destructor)) void end_with_the_program() {
  session().end("exit");
  session().print_summary();
}

}  // namespace
