// SPDX-License-Identifier: BSD-3-Clause
//
// api.cpp - the functions of perfield.h. Regions go straight to the recorder, everything else to
// the session. A handle is a region's id + 1, so that 0 can mean none.
#define PERFIELD_BUILDING_LIBRARY
#include <algorithm>
#include <cstring>
#include <vector>

#include "perfield.h"
#include "recorder/fast_path.hpp"
#include "recorder/recorder.hpp"
#include "recorder/source.h"
#include "session/environment.hpp"
#include "session/session.hpp"

using perfield::CounterClock;
using perfield::GivenTicks;
using perfield::Recorder;
using perfield::recorder;
using perfield::RegionDefinition;
using perfield::Regions;
using perfield::SampledClock;
using perfield::session;
using perfield::this_profile;
using perfield::ThreadProfile;

namespace {

__attribute__((noinline)) uint32_t armed(Recorder& r, ThreadProfile& s, uint32_t id,
                                         int block) noexcept {
  s.set_own_work(s.own_work, false);
  r.forbid_fast_path(id);
  return r.regions.part_of(id, block, s.pipeline_armed_at);
}

// The region that an entry counts for: itself, its part for a block, the armed one, or none.
uint32_t counted_as(Recorder& r, ThreadProfile& s, uint32_t id, int block) noexcept {
  if (s.pipeline_armed) return armed(r, s, id, block);
  const RegionDefinition& d = r.regions[id];
  if (!d.selected || d.armed_only.load(std::memory_order_relaxed)) return Regions::kNone;
  return block >= 0 ? r.regions.part_of(id, block, 0) : id;
}

// The slow path, see fast_path.hpp. ticks: of the event, if known.
__attribute__((noinline)) void enter(perfield_region region, int block,
                                     uint64_t ticks = 0) noexcept {
  Recorder& r = recorder();
  ThreadProfile* s = r.profile();
  if (!s || region == 0 || region > r.regions.size()) return;
  uint32_t id = region - 1;
  if (__builtin_expect(id == r.regions.step_region(), 0) && !s->own_work &&
      r.step_region.enter(*s, id))
    session().setup_done();
  const uint32_t counted = counted_as(r, *s, id, block);
  r.enter_region(*s, id, counted, ticks);
  if (counted == id && id != r.regions.step_region()) r.allow_fast_path(*s, id);
}

__attribute__((noinline)) void leave(perfield_region region, uint64_t ticks = 0) noexcept {
  Recorder& r = recorder();
  ThreadProfile* s = r.profile();
  if (!s || region == 0) return;
  r.leave_region(*s, region - 1, ticks);
  if (__builtin_expect(region - 1 == r.regions.step_region(), 0) && !s->own_work &&
      r.step_region.leave(*s))
    session().close_step_of_region();
}

// Where samples need a look at each event; then the fast path.
__attribute__((noinline)) bool enter_sampled(ThreadProfile& s, uint32_t handle,
                                             uint64_t ticks) noexcept {
  const SampledClock clock{ticks};
  s.look_at_samples();
  return s.enter_fast(handle, clock) || s.enter_corrected(handle, clock);
}
__attribute__((noinline)) bool leave_sampled(ThreadProfile& s, uint32_t handle,
                                             uint64_t ticks) noexcept {
  s.look_at_samples();
  return s.leave_fast(handle, SampledClock{ticks});
}

// Samples; the fast path after a wrong prediction; not counted; or the slow path.
__attribute__((noinline)) void enter_otherwise(perfield_region region, uint64_t ticks) noexcept {
  ThreadProfile* const s = this_profile;
  if (!s) return enter(region, -1, ticks);
  if (s->activity->sampled && enter_sampled(*s, region - 1, ticks)) return;
  if (ticks ? s->enter_corrected(region - 1, GivenTicks{ticks})
            : s->enter_corrected(region - 1, CounterClock()))
    return;
  if (!s->enter_unmeasured(region - 1)) enter(region, -1, ticks);
}
__attribute__((noinline)) void leave_otherwise(perfield_region region, uint64_t ticks) noexcept {
  ThreadProfile* const s = this_profile;
  if (s && s->activity->sampled && leave_sampled(*s, region - 1, ticks)) return;
  if (!s || !s->leave_unmeasured(region - 1)) leave(region, ticks);
}

// Starts measuring, with the rank that the launcher's environment gives.
void start_without_mpi() noexcept {
  if (session().is_started()) return;
  int rank = 0, size = 1;
  perfield::rank_from_environment(&rank, &size);
  session().start(rank, size, "");
}

// The first step or piece of mesh starts a process in which no wrapped MPI_Init will.
void start_at_first_use() noexcept {
  if (!session().is_started() && !perfield::mpi_init_will_start()) start_without_mpi();
}

template <typename F>
void describe(F description) noexcept {
  start_at_first_use();
  session().with_mesh(description);
}

}  // namespace

#define PERFIELD_EXPORT extern "C" __attribute__((visibility("default")))

PERFIELD_EXPORT void perfield_initialize(void) {
  start_without_mpi();
  session().setup_done();
}

PERFIELD_EXPORT void perfield_finalize(void) {
  session().end("finalize");
  session().print_summary();
}

PERFIELD_EXPORT void perfield_step(int64_t step, double time) {
  start_at_first_use();
  session().close_step(step, time);
  session().show_in_process();
}

PERFIELD_EXPORT int perfield_measuring(void) {
  return recorder().state() == perfield::Activity::active;
}

