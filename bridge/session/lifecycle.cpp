// SPDX-License-Identifier: BSD-3-Clause
//
// lifecycle.cpp - the functions of source.h that start and end a session. Never on the hot path.
#include "recorder/source.h"
#include "session/session.hpp"
#include "session/warnings.hpp"

using perfield::Notices;
using perfield::recorder;
using perfield::session;

extern "C" {

void perfield_source_start(int rank, int size, const char* mpi) noexcept {
  session().start(rank, size, mpi);
}

void perfield_source_end(const char* reason) noexcept { session().end(reason); }
void perfield_source_summary() noexcept { session().print_summary(); }
void perfield_source_control(int measures) noexcept { session().control(measures != 0); }
int perfield_source_is_started() noexcept { return session().is_started(); }
void perfield_source_clock(const perfield_clock* clock) noexcept { session().compared(*clock); }
void perfield_source_communicator(const perfield_communicator* communicator) noexcept {
  session().communicator(*communicator);
}
enum perfield_samples_answer perfield_source_samples(const perfield_samples* taken) noexcept {
  return session().samples(*taken);
}
void perfield_source_samples_begin(int thread_id, const uint64_t* const written[2]) noexcept {
  recorder().watch_samples(thread_id, {{written[0], written[1]}});
}
void perfield_source_samples_end(int thread_id) noexcept { recorder().end_samples(thread_id); }
uint64_t perfield_source_sample_region(int thread_id, int ring, uint64_t end) noexcept {
  return recorder().region_of_sample(thread_id, ring, end);
}
void perfield_source_modules(const char* json) noexcept { session().modules(json); }
void perfield_source_step_offered(int64_t step, double time) noexcept {
  session().step_offered(step, time);
}
int perfield_source_has_mesh() noexcept { return session().has_mesh(); }
void perfield_exclude_begin() noexcept { session().exclude_begin(); }
void perfield_exclude_end() noexcept { session().exclude_end(); }
int perfield_source_is_ending() noexcept { return session().is_ending(); }
void perfield_source_before_end(int (*function)(perfield_clock*)) noexcept {
  session().before_end(function);
}
void perfield_source_present(const char* name) noexcept { session().present(name); }
int perfield_source_is_present(const char* name) noexcept { return session().has_source(name); }
void perfield_source_hook_expected(const char* name, const char* sentence) noexcept {
  session().note([=](Notices& notices) { notices.hook_expected(name, sentence); });
}
void perfield_source_hook_hit(const char* name) noexcept {
  session().note([=](Notices& notices) { notices.hook_hit(name); });
}
void perfield_source_on_start(void (*function)()) noexcept { session().on_start(function); }
void perfield_source_before_close(void (*function)()) noexcept { session().before_close(function); }
void perfield_source_between_closes(void (*function)()) noexcept {
  session().between_closes(function);
}
void perfield_source_counts_dropped(const char* kind, const char* sentence,
                                    const std::atomic<uint64_t>* count) noexcept {
  session().note([=](Notices& notices) { notices.counts_dropped(kind, sentence, count); });
}
void perfield_source_setting(const char* key, char* value, size_t room) noexcept {
  session().setting(key, value, room);
}
int perfield_source_first_on_node(const char* topic) noexcept {
  return perfield::first_on_node(topic);
}
void perfield_warn_once_per_node(const char* topic, const char* sentence) noexcept {
  perfield::warn_once_per_node(topic, sentence);
}

}  // extern "C"

namespace {

// Writes the last steps of a program that ends without MPI_Finalize or perfield_finalize.
__attribute__((destructor)) void end_with_the_program() {
  session().end("exit");
  session().print_summary();
}

}  // namespace