PERFIELD_EXPORT perfield_region perfield_region_define(const char* name, const char* file,
                                                       int line) {
  return recorder().regions.define(name, file, line) + 1;
}

uint32_t perfield_source_function_entered(const char* name) noexcept {
  start_at_first_use();
  return perfield_region_define(name, nullptr, 0);
}

PERFIELD_EXPORT void perfield_region_begin(perfield_region region) {
  ThreadProfile* const s = this_profile;
  if (__builtin_expect(!s || !s->enter_fast(region - 1, CounterClock()), 0))
    enter_otherwise(region, 0);
}

PERFIELD_EXPORT void perfield_region_begin_on(perfield_region region, int block) {
  enter(region, block < 0 ? -1 : block);
}

PERFIELD_EXPORT void perfield_region_end(perfield_region region) {
  ThreadProfile* const s = this_profile;
  if (__builtin_expect(!s || !s->leave_fast(region - 1, CounterClock()), 0))
    leave_otherwise(region, 0);
}

void perfield_region_begin_at(uint32_t region, uint64_t ticks) noexcept {
  ThreadProfile* const s = this_profile;
  if (__builtin_expect(!s || !s->enter_fast(region - 1, GivenTicks{ticks}), 0))
    enter_otherwise(region, ticks);
}

void perfield_region_end_at(uint32_t region, uint64_t ticks) noexcept {
  ThreadProfile* const s = this_profile;
  if (__builtin_expect(!s || !s->leave_fast(region - 1, GivenTicks{ticks}), 0))
    leave_otherwise(region, ticks);
}

PERFIELD_EXPORT void perfield_begin(const char* name) {
  if (recorder().profile()) enter(recorder().regions.define(name, nullptr, 0) + 1, -1);
}

PERFIELD_EXPORT void perfield_end(const char* name) {
  if (recorder().profile()) perfield_region_end(recorder().regions.define(name, nullptr, 0) + 1);
}

PERFIELD_EXPORT void perfield_pipeline_next(void) {
  perfield_pipeline_next_at(reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}

PERFIELD_EXPORT void perfield_pipeline_next_at(uintptr_t place) {
  if (ThreadProfile* s = recorder().profile()) {
    s->set_own_work(s->own_work, true);
    s->pipeline_armed_at = place;
  }
}

PERFIELD_EXPORT void perfield_pause(void) {
  session().while_measuring([](uint64_t now) { session().step_clock().pause(now); });
}

PERFIELD_EXPORT void perfield_resume(void) {
  session().while_measuring([](uint64_t now) { session().step_clock().resume(now); });
}

PERFIELD_EXPORT void perfield_mesh_image(int block, const int64_t extent[6], const double origin[3],
                                         const double spacing[3]) {
  describe([&](auto& mesh) { mesh.image(block, extent, origin, spacing); });
}

PERFIELD_EXPORT void perfield_mesh_rectilinear(int block, const int64_t extent[6], perfield_array x,
                                               perfield_array y, perfield_array z) {
  describe([&](auto& mesh) { mesh.rectilinear(block, extent, x, y, z); });
}

PERFIELD_EXPORT void perfield_mesh_structured(int block, const int64_t extent[6],
                                              perfield_array points) {
  describe([&](auto& mesh) { mesh.structured(block, extent, points); });
}

PERFIELD_EXPORT void perfield_mesh_unstructured(int block, perfield_array points,
                                                perfield_array connectivity, perfield_array offsets,
                                                perfield_array types, int first_number) {
  describe([&](auto& mesh) {
    mesh.unstructured(block, points, connectivity, offsets, types, first_number);
  });
}

PERFIELD_EXPORT void perfield_mesh_ghosts(int block, int association, perfield_array ghosts) {
  describe([&](auto& mesh) { mesh.ghosts(block, association, ghosts); });
}

PERFIELD_EXPORT void perfield_mesh_size(const void* grid, int64_t cells, int64_t points,
                                        int64_t ghost_cells) {
  describe([&](auto& mesh) { mesh.set_size(grid, {cells, points, ghost_cells}); });
}

PERFIELD_EXPORT void perfield_mesh_changed(void) {
  describe([](auto& mesh) { mesh.changed(); });
}

PERFIELD_EXPORT void perfield_field(int block, const char* name, int association,
                                    perfield_array values) {
  describe([&](auto& mesh) { mesh.field(block, name, association, values); });
}

namespace {

// Fills at most `capacity` rows, and returns how many rows exist.
template <class Row>
int hand_out(const std::vector<Row>& found, int capacity, Row* rows) noexcept {
  const auto n = static_cast<int>(found.size());
  if (rows && capacity > 0) std::copy_n(found.begin(), std::min(n, capacity), rows);
  return n;
}

}  // namespace

PERFIELD_EXPORT int perfield_values(int capacity, perfield_value* rows) {
  return hand_out(session().field_values(), capacity, rows);
}

int perfield_source_values(int capacity, perfield_value* rows) noexcept {
  return hand_out(session().closed_values(), capacity, rows);
}

PERFIELD_EXPORT int perfield_region_values(int capacity, perfield_region_value* rows) {
  return hand_out(session().region_values(), capacity, rows);
}

PERFIELD_EXPORT int perfield_message_values(int capacity, perfield_message_value* rows) {
  return hand_out(session().message_values(), capacity, rows);
}

PERFIELD_EXPORT int perfield_world_size(void) {
  int size = 0;
  session().while_measuring([&](uint64_t) { size = session().world_size(); });
  return size;
}
